"""A DataLoader that a program makes anew, again and again: as a rule for each epoch, and its dataset with it.

Such loaders have the same settings, and the program lets go of each before it makes the next. Where a capture does not
say that they are gone (`annotate.profile` holds them), passes over them one after another may be such a loader's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from tb_dataplugin.analyses.flow import EpochStart
from tb_dataplugin.analyses.loader_passes import are_apart
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.model.trace import LoaderInfo, PipelineInfo, Trace

HABIT: Final = 3
"""Loaders that are alike, from which they may be one that is made anew: two may be for training and for evaluation."""


@dataclass(frozen=True, slots=True)
class Remade:
    """`made`: loaders so far, of the `whole_run` where the program left that; `one_each`: with one pass over each, as
    far as recorded. `total_us`: what lies between these and the passes before, of any loader, `times` of them;
    `whole_us`: from the first of them to the beginning of the last.
    """

    made: int
    is_certain: bool
    one_each: bool
    times: int
    total_us: float
    longest_us: float
    whole_us: float
    whole_run: bool = False
    numbers: tuple[int, ...] = ()
    """Of these loaders in the capture, in the order in which they were made."""

    @property
    def share(self) -> float | None:
        """Of the time from epoch to epoch, what lies between them; None where that is not recorded."""
        return self.total_us / self.whole_us if self.times and self.whole_us > 0 else None


def find_remade(trace: Trace, use: LoaderUse) -> Remade | None:
    """Of the training loop's loader; None where it is not made anew."""
    pipeline = trace.info.pipeline
    if pipeline is None or trace.info.mode != "train" or use.main >= len(pipeline.loaders):
        return None
    mine = settings_of(pipeline.loaders[use.main])
    alike = [number for number, loader in enumerate(pipeline.loaders) if settings_of(loader) == mine]
    told = pipeline.between
    if told is not None and told.made >= HABIT and _settings_at(pipeline, told.loader) == mine:
        one_each = told.made == told.times + 1
        times = told.times, told.total_us, told.longest_us, told.whole_us
        return Remade(told.made, True, one_each, *times, whole_run=True, numbers=tuple(alike))
    passes = sorted(
        ((began, ended, number) for number, loader in enumerate(pipeline.loaders) for began, ended in loader.passes_us),
        key=lambda one: one[0],
    )
    among = set(alike)
    own = [one for one in passes if one[2] in among]
    is_certain = any(pipeline.loaders[number].gone is not None for number in alike)
    if is_certain:
        is_remade = 0 < len(alike) - 1 <= sum(bool(pipeline.loaders[number].gone) for number in alike)
    else:
        is_remade = len(alike) >= HABIT and (_follow_each_other(own) if own else _is_one_in_use(trace, alike))
    if not is_remade:
        return None
    between = tuple(_between(passes, among))
    return Remade(
        made=len(alike),
        is_certain=is_certain,
        one_each=bool(own) and _one_each(own),
        times=len(between),
        total_us=sum(between),
        longest_us=max(between, default=0.0),
        whole_us=own[-1][0] - own[0][0] if own else 0.0,
        numbers=tuple(alike),
    )


def with_remade(starts: Iterable[EpochStart], remade: Remade | None, main: int) -> Iterator[EpochStart]:
    """The first epoch of a loader that is made anew is the next one of the training loop's: made once, it would have
    DataLoader workers from the epoch before.
    """
    later = remade.numbers[1:] if remade is not None else ()
    for start in starts:
        number = main if start.loader is None else start.loader
        yield replace(start, loader=main, repeated=True) if number in later else start


_Pass = tuple[float, float | None, int]
"""When it began and was over, and the number of its loader."""


def settings_of(loader: LoaderInfo) -> LoaderInfo:
    """Without what became of it: the same of loaders that are alike."""
    return replace(
        loader, iterated=None, iterated_in_window=None, stepped=None, gone=None, passes_us=(), passes_ts_us=()
    )


def _settings_at(pipeline: PipelineInfo, number: int) -> LoaderInfo | None:
    return settings_of(pipeline.loaders[number]) if number < len(pipeline.loaders) else None


def _follow_each_other(passes: Sequence[_Pass]) -> bool:
    """Each of another loader, and over before the next began."""
    return _one_each(passes) and are_apart([(began, ended) for began, ended, _ in passes])


def _one_each(passes: Sequence[_Pass]) -> bool:
    return len({number for _, _, number in passes}) == len(passes)


def _is_one_in_use(trace: Trace, alike: Sequence[int]) -> bool:
    """Whether no two of them gave batches in a window of DataLoader workers."""
    batches = trace.info.pipeline.batches if trace.info.pipeline else None
    return batches is not None and len(set(batches.loader.tolist()) & set(alike)) == 1


def _between(passes: Sequence[_Pass], alike: set[int]) -> Iterator[float]:
    """Before each pass over one of these loaders, where none was open and the end of the one before is known."""
    latest = float("-inf")
    for (_, ended, _), (began, _, number) in pairwise(passes):
        if ended is None:
            continue
        latest = max(latest, ended)
        if number in alike and latest <= began:
            yield began - latest
