"""The switch that every hook asks, and the recorder that spans go to.

Every hook of this package begins with ``if not switch.RECORDING: return plain(...)``; nothing else happens while no
window is being recorded. While one is, a span is ``switch.call(name, function, args, kwargs)`` or
``with switch.marker(name): ...``, where `name` came from `hand_out`.

Which recorder that is: torch's markers alone until a window opens; `span_recorder.TRAINING_THREAD` while one is open;
in a DataLoader worker `span_recorder` without markers; and `sums` for batches that a monitor measures. `install` is the
only way in.

Cost per marker, off / recording, torch 2.13 (`benchmarks/span_overhead.py` measures it on the machine at hand):
``_RecordFunctionFast`` 0.3 / 0.7 us, ``_record_function_with_args_enter`` 1.2 / 1.5 us, ``record_function`` 5 / 6.5 us.
"""

from __future__ import annotations

import os
import threading
from _thread import get_ident
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from time import time
from typing import Any, Final, Protocol, TypeVar

from annotate.host import own_threads
from annotate.trace_format import StageKind, parse_span_name, span_name

R = TypeVar("R")

MarkerFactory = Callable[[str], AbstractContextManager[object]]

TimedMaker = Callable[[Callable[..., Any], dict[int, str]], Callable[..., Any]]
"""A method, and marker names by the identity of the instances that are followed -> the method's replacement."""


class Call(Protocol):
    def __call__(
        self, name: str, function: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any], /
    ) -> R: ...


class Sample(Protocol):
    def __call__(self, name: str, index: object, function: Callable[..., R], /, *args: Any) -> R: ...


@dataclass(frozen=True, slots=True)
class Recorder:
    """Where spans go while it is installed. Its parts are functions: a bound method would cost a tenth of a span."""

    marker: MarkerFactory
    """Opens a span around a ``with`` block."""
    call: Call
    """Calls a function in a span, and sees its result."""
    sample: Sample
    """Calls a function in a `sample` span, which knows its dataset index."""
    opened: Callable[[str], AbstractContextManager[object]]
    """Opens a span and returns it, for whoever closes it by its ``__exit__``."""
    timed: TimedMaker | None = None
    """Makes the replacement of a method, cheaper than one that goes through `call`; None: that one will do."""
    poll: Callable[[], bool] | None = None
    """Asked before each sample while nothing is recorded; True when a window has opened."""


