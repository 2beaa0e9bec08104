"""Facts beside a comparison that no interval is known of: how often stages ran, how long an epoch took to start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tb_dataplugin.compare.call_counts import moved_calls, samples_built
from tb_dataplugin.compare.flames import IN_PICTURE, is_drawn
from tb_dataplugin.compare.programs import other_script
from tb_dataplugin.compare.quantity import Quantity
from tb_dataplugin.compare.renamed import loop_elsewhere, renamed_files
from tb_dataplugin.compare.settings import WORKERS, SettingChange
from tb_dataplugin.compare.sides import Run, Unit
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import duration, in_unit, listed, plural, significant, unit_for

MUCH: Final = 0.1
"""Part of a side's data wait from which what is left out of the comparison is said below its sentence."""

SAID: Final = 3
"""Stages that are named, those with the largest change of time."""

READ_AGAIN: Final = "workers_read_the_same"
MADE_ANEW: Final = "loader_made_anew"
"""The rules that say so."""

AGAIN: Final = "samples that come again in an epoch count after the change, and are no gain"

OF_STARTS: Final = frozenset(("persistent_workers", "num_workers", "start_method", "prefetch_factor", "dataset"))
"""Settings that an epoch's start depends on."""


def not_judged(
    before: Sequence[Run],
    after: Sequence[Run],
    unit: Unit,
    stages: Sequence[Quantity],
    settings: Sequence[SettingChange],
) -> tuple[Evidence, ...]:
    """Starts of epochs only where a setting changed that they depend on: else which windows have one is chance."""
    starts = _starts(before, after) if any(setting.name in OF_STARTS for setting in settings) else ()
    left = left_out(before, after, with_others=False)
    said = (time("left_out", left.us, left.text, whole="data wait"),) if left.share >= MUCH else ()
    more = _read_again(after) if any(setting.name == WORKERS for setting in settings) else ()
    scripts = _scripts(before, after)
    return (*more, *scripts, *_calls(stages, unit), *starts, *said, *_between_epochs(before, after))


def _scripts(before: Sequence[Run], after: Sequence[Run]) -> Iterator[Evidence]:
    names = other_script(before, after)
    if names:
        elsewhere = loop_elsewhere(before, after, renamed_files(before, after))
        how = "its lines are not compared" if elsewhere else "its lines are compared by their function and text"
        text = f"the training loop is in {names[0]} before, in {names[1]} after: {how}"
        yield Evidence("script", text)


def _read_again(after: Sequence[Run]) -> Iterator[Evidence]:
    """Of other numbers of DataLoader workers: samples that come again are no gain, however fast they come."""
    captures = [capture for run in after for capture in run.captures]
    found = next((each.title for one in captures for each in one.findings if each.rule == READ_AGAIN), "")
    unknown = next((each.reason for one in captures for each in one.abstained if each.rule == READ_AGAIN), "")
    if found:
        yield Evidence("read_again", f"{AGAIN}: {found}")
    elif unknown:
        yield Evidence("read_again", f"{AGAIN}. {unknown}")


def _between_epochs(before: Sequence[Run], after: Sequence[Run]) -> Iterator[Evidence]:
    """Of a program that makes its DataLoader anew: no window has that time, and whoever mended it looks for it here."""
    for runs, when in ((before, "before"), (after, "after")):
        found = (finding for run in runs for capture in run.captures for finding in capture.findings)
        facts = [fact for finding in found if finding.rule == MADE_ANEW for fact in finding.evidence]
        known = next((fact for fact in facts if fact.kind == "between_epochs"), None)
        if known is not None:
            text = f"no time here has what lies between epochs, and the DataLoader was made anew {when}: {known.text}"
            yield time("between_epochs", known.value, text, whole="epoch")


class LeftOut(NamedTuple):
    """Data wait that only one side's windows may have by chance, and no time here has. `us`: of both sides; `share`:
    its part of the data wait of the side that has most of it. `of`: "starts of epochs, 2.1 s of the windows before",
    which has the work between another DataLoader's waits as well.
    """

    us: float
    share: float
    of: str
    drawn: bool
    begun: bool
    """Whether DataLoader workers may have begun at starts of epochs: what they import is in their stacks."""

    @property
    def text(self) -> str:
        return f"left out of all times: {self.of}{IN_PICTURE if self.drawn else ''}" * bool(self.of)

    @property
    def in_graph(self) -> str:
        """Said at the flame graph where it is much: the graph's largest change may be of these alone."""
        imports = ", with the imports of DataLoader workers that begin then" if self.begun else ""
        return f"Only this graph has {self.of}{imports}." if self.share >= MUCH else ""


