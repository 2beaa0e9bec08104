"""The hot path inside a worker process: spans go into one flat list, and leave it packed, batch by batch.

One process has one recorder, so its state is this module's. A span costs about a third of a microsecond: two readings
of ``perf_counter_ns`` (CLOCK_MONOTONIC, which all processes of a machine share), one ``list.extend``, and packing.

CPU time is a system call, half as expensive as the rest of a span. It is read at a span's boundary only when the last
reading is older than `STALE_NS`, or twice that when the thread had been running all the time up to then; in between
the thread is taken to have been running. So each boundary is off by at most 100 us, and a sum over many short spans by
no more than that per reading.

A span ends after the reading, not before: the kernel settles a thread's account when it is asked for it, and may then
give the core to another process. On a busy machine most time without a core is lost right there; it must count for the
span that used up the time slice, not for the one around it (which once had four times the time of its steps). That is
so of sums; a single call did not take that time. So where a reading took longer than `STALE_NS`, which is more than the
system call takes and as much as boundaries are off by, it is kept: a `READING` row.
"""

from __future__ import annotations

import operator
import struct
from _thread import get_ident
from collections.abc import Callable
from functools import wraps
from time import perf_counter_ns as clock
from time import thread_time_ns as cpu_clock
from typing import Any, Final

from annotate.recording import file_names, other_threads, switch
from annotate.recording.rows import ALL_THE_TIME, CPU_BITS, EXTRA, FIELDS, READING, UNKNOWN
from annotate.recording.sizes import size_of
from annotate.saying import guard, report_error
from annotate.trace_format import parse_span_name

STALE_NS: Final = 50_000
_RUNNING_NS: Final = 2_000
MEASURE_EACH: Final = 17
"""Calls of one name for each whose result is measured; the first is. An odd number: of samples of two or four images
only the first image would be measured otherwise. Those of `collate` all are: a step may take longer with a larger
batch."""
FLUSH_NS: Final = 100_000_000
"""An unfinished batch is written after this long at the end of a sample: what a killed worker, or a window that closes
in the middle of a long batch, can lose."""

_LOST: Final = "annotate lost spans of a DataLoader worker"
_PROBE: Final = "annotate: cost of one span"
MISSING: Final = object()

_MOST_NAMES: Final = 1 << 18
_NEVER: Final = 1 << 60
"""Calls until a `sample` would be measured: what stands for the size elsewhere is its dataset index."""
MOST_INDEX: Final = (1 << 63) - 1

rows: Final[list[int]] = []
"""Flat, three numbers a row (see `rows.FIELDS`), in order of the spans' ends."""
extend: Final = rows.extend

names: Final[list[str]] = []
"""By number, the names of all spans of this process so far."""


class _Names(dict[str, list[int]]):
    """Name -> calls until a result is measured; number of the name, shifted; the same with `ALL_THE_TIME`; what the
    first of them begins with, and begins with again after each result that was measured."""

    def __missing__(self, name: str) -> list[int]:
        if len(names) < _MOST_NAMES:
            names.append(name)
        number = (len(names) - 1) << CPU_BITS
        stage = parse_span_name(switch.HANDED_OUT.get(name, name))
        kind = None if stage is None else stage.kind
        first = _NEVER if kind == "sample" else 0
        state = self[name] = [first, number, number + ALL_THE_TIME, first, 0 if kind == "collate" else MEASURE_EACH - 1]
        return state


states: Final = _Names()


recorded_thread = 0
"""The thread whose spans are recorded: the one that the worker loop runs in."""
ahead_ns = 0
"""CPU time less wall-clock time when CPU time was last read, nanoseconds."""
next_reading = 0
"""When it is to be read again."""
row_limit = 0
last_flush = 0
flush_rows: Callable[[], None] = rows.clear
window_is_open: Callable[[], bool] = bool


def attach(flush: Callable[[], None], still_on: Callable[[], bool], limit: int) -> None:
    """Record the calling thread from now on.

    Args:
        flush: writes `rows` away and empties it; called when more than about `limit` spans wait, or `FLUSH_NS` passed.
        still_on: False when the window has closed.
    """
    global recorded_thread, flush_rows, window_is_open, row_limit, next_reading, last_flush
    other_threads.begin()
    rows.clear()
    for state in states.values():
        state[0] = state[3]
    recorded_thread, row_limit, next_reading = get_ident(), len(FIELDS) * limit, 0
    file_names.begin()
    flush_rows, window_is_open, last_flush = _kept_in(flush), still_on, clock()


