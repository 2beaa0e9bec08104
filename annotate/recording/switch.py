"""The hot path: one flag, and the cheapest genuine torch marker of this machine.

Every wrapper of this package begins with ``if not switch.RECORDING: return plain(...)``; nothing else happens while no
window is being recorded. While one is, a span is ``with switch.marker(name): ...``, where `name` came from `hand_out`.

While a window is open, `_ledger` puts a record of CPU time beside each marker of the training thread: 0.5 us more.

Cost per marker, off / recording, torch 2.13 (`benchmarks/span_overhead.py` measures it on the machine at hand):
``_RecordFunctionFast`` 0.3 / 0.7 us, ``_record_function_with_args_enter`` 1.2 / 1.5 us, ``record_function`` 5 / 6.5 us.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol, TypeVar

from annotate.trace_format import StageKind, span_name

R = TypeVar("R")
S = TypeVar("S")

MarkerFactory = Callable[[str], AbstractContextManager[object]]


class Call(Protocol):
    def __call__(
        self, name: str, function: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any], /
    ) -> R: ...


class Sample(Protocol):
    def __call__(self, name: str, index: object, function: Callable[..., R], /, *args: Any) -> R: ...


RECORDING = False
"""True only while torch's profiler records. Read as ``switch.RECORDING``, never imported by name."""

marker: MarkerFactory = nullcontext
"""Opens a marker; replaced by `load_marker` before the flag can become true."""

call: Call | None = None
"""In a DataLoader worker: ``call(name, function, args, kwargs)`` calls in a span, and sees the result (`_recorder`)."""

timed: Callable[[Callable[..., Any], dict[int, str]], Callable[..., Any]] | None = None
"""Makes the timed form of a method that suits the recorder in force, cheaper than one that goes through `call`."""

sample: Sample | None = None
"""In a DataLoader worker: ``sample(name, index, function, *args)`` calls in a `sample` span."""

poll: Callable[[], bool] | None = None
"""In a DataLoader worker: asked before each sample while nothing is recorded; True when a window has opened."""

HANDED_OUT: Final[dict[str, str]] = {}
"""Marker name -> span name, for every name given to torch. They differ only where Kineto could not write the name."""

_ALIASES: Final[dict[str, str]] = {}
_UNSAFE: Final = frozenset('"\\')


class OwnSpan:
    """A span that torch knows nothing of, as a context manager: reusable and nestable, one for each name."""

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[tuple[int, int]] = []
        """Of each time that it is open: two numbers that its end needs."""


class OnePerName(dict[str, S]):
    """Name -> what `make` makes of it, when it is first asked for."""

    def __init__(self, make: Callable[[str], S]) -> None:
        self._make = make

    def __missing__(self, name: str) -> S:
        made = self[name] = self._make(name)
        return made


class Open:
    """What is open on a thread while recording."""

    __slots__ = ("batch_sample", "items", "sample", "stages")

    def __init__(self) -> None:
        self.sample = ""
        """Marker name of the open `sample` span; empty outside of one."""
        self.batch_sample = ""
        """Marker name that items fetched by an enclosing ``__getitems__`` carry; empty outside of one."""
        self.items = 0
        """Items fetched since the enclosing ``__getitems__`` began."""
        self.stages: list[tuple[object, AbstractContextManager[object]]] = []


class _Thread(threading.local):
    """One `Open` for each thread: its attributes are several times cheaper than those of a ``local``."""

    def __init__(self) -> None:
        self.open = Open()


thread: Final = _Thread()


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


def load_marker() -> str:
    """Choose the cheapest marker that this torch has, put it in place, and return its name."""
    global marker
    import torch

    fast: MarkerFactory | None = getattr(torch._C._profiler, "_RecordFunctionFast", None)
    if fast is not None and _works(fast):
        marker = fast
        return "_RecordFunctionFast"
    enter: Callable[[str], object] | None = getattr(torch.autograd, "_record_function_with_args_enter", None)
    leave: Callable[[object], None] | None = getattr(torch.autograd, "_record_function_with_args_exit", None)
    if enter is not None and leave is not None:
        marker = _args_marker(enter, leave)
        if _works(marker):
            return "_record_function_with_args"
    marker = torch.profiler.record_function
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


def set_recording(on: bool) -> None:
    """Switch every wrapper of this process on or off."""
    global RECORDING
    RECORDING = on


def _after_fork() -> None:
    """A forked child records nothing before `_worker` says so: its profiler is gone, and so are the open markers."""
    global call, sample, timed, poll
    set_recording(False)
    call = sample = timed = poll = None
    thread.open = Open()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
