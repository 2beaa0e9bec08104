"""What a DataLoader worker notices of batches that are not measured: exceptions that leave a stage, slow samples, and
how long it built and was starved.

A failure costs something only when there is one, a sample two readings of the clock. Told of by `switch.unrecorded` and
`switch.failed`, which are set where somebody wants to know.
"""

from __future__ import annotations

from _thread import get_ident
from collections import Counter
from collections.abc import Callable
from time import perf_counter_ns as clock
from typing import Any, Final, NamedTuple, TypeVar

from annotate.recording import sums, switch
from annotate.recording.file_names import names
from annotate.recording.span_recorder import as_number

R = TypeVar("R")

_MOST_STAGES: Final = 32
_MOST_SLOW: Final = 3
_TELLS_NS: Final = 1_000_000_000
"""What is lost of a worker that ends at most; and a batch that took longer tells of itself."""


class SlowSample(NamedTuple):
    took: int
    """Nanoseconds."""
    item: int
    """Its index in the dataset."""
    iteration: int
    batch: int
    files: tuple[str, ...] = ()
    """The first ones that it opened."""


class Noticed(NamedTuple):
    """Since it was last asked for."""

    number: int
    """Samples."""
    failures: dict[str, int]
    """Exceptions that left a stage, by stage."""
    slowest: tuple[SlowSample, ...]
    batches: int = 0
    """Finished, measured ones among them; none that a window saw."""
    build: int = 0
    starved: int = 0
    """Nanoseconds of building those, and of the waits before them, but for the first of each epoch."""


_failures: Final[Counter[str]] = Counter()
_slowest: list[SlowSample] = []
_least = 0
"""Nanoseconds; samples that took no longer are none of the slowest."""
_number = 0
_batches = _build = _starved = 0
_began = 0
"""When the first sample of the batch in work did; 0: none has."""
_told = 0
"""When the worker told of what it had noticed; 0: nobody wants to know."""
_thread = 0
_place: Callable[[], tuple[int, int]] = lambda: (-1, -1)  # noqa: E731


def begin(place: Callable[[], tuple[int, int]]) -> None:
    """In the worker's own thread, from now on.

    Args:
        place: iteration and number of the batch in work.
    """
    global _began, _thread, _place, _told
    _thread, _place = get_ident(), place
    take()
    _began, _told = 0, clock()
    switch.unrecorded, switch.failed = sample, _note_failure


def take() -> Noticed:
    """What has come together."""
    global _batches, _build, _least, _number, _slowest, _starved, _told
    failures: dict[str, int] = {}
    if _failures:
        failures = {switch.HANDED_OUT.get(name, name): count for name, count in _failures.most_common(_MOST_STAGES)}
        _failures.clear()
    found = Noticed(_number, failures, tuple(_slowest), _batches, _build, _starved)
    _slowest, _least, _number = [], 0, 0
    _batches = _build = _starved = 0
    _told = _told and clock()
    return found


def is_due(now: int) -> bool:
    """Whether to tell with a batch that nobody asked about."""
    return bool(_told) and now - _told > _TELLS_NS and bool(_number or _batches or _failures)


def fetch_begins() -> None:
    """A batch's samples are about to be asked for together."""
    global _began
    if not _began and get_ident() == _thread:
        _began = clock()


def built(started: int, finished: int, before: int) -> None:
    """A batch is finished; all in ``perf_counter_ns``.

    Args:
        started: its indices came in; 0: not known, as of most batches, which begin with their first sample. Without a
            sample that is seen a batch says nothing, for its neighbours say nothing either.
        before: the batch before was finished; less than 0: what lies between is no wait of this epoch.
    """
    global _batches, _began, _build, _starved
    began, _began = _began, 0
    if switch.RECORDING:  # measured, or in a window, which makes it longer
        began = started if switch.recorder is sums.RECORDER and sums.has_samples() else 0
    if not began:
        return
    _batches += 1
    _build += finished - began
    if before >= 0:
        _starved += max(0, began - before)


def sample(name: str | None, index: object, function: Callable[..., R], /, *args: Any) -> R:
    """``function(*args)``, which makes a sample. `name`: its stage; None where it is not followed.

    A dataset inside of another makes none of its own.
    """
    global _began, _number
    if name is None or get_ident() != _thread or (here := switch.thread.open).noticed:
        return function(*args)
    here.noticed = True
    here.files.clear()
    start = clock()
    _began = _began or start
    try:
        value = function(*args)
    except Exception as error:
        _note_failure(name, error)
        raise
    finally:
        here.noticed = False
    _number += 1
    if (took := clock() - start) > _least:
        _keep(took, as_number(index), here.files)
    return value


def _keep(took: int, item: int, files: list[Any]) -> None:
    global _least, _slowest
    if item < 0:  # it has no index
        return
    _slowest = sorted([*_slowest, SlowSample(took, item, *_place(), names(files))], reverse=True)[:_MOST_SLOW]
    if len(_slowest) == _MOST_SLOW:
        _least = _slowest[-1].took


def _note_failure(name: str, error: BaseException) -> None:
    if not isinstance(error, (StopIteration, StopAsyncIteration)) and get_ident() == _thread:
        _failures[name] += 1