def _kept_in(flush: Callable[[], None]) -> Callable[[], None]:
    """`flush`, whose faults cost rows and never reach the user's code that it is called from."""

    def flush_or_drop() -> None:
        with guard(_LOST):
            flush()
            return
        rows.clear()

    return flush_or_drop


def detach() -> None:
    """Record no thread."""
    global recorded_thread
    recorded_thread = 0
    rows.clear()
    other_threads.begin()


def forget() -> None:
    """Record no thread, and know no names: in a forked process, those are its parent's."""
    detach()
    names.clear()
    states.clear()


def cost_ns() -> int:
    """What one span costs here and now, packing and writing aside: the median of five times twenty."""
    costs = []
    probe = timed(_nothing, {id(None): _PROBE})
    switch.set_recording(True)
    for _ in range(5):
        begin = clock()
        for _ in range(20):
            probe(None, None)
        costs.append((clock() - begin) // 20)
    switch.set_recording(False)
    rows.clear()
    return sorted(costs)[2]


def _nothing(self: object, value: object) -> None:
    pass


def timed(method: Callable[..., Any], followed: dict[int, str]) -> Callable[..., Any]:
    """`method` in a span, made for this process: what `stand_ins.timed_method` does while this recorder is in force.

    A transform is called with itself and one value. For such calls everything is inline, and nothing is packed and
    unpacked again; all others go through `call`.
    """
    state_of: dict[int, list[int]] = {}
    last: object = MISSING  # most classes have one instance in a pipeline: no look-up for the same one again
    last_state: list[int] = []

    @wraps(method)
    def timed(self: Any, value: Any = MISSING, /, *args: Any, **kwargs: Any) -> Any:
        nonlocal last, last_state
        if args or kwargs or value is MISSING:
            arguments = (self,) if value is MISSING else (self, value, *args)
            return _other_call(followed.get(id(self)), method, arguments, kwargs)
        if not switch.RECORDING:
            try:
                return method(self, value)
            except Exception as error:
                switch.left(followed.get(id(self)), error)
                raise
        if get_ident() != recorded_thread:
            return _other_call(followed.get(id(self)), method, (self, value), kwargs)
        if self is last:
            state = last_state
        else:
            try:
                state = state_of[id(self)]
            except KeyError:
                if id(self) not in followed:
                    return method(self, value)
                state = state_of[id(self)] = states[followed[id(self)]]
            last, last_state = self, state
        start = clock()
        if start > next_reading:
            start = read_cpu(start)
        ahead = ahead_ns
        try:
            result = method(self, value)
        except BaseException:
            close_span(followed[id(self)], start, ahead, UNKNOWN)
            raise
        end = clock()
        if end > next_reading:
            end = read_cpu(end)
        # The very same number: not read in between, so the thread is taken to have been running all the time.
        first = state[2] if ahead is ahead_ns else state[1] + max(0, end + ahead_ns - start - ahead)
        left = state[0]
        if left:
            state[0] = left - 1
            extend((first, start, end))
            return result
        state[0] = state[4]
        extend((first, start, end, EXTRA, size_of(result), 0))
        if len(rows) > row_limit:
            flush_rows()
        return result

    return timed


def _other_call(name: str | None, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if switch.RECORDING and name is not None:
        return call(name, method, args, kwargs)
    try:
        return method(*args, **kwargs)
    except Exception as error:
        switch.left(name, error)
        raise


def call(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``function(*args, **kwargs)`` in a span. All inline: a call of a helper is a tenth of what a span costs."""
    if get_ident() != recorded_thread:
        return other_threads.call(name, UNKNOWN, function, args, kwargs)
    start = clock()
    if start > next_reading:
        start = read_cpu(start)
    ahead = ahead_ns
    try:
        value = function(*args, **kwargs) if kwargs else function(*args)
    except BaseException:
        close_span(name, start, ahead, UNKNOWN)
        raise
    end = clock()
    if end > next_reading:
        end = read_cpu(end)
    state = states[name]
    # The very same number: not read in between, so the thread is taken to have been running all the time.
    first = state[2] if ahead is ahead_ns else state[1] + max(0, end + ahead_ns - start - ahead)
    left = state[0]
    if left:
        state[0] = left - 1
        extend((first, start, end))
        return value
    state[0] = state[4]
    extend((first, start, end, EXTRA, size_of(value), 0))
    if len(rows) > row_limit:
        flush_rows()
    return value


def sample(name: str, index: object, function: Callable[..., Any], /, *args: Any) -> Any:
    """``function(...)`` in a `sample` span; also where a window's end is noticed and long batches are written."""
    if get_ident() != recorded_thread:
        return other_threads.call(name, as_number(index), function, args, {})
    try:
        is_on = window_is_open()
    except Exception as error:  # no `guard`: it would be a tenth of what a sample costs
        is_on = False
        report_error(_LOST, error)
    if not is_on:
        return function(*args)
    files = switch.thread.open.files
    files.clear()
    start, ahead = _open()
    number = index if type(index) is int and 0 <= index <= MOST_INDEX else as_number(index)
    try:
        value = function(*args)
    except BaseException as error:
        close_sample(name, start, ahead, number, error)
        flush_rows()  # nothing more may come: the batch raises in the training process
        raise
    end = close_span(name, start, ahead, number)
    if files:
        file_names.ended(files, start, end)
    if end - last_flush > FLUSH_NS or len(rows) > row_limit:
        flush_rows()
    return value


def as_number(index: Any) -> int:
    """The index as an int of 64 bits, if it is one: samplers may draw from arrays and tensors, or be hashes."""
    try:
        number = operator.index(index)
    except Exception:
        return UNKNOWN
    return number if -MOST_INDEX <= number <= MOST_INDEX else UNKNOWN


def flushed() -> None:
    """`rows` have been written: the next time is `FLUSH_NS` away."""
    global last_flush
    last_flush = clock()


def _open() -> tuple[int, int]:
    """Now, and how far CPU time is ahead of it, in nanoseconds."""
    start = clock()
    if start > next_reading:
        start = read_cpu(start)
    return start, ahead_ns


def read_cpu(before: int) -> int:
    """Now; `before` is when that was needed. A thread that has been running all the time since the last reading is read
    half as often.
    """
    global ahead_ns, next_reading
    cpu = cpu_clock()
    now = clock()
    if now - before > STALE_NS:
        extend((READING, before, now))
    ahead = cpu - now
    next_reading = now + (STALE_NS if ahead < ahead_ns - _RUNNING_NS else 2 * STALE_NS)
    ahead_ns = ahead
    return now


def close_span(name: str, start: int, ahead: int, extra: int) -> int:
    end = clock()
    if end > next_reading:
        end = read_cpu(end)
    state = states[name]
    first = state[2] if ahead is ahead_ns else state[1] + max(0, end + ahead_ns - start - ahead)
    extend((first, start, end, EXTRA, extra, 0) if extra != UNKNOWN else (first, start, end))
    return end


def close_sample(name: str, start: int, ahead: int, number: int, error: BaseException) -> int:
    """Of one that was not made: an iterable dataset had come to its end, or something failed."""
    if isinstance(error, StopIteration):
        return close_span(switch.name_of_end(name), start, ahead, UNKNOWN)
    return close_span(name, start, ahead, number)


class Span:
    """A stage of the user's own in a worker: reusable and nestable, one for each name."""

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[tuple[int, int]] = []

    def __enter__(self) -> None:
        if get_ident() == recorded_thread:
            self._open.append(_open())
        else:
            switch.thread.open.elsewhere.append((clock(), cpu_clock()))

    def __exit__(self, *exc: object) -> None:
        if get_ident() != recorded_thread:
            if switch.thread.open.elsewhere:
                other_threads.keep(self._name, *switch.thread.open.elsewhere.pop())
        elif self._open:
            close_span(self._name, *self._open.pop(), UNKNOWN)


class _Spans(dict[str, Span]):
    def __missing__(self, name: str) -> Span:
        span = self[name] = Span(name)
        return span


def worker_recorder(poll: Callable[[], bool]) -> switch.Recorder:
    """Records a DataLoader worker, which torch's profiler knows nothing of."""
    make = _Spans().__getitem__
    return switch.Recorder(make, call, sample, switch.entered(make), timed, poll)


def row_count() -> int:
    return len(rows) // len(FIELDS)


def span_count() -> int:
    firsts = rows[:: len(FIELDS)]
    return len(firsts) - firsts.count(EXTRA) - firsts.count(READING)


def take_rows() -> bytes:
    """All spans so far, packed; `rows` is empty afterwards."""
    packed = struct.pack(f"={len(rows)}q", *rows)
    rows.clear()
    return packed
