"""The order in which the stages of a sample follow one another, and how each changes the size of the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import median_high
from typing import Final

from tb_dataplugin.analyses.stages import OF_VALUE, Path
from tb_dataplugin.findings.decoder_advice import decodes_pictures
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import ALWAYS_FOLLOWED, COPY_US_PER_BYTE, HANDING_ON_US, SHRINKS

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
    """`before`: the earlier stages that worked on as much data as this one gets: none before one that shrinks it. For
    the same value, always, and never after this one.

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

    A transform that holds others (`Compose`) gives its place to them: what it keeps is what they keep together. What
    each step says of its input and of earlier stages is by its calls, though, not by that order (`Inputs`).
    """
    children, of_path = _children(stages), {calls.path: calls for calls in stages}
    decoding = frozenset(path for path, rows in children.items() if _returns_picture(of_path.get(path), rows))
    handed_on = _handed_on(stages)
    return [_placed(rows, handed_on, decoding) for rows in _in_order(stages)]


def find_beside(stages: Sequence[StageCalls]) -> frozenset[Path]:
    """Stages that make something of its own, beside the value."""
    handed_on = _handed_on(stages)
    return frozenset(rows[place].path for rows in _in_order(stages) for place in _beside(rows, handed_on))


def _children(stages: Sequence[StageCalls]) -> dict[Path, list[StageCalls]]:
    children: dict[Path, list[StageCalls]] = {}
    for calls in stages:
        if calls.place is not None and calls.stage.kind in OF_VALUE:
            children.setdefault(calls.path[:-1], []).append(calls)
    return children


def _in_order(stages: Sequence[StageCalls]) -> list[tuple[StageCalls, ...]]:
    children, held = _children(stages), containers(stages)
    inner = held & {calls.path for rows in children.values() for calls in rows}
    return [tuple(_flat(parent, children, held)) for parent in children if parent not in inner]


def _handed_on(stages: Sequence[StageCalls]) -> float:
    """Bytes of a sample in its batch; 0 where that is not known."""
    samples = sum(row.count for row in stages if row.stage.kind == "sample" and len(row.path) == 1)
    collated = max((row.bytes or 0.0 for row in stages if row.stage.kind == "collate"), default=0.0)
    return collated / samples if samples else 0.0


def _placed(rows: tuple[StageCalls, ...], handed_on: float, decoding: frozenset[Path]) -> tuple[Step, ...]:
    """What makes something of its own, beside the value, has no place among those that turn that into the next."""
    beside = _beside(rows, handed_on)
    mine = tuple(row for place, row in enumerate(rows) if place not in beside)
    flow = _Flow(mine, decoding)
    return (*map(flow.step, mine), *(Step(rows[place], (), None) for place in sorted(beside)))


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


def _flat(parent: Path, children: dict[Path, list[StageCalls]], held: frozenset[Path]) -> Iterator[StageCalls]:
    for calls in sorted(children.get(parent, ()), key=lambda calls: (calls.place or 0.0, calls.path)):
        if calls.path in held:
            yield from _flat(calls.path, children, held)
        else:
            yield calls


class _Flow:
    """Which of these stages feed which. `rows` stand in the order of their starts, on average.

    `decoding`: stages that decode a picture inside and return it.
    """

    def __init__(self, rows: tuple[StageCalls, ...], decoding: frozenset[Path]) -> None:
        self._rows, self._of_path = rows, {row.path: row for row in rows}
        self._places = {row.path: place for place, row in enumerate(rows)}
        self._decoders = tuple(row for row in rows if row.stage.kind == "decode")
        self._feeding = {row.path: self._find_feeding(row) for row in rows}
        self._ratios = {row.path: self._ratio(row) for row in rows}
        ratios = {row.path: Step(row, (), self._ratios[row.path][0]) for row in rows}
        self._shrinking = frozenset(path for path, step in ratios.items() if step.returns_little)
        self._pictures = self._find_pictures(decoding)

    def step(self, row: StageCalls) -> Step:
        feeding, (ratio, measured) = self._feeding[row.path], self._ratios[row.path]
        step = Step(row, self._before(row), ratio, measured)
        if not self._is_fed(row):
            if feeding or row.stage.kind != "transform":
                return step
            return replace(step, decoded=_decoded(self._decoded_before(row), row))
        maker = next(each for each in feeding if each.stage.kind != "read")
        made = _images(self._decoded_before(row), row) if maker.stage.kind == "decode" else maker.per_sample
        step = replace(step, calls_per_value=row.per_sample / made, of_pictures=self._gets_picture(row))
        return self._for_all_before(step) if step.returns_little else step

    def _find_feeding(self, row: StageCalls) -> tuple[StageCalls, ...]:
        """The stages whose results it gets, most often first; none where code in between may have made another thing of
        these, or where it gets several of them.
        """
        counts = row.inputs.feeding
        known = [self._of_path[path] for path in counts if path in self._of_path]
        feeding = sorted(known, key=lambda each: -counts[each.path])
        makers = [each for each in feeding if each.stage.kind != "read"]
        return tuple(feeding) if not makers or _is_fed_by(self._decoded_before(row), makers[0], row) else ()

    def _is_fed(self, row: StageCalls) -> bool:
        """By something else than a file's bytes, which are compressed."""
        return any(each.stage.kind != "read" for each in self._feeding[row.path])

    def _decoded_before(self, row: StageCalls) -> tuple[StageCalls, ...]:
        place, earlier = self._places[row.path], row.inputs.earlier
        return tuple(each for each in self._decoders if self._places[each.path] < place or each.path in earlier)

    def _ratio(self, row: StageCalls) -> tuple[float | None, int]:
        """The median of the calls' quotients, and how many samples these are of. One that occurred: of two it is the
        larger, which promises less. Sizes that were measured in different samples only are compared as typical ones,
        where each of these stages is called once, and one always after the other.
        """
        if not self._is_fed(row):
            return None, 0
        if quotients := row.inputs.quotients.get(()):
            return median_high(quotients), row.inputs.samples[()]
        first = self._feeding[row.path][0]
        both = row.inputs.feeding[first.path] / max(row.inputs.calls, first.inputs.calls)
        if both < ALWAYS_FOLLOWED or max(round(row.per_sample), round(first.per_sample)) > 1:
            return None, 0
        sizes, before = ([size for size in each.sizes.values() if size] for each in (row, first))
        return (median_high(sizes) / median_high(before) if sizes and before else None), 0

    def _before(self, row: StageCalls) -> tuple[StageCalls, ...]:
        """Those that the value has always gone through before it, since it has become smaller."""
        earlier, reached = row.inputs.earlier, set[Path]()
        left = [each.path for each in self._feeding[row.path]]
        while left:
            path = left.pop()
            if path in earlier and path not in reached:
                reached.add(path)
                left += [each.path for each in self._feeding[path]]
        smaller = self._shrinking & earlier.keys()
        gone = smaller.union(*(self._of_path[path].inputs.earlier for path in smaller))
        found = (self._of_path[path] for path in sorted(reached - gone, key=lambda path: self._places[path]))
        return tuple(each for each in found if _is_always_before(each, row))

    def _for_all_before(self, step: Step) -> Step:
        """Samples may differ in which stages they go through, and in what the step keeps of them: it has none before
        it whose samples it keeps most of, and keeps what it keeps of all others.
        """
        found, inputs = [], step.calls.inputs
        kept = [(step.ratio or 1.0, step.measured)]
        for each in step.before:
            quotients = inputs.quotients.get(each.path)
            ratio = median_high(quotients) if quotients else 0.0
            if ratio <= SHRINKS:
                found.append(each)
                kept.append((ratio, inputs.samples.get(each.path, 0)))
        ratio, measured = max(kept, key=lambda pair: pair[0])
        return replace(step, before=tuple(found), ratio=ratio, measured=measured)

    def _gets_picture(self, row: StageCalls) -> bool:
        return self._is_fed(row) and all(each.path in self._pictures for each in self._feeding[row.path])

    def _find_pictures(self, decoding: frozenset[Path]) -> set[Path]:
        """Stages that return one, whose values have a byte: decoders, and what makes no more bytes of their results."""
        self._pictures = {row.path for row in self._rows if _is_picture(row) or row.path in decoding}
        for row in self._rows:
            if (self._ratios[row.path][0] or WIDEST) <= 1 and self._gets_picture(row):
                self._pictures.add(row.path)
        return self._pictures


