"""The hot path inside a worker process: spans go into one flat list, and leave it packed, batch by batch.

One process has one recorder, so its state is this module's. A span costs about a third of a microsecond: two readings
of ``perf_counter_ns`` (CLOCK_MONOTONIC, which all processes of a machine share), one ``list.extend``, and packing.

CPU time is a system call, half as dear as all the rest of a span. It is read at a span's boundary only when the last
reading is older than `STALE_NS`, or twice that when the thread had been running all the time up to then; in between
the thread is taken to have been running. So each boundary is off by at most 100 us, and a sum over many short spans by
no more than that per reading.

A span ends after the reading, not before: the kernel settles a thread's account when it is asked for it, and may then
give the core to another process. On a busy machine most time without a core is lost right there; it must count for the
span that used up the time slice, not for the one around it (which once had four times the time of its steps).
"""

from __future__ import annotations

import operator
import struct
from _thread import get_ident
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from time import perf_counter_ns as clock
from time import thread_time_ns as cpu_clock
from typing import Any, Final

from annotate.recording import switch
from annotate.trace_format import parse_span_name

STALE_NS: Final = 50_000
_RUNNING_NS: Final = 2_000
_DEEP_MODES: Final = {"I": 4, "F": 4, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}
"""Modes of PIL whose bands take more than a byte."""
MEASURE_EACH: Final = 16
"""Calls of one name for each whose result is measured; the first is."""
UNKNOWN: Final = -1
FLUSH_NS: Final = 100_000_000
"""An unfinished batch is written after this long at the end of a sample: what a killed worker, or a window that closes
in the middle of a long batch, can lose."""

_PROBE: Final = "annotate: cost of one span"
_MISSING: Final = object()

CPU_BITS: Final = 44
"""Of CPU nanoseconds in a span's first number (4.8 hours); the number of its name stands above them."""
ALL_THE_TIME: Final = (1 << CPU_BITS) - 1
"""Instead of CPU nanoseconds: as long as the span."""
_MOST_NAMES: Final = 1 << 18
_NEVER: Final = 1 << 60
"""Calls until a `sample` would be measured: what stands for the size elsewhere is its dataset index."""
_MOST_INDEX: Final = (1 << 63) - 1

rows: Final[list[int]] = []
"""Flat, four numbers a span: name and CPU time, start, end (perf_counter_ns), extra; in order of their ends.

`extra` is the dataset index of a ``sample``, the bytes of any other result, `UNKNOWN` when not measured.
"""
_extend: Final = rows.extend

names: Final[list[str]] = []
"""By number, the names of all spans of this process so far."""


class _Names(dict[str, list[int]]):
    """Name -> calls until a result is measured; number of the name, shifted; the same with `ALL_THE_TIME`; what the
    first of them begins with."""

    def __missing__(self, name: str) -> list[int]:
        if len(names) < _MOST_NAMES:
            names.append(name)
        number = (len(names) - 1) << CPU_BITS
        stage = parse_span_name(switch.HANDED_OUT.get(name, name))
        first = _NEVER if stage is not None and stage.kind == "sample" else 0
        state = self[name] = [first, number, number + ALL_THE_TIME, first]
        return state


_states: Final = _Names()

torch_marker: switch.MarkerFactory = nullcontext
"""Torch's own marker, around the spans of the training thread; see `timed_in_marker`."""

_thread = 0
"""The thread whose spans are recorded: the one that the worker loop runs in."""
_ahead = 0
"""CPU time less wall-clock time when CPU time was last read, nanoseconds."""
_next = 0
"""When it is to be read again."""
_limit = 0
_last_flush = 0
_flush: Callable[[], None] = rows.clear
_still_on: Callable[[], bool] = bool
other_threads = 0
"""Spans left out because they ran in another thread of this process."""


