"""Stages as text: a row for each, and what is said of them below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.export.costs import limit_lines, profiler_lines
from tb_dataplugin.export.paragraphs import fit, heading, more, wrap
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import columns
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import TimeUnit, count, duration, in_unit, percent, ratio, unit_for

MOST: Final = 30
NAMES: Final = 41
"""Columns that a name gets at most: one that is cut off may look like its neighbour."""
COLUMNS: Final = (
    Column("count", 7, 1),
    Column("total", 9, 2),
    Column("self", 9),
    Column("p50", 8, 4),
    Column("p95", 8, 5),
    Column("max", 8, 3),
    Column("wait", 8),
)


def stage_lines(capture: pb.Capture, style: Style) -> Iterator[str]:
    if not capture.stages:
        return
    rows = capture.stages[:MOST]
    names = [f"{'  ' * (len(row.path) - 1)}{row.path[-1]}" for row in rows]
    total, single = unit_for(row.total_us for row in rows), unit_for(row.max_us for row in rows)
    room = columns() - 2
    kept = with_room(COLUMNS, room - min(NAMES, max(map(len, names))))
    wide = min(NAMES, room - sum(column.width for column in kept))
    yield from heading(f"Stages   {_units(kept, total, single)}", style)
    yield f"  {'':<{wide}}{heads(kept)}"
    for row, name in zip(rows, names, strict=True):
        texts = _texts(row, capture.loader.wait_us, total, single)
        yield f"  {style.paint(row.kind, f'{fit(name, wide):<{wide}}')}{cells(kept, texts)}"
    yield from more(len(capture.stages) - len(rows), "stages")
    if capture.workers:
        summary = capture.stage_summary
        yield from wrap(f"self time of all stages: {duration(summary.self_us)} ({summary.self_text})", "  ")
    if any(row.HasField("blame_us") for row in rows):
        yield from wrap(f"wait: {_share_of_wait(capture)}", "  ")
    for note in capture.stage_summary.note_texts:
        yield from wrap(note, "  ")
    yield from limit_lines(rows)
    yield from profiler_lines(rows)
    if any(row.HasField("replay_ratio") for row in rows):
        yield from _contention(rows, capture.replay_name)


def _units(kept: Sequence[Column], total: TimeUnit, single: TimeUnit) -> str:
    """Of the columns that are there."""
    heads = [column.head for column in kept]
    sums = " and ".join(head for head in heads if head in ("total", "self"))
    singles = ", ".join(head for head in heads if head in ("p50", "p95", "max"))
    return f"{sums} in {total.name}" + (f"; {singles} in {single.name}" if singles else "")


def _texts(row: pb.Stage, wait_us: float, total: TimeUnit, single: TimeUnit) -> dict[str, str]:
    """By column."""
    share = row.blame_us / wait_us if wait_us else None
    return {
        "count": count(row.count),
        "total": in_unit(row.total_us, total),
        "self": in_unit(row.self_us, total),
        "p50": in_unit(row.p50_us, single),
        "p95": in_unit(row.p95_us, single),
        "max": in_unit(row.max_us, single),
        "wait": percent(share) if row.HasField("blame_us") else "",
    }


def _share_of_wait(capture: pb.Capture) -> str:
    share = "share of the data wait that this stage caused, without the stages inside it"
    names = capture.loader.apart.wait_names
    return share + (f"; includes {names}, which the verdict leaves out" if names else "")


def _contention(rows: Sequence[pb.Stage], replay: str) -> Iterator[str]:
    """The stages that take longest, live against replayed."""
    ratios = sorted((row for row in rows if row.HasField("replay_ratio")), key=lambda row: -row.self_us)[:3]
    slower = ", ".join(f"{row.path[-1]} {ratio(row.replay_ratio)}" for row in ratios)
    whose = f"cost of contention, time per call in training over that in the replay {replay}"
    yield from wrap(f"{whose}: {slower}", "  ")
