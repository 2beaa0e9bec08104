"""Time by kind of stage, summed over one batch: the recorder of `monitor` and `watch`, which keeps no span.

Also what went wrong in it: an exception that leaves a stage is a *failure* of that stage, and of each stage around it
that it leaves as well; a call of a stage that has failed in the same sample is a *retry*.
"""

from __future__ import annotations

from _thread import get_ident
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from operator import itemgetter
from time import perf_counter_ns as clock
from typing import Any, Final, NamedTuple

from annotate.recording import switch
from annotate.recording.file_names import names
from annotate.recording.span_recorder import as_number

KINDS: Final = ("read", "decode", "transform", "collate")
Sums = tuple[int, ...]
"""Nanoseconds of self time in each of `KINDS`, and in all the rest of the work on the batch."""


_MOST_STAGES: Final = 32
"""Of one batch that are kept by name, those that took longest."""
_MOST_SLOW: Final = 3
"""Samples of one batch that are kept, the slowest."""
_latest: dict[str, int] = {}


class Attempts(NamedTuple):
    """What went wrong in measured batches, by stage."""

    failures: dict[str, int]
    retries: dict[str, int]


class Sample(NamedTuple):
    took: int
    """Nanoseconds."""
    item: int
    """Its index in the dataset; -1 where it has none that is a number."""
    files: tuple[str, ...] = ()
    """The first ones that it opened."""


class Samples(NamedTuple):
    """Of one batch."""

    number: int
    slowest: tuple[Sample, ...]


_failures: Final[Counter[str]] = Counter()
_retries: Final[Counter[str]] = Counter()
_failed: Final[set[str]] = set()
"""Stages that have failed in the sample in work."""
_samples: Final[list[tuple[int, object, list[Any]]]] = []
"""Time, index and files of each sample so far."""

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
    if _failed and name in _failed:
        _retries[name] += 1
    outer, _inner = _inner, 0
    start = clock()
    try:
        return function(*args, **kwargs)
    except Exception as error:
        _note_failure(name, error)
        raise
    finally:
        took = clock() - start
        _sums[name] += took - _inner
        _inner = outer + took


def sample(name: str, index: object, function: Callable[..., Any], /, *args: Any) -> Any:
    """``function(...)``: what no stage inside it takes is the sample's own time, which is of no kind."""
    global _inner
    if get_ident() != _thread:
        return function(*args)
    _failed.clear()
    files = switch.thread.open.files
    files.clear()
    outer, _inner = _inner, 0
    start = clock()
    took = 0
    try:
        value = function(*args)
        took = clock() - start
        _samples.append((took, index, files.copy()))
        return value
    except Exception as error:
        _note_failure(name, error)
        raise
    finally:
        took = took or clock() - start
        _sums[name] += took - _inner
        _inner = outer + took


def _note_failure(name: str, error: BaseException) -> None:
    if not isinstance(error, (StopIteration, StopAsyncIteration)):  # an end, and no failure
        _failures[name] += 1
        _failed.add(name)


class Span:
    """A stage of the user's own: reusable and nestable, one for each name."""

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[tuple[int, int]] = []

    def __enter__(self) -> None:
        global _inner
        if get_ident() == _thread:
            if self._name in _failed:
                _retries[self._name] += 1
            self._open.append((_inner, clock()))
            _inner = 0

    def __exit__(self, *exc: object) -> None:
        global _inner
        if self._open and get_ident() == _thread:
            if len(exc) > 1 and isinstance(exc[1], Exception):
                _note_failure(self._name, exc[1])
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
    for each in (_sums, _failures, _retries, _failed, _samples):
        each.clear()
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


def attempts() -> Attempts:
    """Of the batch that `stop` ended."""
    if not _failures and not _retries:
        return Attempts({}, {})
    return Attempts(
        *(
            {switch.HANDED_OUT.get(name, name): count for name, count in counts.most_common(_MOST_STAGES)}
            for counts in (_failures, _retries)
        )
    )


def together(several: Sequence[Attempts]) -> Attempts:
    """As one."""
    if len(several) == 1:
        return several[0]
    failures, retries = Counter[str](), Counter[str]()
    for each in several:
        failures.update(each.failures)
        retries.update(each.retries)
    return Attempts(dict(failures.most_common(_MOST_STAGES)), dict(retries.most_common(_MOST_STAGES)))


def has_samples() -> bool:
    """Whether the batch that is being measured has had any."""
    return bool(_samples)


def samples() -> Samples:
    """Of the batch that `stop` ended; asked for once, since indices and paths may be objects of the user's."""
    count, slowest = len(_samples), sorted(_samples, key=itemgetter(0), reverse=True)[:_MOST_SLOW]
    _samples.clear()
    return Samples(count, tuple(Sample(took, as_number(index), names(files)) for took, index, files in slowest))