def attach(flush: Callable[[], None], still_on: Callable[[], bool], limit: int) -> None:
    """Record the calling thread from now on.

    Args:
        flush: writes `rows` away and empties it; called when more than about `limit` spans wait, or `FLUSH_NS` passed.
        still_on: False when the window has closed.
    """
    global _thread, _flush, _still_on, _limit, _next, _last_flush, other_threads
    other_threads = 0
    rows.clear()
    for state in _states.values():
        state[0] = state[3]
    _thread, _flush, _still_on, _limit, _next = get_ident(), flush, still_on, 4 * limit, 0
    _last_flush = clock()


def detach() -> None:
    """Record no thread."""
    global _thread
    _thread = 0
    rows.clear()


def forget() -> None:
    """Record no thread, and know no names: in a forked process, those are its parent's."""
    detach()
    names.clear()
    _states.clear()


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


class _StateOf(dict[int, list[int]]):
    """Identity of an instance that is followed -> the state of its spans' name; nothing is kept of any other."""

    def __init__(self, followed: dict[int, str]) -> None:
        self._followed = followed

    def __missing__(self, instance: int) -> list[int] | None:
        name = self._followed.get(instance)
        if name is None:
            return None
        state = self[instance] = _states[name]
        return state


def timed(method: Callable[..., Any], followed: dict[int, str]) -> Callable[..., Any]:
    """`method` in a span, made for this process: what `stand_ins.timed_method` does while this recorder is in force.

    A transform is called with itself and one value. For such calls everything is inline, and nothing is packed and
    unpacked again; all others go through `call`.
    """
    state_of = _StateOf(followed)

    @wraps(method)
    def timed(self: Any, value: Any = _MISSING, /, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs or value is _MISSING:
            arguments = (self,) if value is _MISSING else (self, value, *args)
            return _other_call(followed.get(id(self)), method, arguments, kwargs)
        if not switch.RECORDING:
            return method(self, value)
        state: list[int] | None = state_of[id(self)]
        if state is None:
            return method(self, value)
        if get_ident() != _thread:
            return call(followed[id(self)], method, (self, value), kwargs)
        start = clock()
        if start > _next:
            start = _read_cpu()
        ahead = _ahead
        try:
            result = method(self, value)
        except BaseException:
            _close(followed[id(self)], start, ahead, UNKNOWN)
            raise
        end = clock()
        if end > _next:
            end = _read_cpu()
        # The very same number: not read in between, so the thread is taken to have been running all the time.
        first = state[2] if ahead is _ahead else state[1] + max(0, end + _ahead - start - ahead)
        left = state[0]
        if left:
            state[0] = left - 1
            _extend((first, start, end, -1))
            return result
        state[0] = MEASURE_EACH - 1
        _extend((first, start, end, size_of(result)))
        if len(rows) > _limit:
            _flush()
        return result

    return timed


def _other_call(name: str | None, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return call(name, method, args, kwargs) if switch.RECORDING and name is not None else method(*args, **kwargs)


def call(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``function(*args, **kwargs)`` in a span. All inline: a call of a helper is a tenth of what a span costs."""
    global other_threads
    if get_ident() != _thread:
        other_threads += 1
        return function(*args, **kwargs)
    start = clock()
    if start > _next:
        start = _read_cpu()
    ahead = _ahead
    try:
        value = function(*args, **kwargs) if kwargs else function(*args)
    except BaseException:
        _close(name, start, ahead, UNKNOWN)
        raise
    end = clock()
    if end > _next:
        end = _read_cpu()
    state = _states[name]
    # The very same number: not read in between, so the thread is taken to have been running all the time.
    first = state[2] if ahead is _ahead else state[1] + max(0, end + _ahead - start - ahead)
    left = state[0]
    if left:
        state[0] = left - 1
        _extend((first, start, end, -1))
        return value
    state[0] = MEASURE_EACH - 1
    _extend((first, start, end, size_of(value)))
    if len(rows) > _limit:
        _flush()
    return value


def sample(name: str, index: object, function: Callable[..., Any], /, *args: Any) -> Any:
    """``function(...)`` in a `sample` span; also where a window's end is noticed and long batches are written."""
    if get_ident() != _thread or not _still_on():
        return function(*args)
    start, ahead = _open()
    number = index if type(index) is int and 0 <= index <= _MOST_INDEX else _as_number(index)
    try:
        value = function(*args)
    except BaseException:
        _close(name, start, ahead, number)
        _flush()  # nothing more may come: the batch raises in the training process
        raise
    if _close(name, start, ahead, number) - _last_flush > FLUSH_NS or len(rows) > _limit:
        _flush()
    return value


def timed_in_marker(method: Callable[..., Any], followed: dict[int, str]) -> Callable[..., Any]:
    """As `timed`, each span inside a marker of torch: the form for the training thread."""
    state_of = _StateOf(followed)

    @wraps(method)
    def timed(self: Any, value: Any = _MISSING, /, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs or value is _MISSING:
            arguments = (self,) if value is _MISSING else (self, value, *args)
            name = followed.get(id(self)) if switch.RECORDING else None
            return method(*arguments, **kwargs) if name is None else call_in_marker(name, method, arguments, kwargs)
        if not switch.RECORDING:
            return method(self, value)
        state: list[int] | None = state_of[id(self)]
        if state is None:
            return method(self, value)
        if get_ident() != _thread:
            return call_in_marker(followed[id(self)], method, (self, value), kwargs)
        with torch_marker(names[state[1] >> CPU_BITS]):
            start = clock()
            if start > _next:
                start = _read_cpu()
            ahead = _ahead
            try:
                result = method(self, value)
            except BaseException:
                _close(followed[id(self)], start, ahead, UNKNOWN)
                raise
            end = clock()
            if end > _next:
                end = _read_cpu()
        first = state[2] if ahead is _ahead else state[1] + max(0, end + _ahead - start - ahead)
        left = state[0]
        if left:
            state[0] = left - 1
            _extend((first, start, end, -1))
            return result
        state[0] = MEASURE_EACH - 1
        _extend((first, start, end, size_of(result)))
        if len(rows) > _limit:
            _flush()
        return result

    return timed


def call_in_marker(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `call`, inside a marker of torch. Torch keeps no markers of other threads, and no more do we."""
    global other_threads
    if get_ident() != _thread:
        other_threads += 1
        return function(*args, **kwargs)
    with torch_marker(name):
        start = clock()
        if start > _next:
            start = _read_cpu()
        ahead = _ahead
        try:
            value = function(*args, **kwargs) if kwargs else function(*args)
        except BaseException:
            _close(name, start, ahead, UNKNOWN)
            raise
        end = clock()
        if end > _next:
            end = _read_cpu()
    state = _states[name]
    first = state[2] if ahead is _ahead else state[1] + max(0, end + _ahead - start - ahead)
    left = state[0]
    if left:
        state[0] = left - 1
        _extend((first, start, end, -1))
        return value
    state[0] = MEASURE_EACH - 1
    _extend((first, start, end, size_of(value)))
    if len(rows) > _limit:
        _flush()
    return value


def sample_in_marker(name: str, index: object, function: Callable[..., Any], /, *args: Any) -> Any:
    """As `sample`, inside a marker of torch."""
    global other_threads
    if get_ident() != _thread:
        other_threads += 1
        return function(*args)
    with torch_marker(name):
        start = clock()
        if start > _next:
            start = _read_cpu()
        ahead = _ahead
        number = index if type(index) is int and 0 <= index <= _MOST_INDEX else _as_number(index)
        try:
            return function(*args)
        finally:
            end = clock()
            if end > _next:
                end = _read_cpu()
            _extend((_states[name][1] + max(0, end + _ahead - start - ahead), start, end, number))
            if len(rows) > _limit:
                _flush()


def _as_number(index: Any) -> int:
    """The index as an int of 64 bits, if it is one: samplers may draw from arrays and tensors, or be hashes."""
    try:
        number = operator.index(index)
    except Exception:
        return UNKNOWN
    return number if -_MOST_INDEX <= number <= _MOST_INDEX else UNKNOWN


def flushed() -> None:
    """`rows` have been written: the next time is `FLUSH_NS` away."""
    global _last_flush
    _last_flush = clock()


def _open() -> tuple[int, int]:
    """Now, and how far CPU time is ahead of it, in nanoseconds."""
    start = clock()
    if start > _next:
        start = _read_cpu()
    return start, _ahead


def _read_cpu() -> int:
    """Now. A thread that has been running all the time since the last reading is read half as often."""
    global _ahead, _next
    cpu = cpu_clock()
    now = clock()
    ahead = cpu - now
    _next = now + (STALE_NS if ahead < _ahead - _RUNNING_NS else 2 * STALE_NS)
    _ahead = ahead
    return now


def _close(name: str, start: int, ahead: int, extra: int) -> int:
    end = clock()
    if end > _next:
        end = _read_cpu()
    _extend((_states[name][1] + max(0, end + _ahead - start - ahead), start, end, extra))
    return end


class SpanInMarker:
    """A stage of the user's own in the training thread: a marker of torch with a span inside it. Open when made."""

    __slots__ = ("_ahead", "_marker", "_name", "_start")

    def __init__(self, name: str) -> None:
        global other_threads
        if get_ident() != _thread:
            other_threads += 1
        self._name = name
        self._marker = marker = torch_marker(name)
        marker.__enter__()
        start = clock()
        if start > _next:
            start = _read_cpu()
        self._start = start
        self._ahead = _ahead

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        end = clock()
        if end > _next:
            end = _read_cpu()
        self._marker.__exit__(*exc)
        if get_ident() == _thread:
            ahead = self._ahead
            state = _states[self._name]
            first = state[2] if ahead is _ahead else state[1] + max(0, end + _ahead - self._start - ahead)
            _extend((first, self._start, end, -1))


class Span(switch.OwnSpan):
    """A stage of the user's own."""

    __slots__ = ()

    def __enter__(self) -> None:
        global other_threads
        if get_ident() == _thread:
            self._open.append(_open())
        else:
            other_threads += 1

    def __exit__(self, *exc: object) -> None:
        if self._open and get_ident() == _thread:
            _close(self._name, *self._open.pop(), UNKNOWN)


marker: Final[Callable[[str], Span]] = switch.OnePerName(Span).__getitem__
"""What `switch.marker` is in a worker."""


def take_rows() -> bytes:
    """All spans so far, 32 bytes each; `rows` is empty afterwards."""
    packed = struct.pack(f"={len(rows)}q", *rows)
    rows.clear()
    return packed


def size_of(value: Any, depth: int = 4) -> int:
    """Bytes of a stage's result: arrays, tensors, PIL images, bytes, text, and containers of these; -1: not known."""
    kind = type(value)
    if kind in (bytes, bytearray, str):
        return len(value)
    if kind in (tuple, list, dict):
        items = value.values() if kind is dict else value
        sizes = [size_of(item, depth - 1) for item in list(items)[:1024]] if depth else []
        known = [size for size in sizes if size >= 0]
        return sum(known) if known else UNKNOWN
    if kind in (int, float, bool, type(None)):
        return UNKNOWN
    try:
        nbytes = getattr(value, "nbytes", None)
        if type(nbytes) is int:
            return nbytes
        if hasattr(value, "getbands"):
            if getattr(value, "tile", None):  # opened, not decoded yet
                return UNKNOWN
            width, height = value.size
            return int(width * height * len(value.getbands()) * _DEEP_MODES.get(value.mode, 1))
    except Exception:  # a property of somebody else's class may raise anything
        pass
    return UNKNOWN