def left_out(before: Sequence[Run], after: Sequence[Run], with_others: bool = True) -> LeftOut:
    """The text is "" where there is none. `with_others`: waits for other DataLoaders, too (`other_loaders`)."""
    loaders = [[capture.loader for run in runs for capture in run.captures] for runs in (before, after)]
    whole = [sum(loader.wait_us for loader in side) for side in loaders]
    sides = [[loader.apart for loader in side] for side in loaders]
    left = [sum(_left(apart, with_others) for apart in side) for side in sides]
    work = [sum(apart.between_us for apart in side) for side in sides]
    between = [sum(apart.between_epochs_us for apart in side) for side in sides]
    if not any(left) and not any(work):
        return LeftOut(0.0, 0.0, "", drawn=False, begun=False)
    others = with_others and any(apart.others for side in sides for apart in side)
    starts = any(apart.epochs for side in sides for apart in side)
    ends = any(apart.ends or (apart.starts_us and not apart.epochs) for side in sides for apart in side)
    pauses = any(apart.pauses for side in sides for apart in side)
    epochs = {(1, 0): "starts of epochs", (0, 1): "ends of epochs", (1, 1): "starts and ends of epochs"}
    named = {
        epochs.get((starts, ends), ""): starts or ends,
        "waits for another DataLoader": others,
        "garbage collection": pauses,
        "the time between epochs": any(between),
        "the work with batches of another DataLoader": work != between,
    }
    names = [name for name, is_left in named.items() if is_left]
    sums = [us + more for us, more in zip(left, work, strict=True)]
    sides_of = zip(sums, ("before", "after"), strict=True)
    times = listed([f"{duration(us)} of the windows {when}" for us, when in sides_of if us])
    share = max((part / wait for part, wait in zip(left, whole, strict=True) if wait), default=0.0)
    begun = starts and any(loader.num_workers for side in loaders for loader in side)
    return LeftOut(sum(left), share, f"{listed(names)}, {times}", is_drawn(before, after), begun)


def _left(apart: pb.Apart, with_others: bool) -> float:
    """They have no time in common."""
    return apart.wait_us if with_others else apart.starts_us + apart.pauses_us


def _calls(stages: Sequence[Quantity], unit: Unit) -> Iterator[Evidence]:
    per, moved = "sample built" if samples_built(stages) else f"{unit}", moved_calls(stages)
    largest = [
        (abs((stage.calls and stage.calls.change_us) or 0.0), stage.name, *moved[stage.name])
        for stage in stages
        if stage.name in moved
    ]
    for _, name, was, now in sorted(largest, reverse=True)[:SAID]:
        text = f"{name}: {significant(was)} → {significant(now)} calls per {per}"
        yield Evidence("calls_change", text, now / was - 1 if was else None, "ratio" if was else "", stage=name)


def _starts(before: Sequence[Run], after: Sequence[Run]) -> Iterator[Evidence]:
    sides = [[capture.loader.apart for run in runs for capture in run.captures] for runs in (before, after)]
    counts = [sum(apart.epochs for apart in side) for side in sides]
    if not all(counts):
        return
    was, now = (_each(side, epochs) for side, epochs in zip(sides, counts, strict=True))
    text = f"{_pair(was, now)} of data wait (not judged: {plural(counts[0], 'start')} before, {counts[1]} after)"
    end = ", with what ends of epochs have" if any(apart.ends for side in sides for apart in side) else ""
    yield time("epoch_start", now - was, f"an epoch's start{end}: {text}", whole="epoch")


def _each(side: Sequence[pb.Apart], epochs: int) -> float:
    return sum(apart.starts_us for apart in side) / epochs


def _pair(was: float, now: float) -> str:
    unit = unit_for((was, now))
    return f"{in_unit(was, unit)} → {in_unit(now, unit)} {unit.name}"
