"""One idle gap, or a few, with most of what a cause has of the idle time: something that happened once, not a habit."""

from __future__ import annotations

from typing import Final

import numpy as np

from tb_dataplugin.analyses.gaps import Gap
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.step_table import StepTable
from tb_dataplugin.findings.device_signals import IdleSignals, LoneGaps
from tb_dataplugin.findings.reasons import Reason, ReasonName
from tb_dataplugin.findings.thresholds import ONE_CALL
from tb_dataplugin.model.intervals import Int64Array, Intervals
from tb_dataplugin.units import duration, percent, plural

MOST_ALONE: Final = 3
"""More gaps than that are no exception any more."""

NO_LONGER_ALIKE: Final = 2
"""How many times as long as the next one a gap is, from which the two are not of one kind."""

WAITS_FOR_LAUNCHES: Final = "because it waits for the host to launch work"
"""Of launches that are slow once: the reason's own words speak of all of them."""


def read_lone_gaps(results: Results) -> dict[ReasonName, LoneGaps]:
    """By reason, of the first device; reasons that many gaps share have none."""
    found = {}
    for reason, times in _times(results).items():
        rows = _longest_of_a_kind(times)
        whole, gaps = int(times.sum()), results.devices[0].gaps
        if len(rows) and not _is_habit(results.steps, gaps, rows):
            alone, inside = int(times[rows].sum()), ("", 0.0)
            if len(rows) == 1:
                inside = _inside(results.gaps[0], int(gaps.start[rows[0]]))
            has_steps = results.steps is not None
            found[reason] = LoneGaps(len(rows), alone / 1e3, alone / whole, *inside, has_steps=has_steps)
    return found


def _times(results: Results) -> dict[ReasonName, Int64Array]:
    """By reason, what each gap has of it."""
    if not results.devices:
        return {}
    device = results.attribution.devices[0]
    times: dict[ReasonName, Int64Array] = dict(device.gap_causes_ns.items())
    if "launch" in times:
        times |= {"launch": times["launch"] - device.gap_queued_ns, "queued": device.gap_queued_ns}
    return times


def _longest_of_a_kind(times: Int64Array) -> list[int]:
    """The longest gaps, down to where they are no longer alike, if these are few and have at least half of it all."""
    order = np.argsort(-times, kind="stable")[: MOST_ALONE + 1]
    largest, whole = [*times[order].tolist(), 0], int(times.sum())
    for count in range(1, min(MOST_ALONE, len(order)) + 1):
        is_last = largest[count - 1] > NO_LONGER_ALIKE * largest[count]
        if is_last and sum(largest[:count]) >= ONE_CALL * whole:
            return [int(row) for row in order[:count]]
    return []


def _is_habit(steps: StepTable | None, gaps: Intervals, rows: list[int]) -> bool:
    """Several gaps in as many steps, which are no few of all."""
    if steps is None or len(rows) == 1:
        return False
    start = np.array([row.start_ns for row in steps.rows], dtype=np.int64)
    end = start + np.array([row.duration_ns for row in steps.rows], dtype=np.int64)
    inside = [np.minimum(end, gaps.end[row]) - np.maximum(start, gaps.start[row]) for row in rows]
    touched = {int(spent.argmax()) for spent in inside if spent.max() > 0}
    return len(touched) > 1 and 2 * len(touched) >= len(steps.rows)


def _inside(listed: tuple[Gap, ...], start_ns: int) -> tuple[str, float]:
    """The runtime call, else the operator, that the host was in for most of that gap, and how long, within it."""
    gap = next((gap for gap in listed if gap.start_ns == start_ns), None)
    span = None if gap is None else gap.chain.call or gap.chain.operator
    if gap is None or span is None:
        return "", 0.0
    spent_ns = min(span.end_ns, gap.start_ns + gap.duration_ns) - max(span.start_ns, gap.start_ns)
    return span.name, spent_ns / 1e3


def because(idle: IdleSignals, leader: Reason) -> str:
    """Why the device idles, behind how long: "for 12% because ..."."""
    lone = idle.lone.get(leader.name)
    if lone is None:
        return f"for {percent(leader.share)} {leader.words}"
    words = WAITS_FOR_LAUNCHES if leader.name == "launch" else leader.words
    return f"for {percent(leader.share)} {words}, {percent(lone.share)} of that {gaps_text(lone)}"


def where_alone(idle: IdleSignals, leader: Reason | None) -> str:
    """What that gap was spent in, and what shows the rest: sentences behind the verdict; "" where no gap is alone."""
    lone = None if leader is None else idle.lone.get(leader.name)
    if lone is None or leader is None:
        return ""
    inside = f" In that gap {inside_text(lone)}." if lone.inside else ""
    if leader.name != "launch":
        return inside
    first = "A first use" if lone.count == 1 else "First uses"
    return f"{inside} {first} may take that long: capture after a few warm-up steps to see what remains."


def gaps_text(lone: LoneGaps) -> str:
    gaps = "a single gap" if lone.count == 1 else plural(lone.count, "gap")
    return f"in {gaps} ({duration(lone.us)})"


def inside_text(lone: LoneGaps) -> str:
    return f"the host was in {lone.inside} for {duration(lone.inside_us)}"