def _is_always_before(earlier: StageCalls, later: StageCalls) -> bool:
    """Whether the value goes through `later`, once, after nearly each call of `earlier`, and never the other way round.
    What several views are made of is needed as far as any of them keeps it.
    """
    followed = later.inputs.earlier.get(earlier.path, 0)
    is_once = round(later.per_sample / earlier.per_sample) <= 1
    return is_once and followed >= ALWAYS_FOLLOWED * earlier.inputs.calls and later.path not in earlier.inputs.earlier


def _returns_picture(own: StageCalls | None, inside: Iterable[StageCalls]) -> bool:
    """PIL decodes in the transform that first needs the pixels. What has no more bytes has no larger values."""
    decoded = sum(row.bytes or 0.0 for row in inside if _is_picture(row))
    return own is not None and own.stage.kind == "transform" and 0 < (own.bytes or 0.0) <= decoded


def _is_picture(row: StageCalls) -> bool:
    return row.stage.kind == "decode" and decodes_pictures(row.stage.label)


def _is_fed_by(decoded: Sequence[StageCalls], earlier: StageCalls, own: StageCalls) -> bool:
    """Whether a stage gets what `earlier` returns: of decoders one result and not several, and no code in between that
    may have made another thing of it. `decoded`: all decoders before it.
    """
    is_of_one = earlier.stage.kind != "decode" or round(_images(decoded, own) / own.per_sample) <= 1
    if own.stage.kind != "transform" or not is_of_one:
        return False
    size = earlier.bytes / earlier.count if earlier.bytes else 0.0
    return (own.inputs.gap_ns or 0.0) / 1e3 <= HANDING_ON_US + COPY_US_PER_BYTE * size


def _decoded(calls: tuple[StageCalls, ...], own: StageCalls) -> Decoded | None:
    """`calls`: decoders before it. None where another transform works on it first, or a size is not known."""
    sizes = [row.bytes for row in calls if row.bytes]
    if not calls or len(sizes) < len(calls) or not own.bytes or not own.inputs.is_first:
        return None
    images = _images(calls, own)
    left, each = own.per_sample * own.bytes / own.count, sum(sizes) / sum(row.count for row in calls)
    return Decoded(calls, left / (images * each), images)


def _images(decodes: Sequence[StageCalls], own: StageCalls) -> float:
    """Calls of decoders for a sample. Of several decoders each may be for some samples only: then calls count beside
    samples, though a window cuts some of these.
    """
    if len(decodes) == 1:
        return decodes[0].per_sample
    return sum(row.count for row in decodes) / max(row.count / row.per_sample for row in (*decodes, own))