def _call(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any:
    with torch_marker(name):
        return function(*args, **kwargs)


def _sample(name: str, index: object, function: Callable[..., Any], /, *args: Any) -> Any:
    with torch_marker(name):
        return function(*args)


RECORDING = False
"""True only while spans are recorded. Read as ``switch.RECORDING``, never imported by name; so are the following."""

CAPTURING = False
"""True while a capture (`profile`, `replay`) is on, also between its windows."""

AT_WORK = False
"""A profiler of torch prepares or records: from its warm-up to the end of its window."""

work_began = work_ended = 0.0
"""When `AT_WORK` became true and false the last time, in seconds since 1970."""

turns = 0
"""Goes up whenever a profiler begins or ends its work, and at all else of ours that makes a step of the loop longer.
Whoever times steps leaves those out in which it has changed, and those while `AT_WORK`."""

torch_marker: MarkerFactory = nullcontext
"""The cheapest genuine marker of this torch; put in place by `load_marker`, before anything is recorded."""


def entered(make: MarkerFactory) -> MarkerFactory:
    """`Recorder.opened` of what is open when it has been entered."""

    def opened(name: str) -> AbstractContextManager[object]:
        span = make(name)
        span.__enter__()
        return span

    return opened


def _marker(name: str) -> AbstractContextManager[object]:
    return torch_marker(name)


TORCH_MARKERS: Final = Recorder(_marker, _call, _sample, entered(_marker))

recorder = TORCH_MARKERS
marker: MarkerFactory = TORCH_MARKERS.marker
call: Call = TORCH_MARKERS.call
sample: Sample = TORCH_MARKERS.sample
opened: MarkerFactory = TORCH_MARKERS.opened
timed: TimedMaker | None = None
poll: Callable[[], bool] | None = None
"""The installed recorder, and its parts."""

unrecorded: Callable[..., Any] | None = None
"""Makes a sample while nothing is recorded (``unrecorded(name, index, function, *args)``); None: nobody looks at it."""
failed: Callable[[str, BaseException], None] | None = None
"""Told of exceptions that leave a stage while nothing is recorded."""


def left(name: str | None, error: BaseException) -> None:
    """An exception has left what is a stage when it is recorded; it was not. `name`: None where it is not followed."""
    if failed is not None and name is not None:
        failed(name, error)


refits: Final[list[Callable[[], None]]] = []
"""Called when another recorder has been installed: they make replaced methods again, in the form that suits it."""


def install(new: Recorder) -> None:
    """Send spans to `new` from now on."""
    if new is not recorder:
        _put(new)
        for refit in refits:
            refit()


def _put(new: Recorder) -> None:
    global recorder, marker, call, sample, opened, timed, poll
    recorder, marker, call, sample, opened = new, new.marker, new.call, new.sample, new.opened
    timed, poll = new.timed, new.poll


def set_recording(on: bool) -> None:
    """Switch every hook of this process on or off."""
    global RECORDING
    RECORDING = on


def set_capturing(on: bool) -> None:
    """Say that a capture has begun, or ended."""
    global CAPTURING
    CAPTURING = on
    disturb()


def set_at_work(on: bool) -> None:
    """Say that a profiler prepares or records, or that none does any more."""
    global AT_WORK, work_began, work_ended
    if on is not AT_WORK:
        AT_WORK = on
        if on:
            work_began = time()
        else:
            work_ended = time()
        disturb()


def disturb() -> None:
    """Something of ours takes time in the step that the loop is in."""
    global turns
    turns += 1


HANDED_OUT: Final[dict[str, str]] = {}
"""Marker name -> span name, for every name given to torch. They differ only where Kineto could not write the name."""

END_OF: Final[dict[str, str]] = {}
"""Marker name of `name_of_end` -> that of the samples, which torch's marker had to be opened with."""

_ALIASES: Final[dict[str, str]] = {}
_UNSAFE: Final = frozenset('"\\')


class Open:
    """What is open on a thread while recording."""

    __slots__ = ("batch_sample", "elsewhere", "files", "items", "noticed", "reading", "sample", "stages", "waiting")

    def __init__(self) -> None:
        self.sample = ""
        """Marker name of the open `sample` span; empty outside of one."""
        self.batch_sample = ""
        """Marker name that items fetched by an enclosing ``__getitems__`` carry; empty outside of one."""
        self.elsewhere: list[tuple[int, int]] = []
        """Where this is not the recorded thread: both clocks when each open span of the user's began."""
        self.files: list[Any] = []
        """Paths that the open sample was read from, as reading functions were given them; few."""
        self.items = 0
        """Items fetched since the enclosing ``__getitems__`` began."""
        self.noticed = False
        """`unrecorded` makes a sample, and is told what it opens."""
        self.reading = ""
        """Kind of the library's reading function that is open; empty outside of one."""
        self.stages: list[tuple[object, AbstractContextManager[object]]] = []
        self.waiting = False
        """The loop waits in an iterator that is recorded; iterators inside it make no wait of their own."""


class _Thread(threading.local):
    """One `Open` for each thread: its attributes are several times cheaper than those of a ``local``."""

    def __init__(self) -> None:
        self.open = Open()


thread: Final = _Thread()

sampling = False
"""A sample is being loaded in some thread; where several do, until the first of them has."""


def in_sample() -> bool:
    """Whether this thread loads a sample, or may work for one that does: in a pool that ``__getitem__`` has."""
    if thread.open.sample:
        return True
    return sampling and (ident := get_ident()) != threading.main_thread().ident and ident not in own_threads.IDENTS


def hand_out(kind: StageKind, label: str) -> str:
    """The marker name for a span: ``kind::label``, or an alias for it that the writer translates back.

    Kineto (torch 2.13) writes a name with quotes as broken JSON, turns backslashes round, and calls every name that
    is not printable ASCII "unknown".
    """
    name = span_name(kind, label)
    if name.isascii() and name.isprintable() and _UNSAFE.isdisjoint(name):
        HANDED_OUT[name] = name
        return name
    alias = _ALIASES.setdefault(name, f"annotate#{len(_ALIASES)}")
    HANDED_OUT[alias] = name
    return alias


def name_of_end(name: str) -> str:
    """The marker name of a fetch that found its dataset at the end: work like a sample's, and no sample."""
    stage = parse_span_name(HANDED_OUT.get(name, name))
    if stage is None or stage.kind != "sample":
        return name
    end = hand_out("user", f"end of {stage.label}")
    END_OF[end] = name
    return end


def load_marker() -> str:
    """Choose the cheapest marker that this torch has, put it in place, and return its name."""
    global torch_marker
    import torch

    fast: MarkerFactory | None = getattr(torch._C._profiler, "_RecordFunctionFast", None)
    if fast is not None and _works(fast):
        torch_marker = fast
        return "_RecordFunctionFast"
    enter: Callable[[str], object] | None = getattr(torch.autograd, "_record_function_with_args_enter", None)
    leave: Callable[[object], None] | None = getattr(torch.autograd, "_record_function_with_args_exit", None)
    if enter is not None and leave is not None:
        torch_marker = _args_marker(enter, leave)
        if _works(torch_marker):
            return "_record_function_with_args"
    torch_marker = torch.profiler.record_function
    return "record_function"


def _works(factory: MarkerFactory) -> bool:
    """True when a private marker of torch still takes a name and is a context manager."""
    try:
        with factory("annotate"):
            return True
    except Exception:  # whatever a private function that changed may raise
        return False


def _args_marker(enter: Callable[[str], object], leave: Callable[[object], None]) -> MarkerFactory:
    class ArgsMarker:
        __slots__ = ("_handle", "_name")

        def __init__(self, name: str) -> None:
            self._name = name

        def __enter__(self) -> None:
            self._handle = enter(self._name)

        def __exit__(self, *exc: object) -> None:
            leave(self._handle)

    return ArgsMarker


def _after_fork() -> None:
    """A forked child records nothing before a worker's side says so: its profiler is gone, and so are open markers."""
    global sampling, unrecorded, failed
    unrecorded = failed = None
    set_recording(False)
    set_capturing(False)
    set_at_work(False)
    _put(TORCH_MARKERS)
    thread.open = Open()
    sampling = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
