"""Time by kind of stage, summed over one batch: the recorder of `monitor`, which keeps no span."""

from __future__ import annotations

from _thread import get_ident
from collections import defaultdict
from collections.abc import Callable
from time import perf_counter_ns as clock
from typing import Any, Final

from annotate.recording import switch

KINDS: Final = ("read", "decode", "transform", "collate")
Sums = tuple[int, ...]
"""Nanoseconds of self time in each of `KINDS`, and in all the rest of the work on the batch."""


_MOST_STAGES: Final = 32
"""Of one batch that are kept by name, those that took longest."""
_latest: dict[str, int] = {}

_sums: Final[defaultdict[str, int]] = defaultdict(int)
"""Self time by marker name."""
_inner = 0
"""Time in the children of the span that is open."""
_thread = 0


def call(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any:
    """``function(*args, **kwargs)``, its time added to that of `name`."""
    global _inner
    if get_ident() != _thread:
        return function(*args, **kwargs)
    outer, _inner = _inner, 0
    start = clock()
    try:
        return function(*args, **kwargs)
    finally:
        took = clock() - start
        _sums[name] += took - _inner
        _inner = outer + took


def sample(name: str, index: object, function: Callable[..., Any], /, *args: Any) -> Any:
    """``function(...)``: what no stage inside it takes is of no kind."""
    return function(*args)


class Span:
    """A stage of the user's own: reusable and nestable, one for each name."""

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[tuple[int, int]] = []

    def __enter__(self) -> None:
        global _inner
        if get_ident() == _thread:
            self._open.append((_inner, clock()))
            _inner = 0

    def __exit__(self, *exc: object) -> None:
        global _inner
        if self._open and get_ident() == _thread:
            outer, start = self._open.pop()
            took = clock() - start
            _sums[self._name] += took - _inner
            _inner = outer + took


class _Spans(dict[str, Span]):
    def __missing__(self, name: str) -> Span:
        span = self[name] = Span(name)
        return span


_make: Final = _Spans().__getitem__

RECORDER: Final = switch.Recorder(_make, call, sample, switch.entered(_make))


def start() -> None:
    """Measure the calling thread from now on."""
    global _inner, _thread
    _inner, _thread = 0, get_ident()
    _sums.clear()
    switch.set_recording(True)


def stop(total: int) -> Sums:
    """Measure no more, and sum up.

    Args:
        total: nanoseconds that the batch took in all.
    """
    global _latest
    switch.set_recording(False)
    _latest = {switch.HANDED_OUT.get(name, name): time for name, time in _sums.items()}
    by_kind = dict.fromkeys(KINDS, 0)
    for name, time in _latest.items():
        kind = name.partition("::")[0]
        if kind in by_kind:
            by_kind[kind] += time
    _sums.clear()
    return (*by_kind.values(), max(0, total - sum(by_kind.values())))


def stages() -> dict[str, int]:
    """Nanoseconds of self time by stage (``transform::RandomCrop``), of the batch that `stop` ended."""
    return dict(sorted(_latest.items(), key=lambda item: -item[1])[:_MOST_STAGES])
