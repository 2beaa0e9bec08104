"""Facts beside a comparison that no interval is known of: how often stages ran, how long an epoch took to start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.compare.quantity import Quantity
from tb_dataplugin.compare.settings import SettingChange
from tb_dataplugin.compare.sides import Run, Unit
from tb_dataplugin.findings.evidence import Evidence, number, time
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import in_unit, plural, significant, unit_for

MOVED: Final = 0.25
"""Change of a stage's calls per unit from which it is said: a window's edges cut off less."""

SAID: Final = 3
"""Stages that are named, those with the largest change of time."""

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
    return (*_calls(stages, unit), *starts)


def _calls(stages: Sequence[Quantity], unit: Unit) -> Iterator[Evidence]:
    moved = []
    for stage in stages:
        was, now = (stage.calls.before, stage.calls.after) if stage.calls else (None, None)
        if was and now and abs(now / was - 1) >= MOVED:
            moved.append((abs((stage.calls and stage.calls.change_us) or 0.0), stage.name, was, now))
    for _, name, was, now in sorted(moved, reverse=True)[:SAID]:
        text = f"{name}: {significant(was)} → {significant(now)} calls per {unit}"
        yield number("calls_change", now / was - 1, "ratio", text, stage=name)


def _starts(before: Sequence[Run], after: Sequence[Run]) -> Iterator[Evidence]:
    sides = [[capture.loader.apart for run in runs for capture in run.captures] for runs in (before, after)]
    counts = [sum(apart.epochs for apart in side) for side in sides]
    if not all(counts):
        return
    was, now = (_each(side, epochs) for side, epochs in zip(sides, counts, strict=True))
    text = f"{_pair(was, now)} of data wait (not judged: {plural(counts[0], 'start')} before, {counts[1]} after)"
    yield time("epoch_start", now - was, f"an epoch's start: {text}", whole="epoch")


def _each(side: Sequence[pb.Apart], epochs: int) -> float:
    return sum(apart.starts_us for apart in side) / epochs


def _pair(was: float, now: float) -> str:
    unit = unit_for((was, now))
    return f"{in_unit(was, unit)} → {in_unit(now, unit)} {unit.name}"
