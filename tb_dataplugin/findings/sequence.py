"""The order in which the stages of a sample follow one another, and how each changes the size of the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import median_high
from typing import Final

from tb_dataplugin.analyses.stages import OF_VALUE, Path
from tb_dataplugin.findings.decoder_advice import decodes_pictures
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import COPY_US_PER_BYTE, HANDING_ON_US, SHRINKS

WIDEST: Final = 8
"""Times as many bytes as another type may have for the same values: float64 for uint8."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What is decoded for a sample, before code without a stage makes of it what a transform gets: `ratio` is what the
    transform returns over all that is decoded. `images`: mean calls of decoders per sample.
    """

    calls: tuple[StageCalls, ...]
    ratio: float
    images: float


@dataclass(frozen=True, slots=True)
class Step:
    """`before`: the earlier stages that worked on as much data as this one gets: none before one that shrinks it.

    `ratio`: bytes out over bytes in, of a typical call; None where the size of this stage's result is not known, or
    that of its input: the stage before it has returned something else (`_is_fed_by`). `measured`: how many samples it
    is of; 0 where no sample has both sizes. `decoded`: what the code between decoding and this stage has left of it.
    `calls_per_value`: several make views of one value (two crops of a picture): each may keep another part of it.
    `of_pictures`: what it gets is a decoded picture, of which no stage in between has made more bytes: its values have
    one byte, so that `ratio` is no smaller type of as many values (float32 for float64), but a part of them.
    """

    calls: StageCalls
    before: tuple[StageCalls, ...]
    ratio: float | None
    measured: int = 0
    decoded: Decoded | None = None
    calls_per_value: float = 1.0
    of_pictures: bool = False

    @property
    def returns_little(self) -> bool:
        return self.ratio is not None and self.ratio <= SHRINKS and self.calls.stage.kind == "transform"

    @property
    def shrinks(self) -> bool:
        """Not where it makes several views: what these keep together is not known."""
        return self.returns_little and round(self.calls_per_value) <= 1

    @property
    def bytes_per_call(self) -> float | None:
        """Of what a call gets or of what it returns, the larger; None where one is not known."""
        if not self.ratio or not self.calls.bytes:
            return None
        return self.calls.bytes / self.calls.count * max(1.0, 1 / self.ratio)

    @property
    def working_before(self) -> tuple[StageCalls, ...]:
        """Of `before`, those that get shorter with less to work on: not those that mostly wait."""
        return tuple(row for row in self.before if not row.mostly_waits)


def sequences(stages: Sequence[StageCalls]) -> list[tuple[Step, ...]]:
    """Per parent, the stages under it that turn one value into the next, in the order of their starts.

    A transform that holds others (`Compose`) gives its place to them: what it keeps is what they keep together.
    """
    children: dict[Path, list[StageCalls]] = {}
    for calls in stages:
        if calls.place is not None and calls.stage.kind in OF_VALUE:
            children.setdefault(calls.path[:-1], []).append(calls)
    held, of_path = containers(stages), {calls.path: calls for calls in stages}
    inner = held & {calls.path for rows in children.values() for calls in rows}
    handed_on = _handed_on(stages)
    decoding = frozenset(path for path, rows in children.items() if _returns_picture(of_path.get(path), rows))
    return [
        _placed(tuple(_flat(parent, children, held)), handed_on, decoding) for parent in children if parent not in inner
    ]


def _handed_on(stages: Sequence[StageCalls]) -> float:
    """Bytes of a sample in its batch; 0 where that is not known."""
    samples = sum(row.count for row in stages if row.stage.kind == "sample" and len(row.path) == 1)
    collated = max((row.bytes or 0.0 for row in stages if row.stage.kind == "collate"), default=0.0)
    return collated / samples if samples else 0.0


def _placed(rows: tuple[StageCalls, ...], handed_on: float, decoding: frozenset[Path]) -> tuple[Step, ...]:
    """What makes something of its own, beside the value, has no place among those that turn that into the next."""
    beside = _beside(rows, handed_on)
    mine = tuple(row for place, row in enumerate(rows) if place not in beside)
    return (*_steps(mine, decoding), *(Step(rows[place], (), None) for place in sorted(beside)))


def _beside(rows: tuple[StageCalls, ...], handed_on: float) -> set[int]:
    """Places of transforms of an index or a label: they return far less than one before them does, and the sample has
    far more in the end than another type could make of it.
    """
    own = [_returned(row) for row in rows]
    values = [0.0 if row.stage.kind == "read" else returned for row, returned in zip(rows, own, strict=True)]
    most_before = list(accumulate(values, max, initial=0.0))
    most_from = list(accumulate(reversed(own), max, initial=handed_on))[::-1]
    return {
        place
        for place, row in enumerate(rows)
        if row.stage.kind == "transform" and 0 < own[place] < min(most_before[place], most_from[place + 1]) / WIDEST
    }


def _returned(row: StageCalls) -> float:
    """Bytes for a sample."""
    return row.per_sample * row.bytes / row.count if row.bytes else 0.0


def containers(stages: Sequence[StageCalls]) -> frozenset[Path]:
    """The transforms that hold other transforms."""
    return frozenset(
        calls.path[:-1]
        for calls in stages
        if calls.stage.kind == "transform" and len(calls.path) > 1 and calls.path[-2].kind == "transform"
    )


def _flat(
    parent: Path, children: dict[Path, list[StageCalls]], held: frozenset[Path], gap_us: float = 0.0
) -> Iterator[StageCalls]:
    """`gap_us`: between the stage before the parent and the parent, for the first inside it."""
    for calls in sorted(children.get(parent, ()), key=lambda calls: (calls.place or 0.0, calls.path)):
        before, gap_us = gap_us + (calls.gap_us or 0.0), 0.0
        if calls.path in held:
            yield from _flat(calls.path, children, held, before)
        else:
            yield replace(calls, gap_us=before)


def _steps(rows: tuple[StageCalls, ...], decoding: frozenset[Path]) -> tuple[Step, ...]:
    """`decoding`: stages that decode a picture inside and return it."""
    steps: list[Step] = []
    whole = 0  # the first that worked on as much data as the next stage gets
    of_pictures = False
    for place, row in enumerate(rows):
        is_fed = place > 0 and _is_fed_by(rows[:place], row)
        if place > 0 and rows[place - 1].stage.kind != "read" and not is_fed:
            steps.append(Step(row, (), None, decoded=_decoded(rows[:place], row)))
            whole, of_pictures = place, _is_picture(row) or row.path in decoding
            continue
        ratio, measured = _ratio(rows[place - 1].sizes, row.sizes) if is_fed else (None, 0)
        views = row.per_sample / _results(rows[:place], row) if is_fed else 1.0
        steps.append(Step(row, rows[whole:place], ratio, measured, calls_per_value=views, of_pictures=of_pictures))
        of_pictures = _is_picture(row) or row.path in decoding or (of_pictures and ratio is not None and ratio <= 1)
        whole = place + 1 if steps[-1].returns_little else whole
    return tuple(steps)


def _returns_picture(own: StageCalls | None, inside: Iterable[StageCalls]) -> bool:
    """PIL decodes in the transform that first needs the pixels. What has no more bytes has no larger values."""
    decoded = sum(row.bytes or 0.0 for row in inside if _is_picture(row))
    return own is not None and own.stage.kind == "transform" and 0 < (own.bytes or 0.0) <= decoded


def _is_picture(row: StageCalls) -> bool:
    return row.stage.kind == "decode" and decodes_pictures(row.stage.label)


def _is_fed_by(rows: Sequence[StageCalls], own: StageCalls) -> bool:
    """Whether a stage gets what the last of `rows` returns: no file's bytes, which are compressed; one result and not
    several; and no code in between that may have made another thing of it.
    """
    earlier = rows[-1]
    is_of_one = round(_results(rows, own) / own.per_sample) <= 1
    if earlier.stage.kind == "read" or own.stage.kind != "transform" or not is_of_one:
        return False
    size = earlier.bytes / earlier.count if earlier.bytes else 0.0
    return (own.gap_us or 0.0) <= HANDING_ON_US + COPY_US_PER_BYTE * size


def _results(rows: Sequence[StageCalls], own: StageCalls) -> float:
    """What the last of `rows` returns for a sample, in number."""
    return _images(rows, own) if rows[-1].stage.kind == "decode" else rows[-1].per_sample


def _decoded(rows: Sequence[StageCalls], own: StageCalls) -> Decoded | None:
    """None where another transform works on it first, or a size is not known."""
    calls, images = tuple(row for row in rows if row.stage.kind == "decode"), _images(rows, own)
    sizes = [row.bytes for row in calls if row.bytes]
    if not calls or len(sizes) < len(calls) or not own.bytes or any(row.stage.kind == "transform" for row in rows):
        return None
    left, each = own.per_sample * own.bytes / own.count, sum(sizes) / sum(row.count for row in calls)
    return Decoded(calls, left / (images * each), images)


def _images(rows: Sequence[StageCalls], own: StageCalls) -> float:
    """Calls of decoders for a sample. Of several decoders each may be for some samples only: then calls count beside
    samples, though a window cuts some of these.
    """
    decodes = [row for row in rows if row.stage.kind == "decode"]
    if len(decodes) == 1:
        return decodes[0].per_sample
    return sum(row.count for row in decodes) / max(row.count / row.per_sample for row in (*rows, own))


def _ratio(earlier: Mapping[int, int], own: Mapping[int, int]) -> tuple[float | None, int]:
    """The median of the samples' quotients, and how many there are. One that occurred: of two it is the larger, which
    promises less. Sizes that were measured in different samples only are compared as typical ones.
    """
    quotients = [size / earlier[sample] for sample, size in own.items() if size and earlier.get(sample)]
    if quotients:
        return median_high(quotients), len(quotients)
    sizes, before = [size for size in own.values() if size], [size for size in earlier.values() if size]
    return (median_high(sizes) / median_high(before) if sizes and before else None), 0
