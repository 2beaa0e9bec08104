"""The training thread's form of `span_recorder`: each span stands inside a genuine marker of torch.

The state is that module's, and so are the rules; the two forms are written out, because one more call per span would
cost a tenth of it. CPU time is read before the marker begins: a thread that has used up its time slice loses its CPU
there, and that is no part of the stage which is about to run. Of a data wait it is: the loop has asked for its batch.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from functools import wraps
from time import perf_counter_ns as clock
from time import thread_time_ns as cpu_clock
from typing import Any, Final

from annotate.recording import file_names, other_threads, switch
from annotate.recording import span_recorder as spans
from annotate.recording.rows import CPU_BITS, EXTRA, UNKNOWN
from annotate.recording.sizes import size_of
from annotate.saying import report_error

_WAIT: Final = "wait::"


def timed_in_marker(method: Callable[..., Any], followed: dict[int, str]) -> Callable[..., Any]:
    """As `timed`, each span inside a marker of torch: the form for the training thread."""
    state_of: dict[int, list[int]] = {}
    last: object = spans.MISSING  # most classes have one instance in a pipeline: no look-up for the same one again
    last_state: list[int] = []

    @wraps(method)
    def timed(self: Any, value: Any = spans.MISSING, /, *args: Any, **kwargs: Any) -> Any:
        nonlocal last, last_state
        if args or kwargs or value is spans.MISSING:
            arguments = (self,) if value is spans.MISSING else (self, value, *args)
            return _other_call(followed.get(id(self)), method, arguments, kwargs)
        if not switch.RECORDING:
            return method(self, value)
        if get_ident() != spans.recorded_thread:
            return _other_call(followed.get(id(self)), method, (self, value), kwargs)
        if self is last:
            state = last_state
        else:
            try:
                state = state_of[id(self)]
            except KeyError:
                if id(self) not in followed:
                    return method(self, value)
                state = state_of[id(self)] = spans.states[followed[id(self)]]
            last, last_state = self, state
        before = clock()
        if before > spans.next_reading:
            spans.read_cpu(before)
        with switch.torch_marker(spans.names[state[1] >> CPU_BITS]):
            start, ahead = clock(), spans.ahead_ns
            try:
                result = method(self, value)
            except BaseException:
                spans.close_span(followed[id(self)], start, ahead, UNKNOWN)
                raise
            end = clock()
            if end > spans.next_reading:
                end = spans.read_cpu(end)
        first = state[2] if ahead is spans.ahead_ns else state[1] + max(0, end + spans.ahead_ns - start - ahead)
        left = state[0]
        if left:
            state[0] = left - 1
            spans.extend((first, start, end))
            return result
        state[0] = state[4]
        spans.extend((first, start, end, EXTRA, size_of(result), 0))
        if len(spans.rows) > spans.row_limit:
            spans.flush_rows()
        return result

    return timed


def _other_call(name: str | None, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of any other form, or in a thread that is not recorded."""
    if name is None or not switch.RECORDING:
        return method(*args, **kwargs)
    return call_in_marker(name, method, args, kwargs)


def call_in_marker(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `call`, inside a marker of torch. Of other threads torch keeps none: they have a recorder of their own."""
    if get_ident() != spans.recorded_thread:
        return other_threads.call(name, UNKNOWN, function, args, kwargs)
    before = clock()
    is_due = before > spans.next_reading
    if is_due and not name.startswith(_WAIT):
        spans.read_cpu(before)
        is_due = False
    with switch.torch_marker(name):
        since = start = clock()
        if is_due:
            since = spans.read_cpu(start)
        ahead = spans.ahead_ns
        try:
            value = function(*args, **kwargs) if kwargs else function(*args)
        except BaseException:
            spans.close_span(name, start, ahead, UNKNOWN)
            raise
        end = clock()
        if end > spans.next_reading:
            end = spans.read_cpu(end)
    state = spans.states[name]
    first = state[2] if ahead is spans.ahead_ns else state[1] + max(0, end + spans.ahead_ns - since - ahead)
    left = state[0]
    if left:
        state[0] = left - 1
        spans.extend((first, start, end))
        return value
    state[0] = state[4]
    spans.extend((first, start, end, EXTRA, size_of(value), 0))
    if len(spans.rows) > spans.row_limit:
        spans.flush_rows()
    return value


def sample_in_marker(name: str, index: object, function: Callable[..., Any], /, *args: Any) -> Any:
    """As `sample`, inside a marker of torch."""
    if get_ident() != spans.recorded_thread:
        return other_threads.call(name, spans.as_number(index), function, args, {})
    files = switch.thread.open.files
    files.clear()
    before = clock()
    if before > spans.next_reading:
        spans.read_cpu(before)
    with switch.torch_marker(name):
        start, ahead = clock(), spans.ahead_ns
        number = index if type(index) is int and 0 <= index <= spans.MOST_INDEX else spans.as_number(index)
        try:
            value = function(*args)
        except BaseException as error:
            end = spans.close_sample(name, start, ahead, number, error)
            if files:
                file_names.ended(files, start, end)
            raise
        end = clock()
        if end > spans.next_reading:
            end = spans.read_cpu(end)
    now, state = spans.ahead_ns, spans.states[name]  # what follows is no part of the sample
    cost = state[2] if ahead is now else state[1] + max(0, end + now - start - ahead)
    spans.extend((cost, start, end, EXTRA, number, 0))
    if files:
        file_names.ended(files, start, end)
    if len(spans.rows) > spans.row_limit:
        spans.flush_rows()
    return value


class SpanInMarker:
    """A stage of the user's own in the training thread: a marker of torch with a span inside it. Open when made."""

    __slots__ = ("_ahead", "_marker", "_name", "_since", "_start", "_state")

    def __init__(self, name: str) -> None:
        try:  # it stands in the middle of the user's code
            if get_ident() != spans.recorded_thread:
                self._state, self._name, self._start, self._ahead = None, name, clock(), cpu_clock()
                return
            self._state = spans.states[name]
            before = clock()
            is_due = before > spans.next_reading
            if is_due and not name.startswith(_WAIT):
                spans.read_cpu(before)
                is_due = False
            self._marker = marker = switch.torch_marker(name)
            marker.__enter__()
            self._since = self._start = start = clock()
            if is_due:
                self._since = spans.read_cpu(start)
            self._ahead = spans.ahead_ns
        except Exception as error:
            self._state, self._name = None, ""
            _report(error)

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: Any, exc: Any, traceback: Any) -> None:
        try:
            state = self._state
            if state is None:
                if self._name:
                    other_threads.keep(self._name, self._start, self._ahead)
                return
            end = clock()
            if end > spans.next_reading:
                end = spans.read_cpu(end)
            self._marker.__exit__(exc_type, exc, traceback)
            ahead, now = self._ahead, spans.ahead_ns
            cost = state[2] if ahead is now else state[1] + max(0, end + now - self._since - ahead)
            spans.extend((cost, self._start, end))
        except Exception as error:
            _report(error)


def _report(error: Exception) -> None:
    report_error("annotate lost a span", error)


TRAINING_THREAD: Final = switch.Recorder(SpanInMarker, call_in_marker, sample_in_marker, SpanInMarker, timed_in_marker)
"""Records the thread that opened a window, inside genuine markers."""
