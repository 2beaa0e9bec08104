"""The ranks of a run for a terminal, and as JSON (CONTRACT: ranks)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tb_dataplugin.export.paragraphs import fit, page, title, wrap
from tb_dataplugin.export.summary_text import cut_inside, short_name
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import columns
from tb_dataplugin.ranks import OwnerRow, RankRow, RunOfRanks, clock_sentence, verdict_of
from tb_dataplugin.ranks.clocks import Clock
from tb_dataplugin.shown import shown
from tb_dataplugin.units import count, duration, in_unit, percent, plural, unit_for

SCHEMA_VERSION: Final = 1
MOST_OWNERS: Final = 10
MOST_OF_HOST: Final = 19
LEAST_OF_CAPTURE: Final = 12
OWNER: Final = 2 + 5 + 2
CAUSE, SHORTEST_CAUSE = 40, 19
PATTERN: Final = 14
"""Columns."""
MOST_RANKS: Final = 64
"""Rows of a table; what is left out is counted."""

_JOINED: Final = {"number": "their numbers", "step": "step and place in it", "order": "their order"}


def as_text(run: RunOfRanks, style: Style) -> str:
    return page(_lines(run, style), style)


def _lines(run: RunOfRanks, style: Style) -> Iterator[str]:
    yield from title(f"ranks   {shown(run.name)}", style)
    yield from wrap(shown(verdict_of(run)), "")
    yield ""
    yield from _ranks(run)
    if run.owners:
        yield ""
        yield from _owners(run)
    for waste in run.waste:
        yield ""
        yield from wrap(shown(waste.sentence), "  ")
    notes = [*filter(None, [_basis(run), clock_sentence(run)]), *run.notes]
    yield ""
    for note in notes:
        yield from wrap(shown(note), "  ")


def _ranks(run: RunOfRanks) -> Iterator[str]:
    steps = unit_for(value for row in run.rows for value in (row.step_us, row.data_wait_us))
    lost = unit_for(row.inherited_us for row in run.rows)
    shown_rows = run.rows if len(run.rows) <= MOST_RANKS else _worst(run)
    wide = max(4, *(min(MOST_OF_HOST, len(shown(row.host))) for row in shown_rows))
    table = (
        Column("rank", 5),
        Column("  host", wide + 2, 3, "<"),
        Column(f"step, {steps.name}", 12, 2),
        Column(f"data wait, {steps.name}", 16, 1),
        Column(f"inherited in all, {lost.name}", 23),
    )
    kept = with_room(table, columns() - 2)
    room = columns() - 4 - sum(column.width for column in kept)
    yield f"  {heads(kept)}" + ("  capture" if room >= LEAST_OF_CAPTURE else "")
    for row in shown_rows:
        numbers = (in_unit(row.step_us, steps), in_unit(row.data_wait_us, steps), in_unit(row.inherited_us, lost))
        texts = (str(row.rank), f"  {fit(shown(row.host), wide)}", *numbers)
        capture = cut_inside(shown(short_name(row.capture)), room) if room >= LEAST_OF_CAPTURE else ""
        yield f"  {cells(kept, {column.head: text for column, text in zip(table, texts, strict=True)})}  {capture}"
    if len(shown_rows) < len(run.rows):
        yield from wrap(f"{count(len(run.rows) - len(shown_rows))} more ranks are in the JSON.", "  ")


def _worst(run: RunOfRanks) -> tuple[RankRow, ...]:
    """Owners first, then by what they inherited."""
    owned: dict[int, float] = {}
    for row in run.owners:
        owned[row.rank] = owned.get(row.rank, 0.0) + row.lost_us
    ordered = sorted(run.rows, key=lambda row: (-owned.get(row.rank, 0.0), -row.inherited_us))
    return tuple(ordered[:MOST_RANKS])


def _owners(run: RunOfRanks) -> Iterator[str]:
    unit = unit_for(row.lost_us for row in run.owners)
    table = (Column(f"lost, {unit.name}", 12), Column("of rank time", 14, 1), Column("  pattern", PATTERN, 2, "<"))
    kept = with_room(table, columns() - OWNER - SHORTEST_CAUSE)
    wide = min(CAUSE, columns() - OWNER - sum(column.width for column in kept))
    yield f"  {'owner':>5}  {'cause':<{wide}}{heads(kept)}"
    for row in run.owners[:MOST_OWNERS]:
        share = percent(row.lost_us / run.whole_us if run.whole_us else None)
        texts = (in_unit(row.lost_us, unit), share, f"  {row.pattern}")
        numbers = cells(kept, {column.head: text for column, text in zip(table, texts, strict=True)})
        yield f"  {row.rank:>5}  {fit(shown(row.cause), wide - 1):<{wide}}{numbers}"
    rest = run.owners[MOST_OWNERS:]
    if rest:
        left = f"{plural(len(rest), 'more owner')}: {duration(sum(row.lost_us for row in rest))} together"
        yield from wrap(left, "  ")


def _basis(run: RunOfRanks) -> str:
    if not run.collectives:
        return ""
    return (
        f"{plural(run.collectives, 'collective')} of {len(run.rows)} ranks, matched by {_JOINED[run.joined_by]}; "
        f"{duration(run.lost_us)} of {duration(run.whole_us)} rank time lost. Step and data wait are means per step; "
        "inherited: what a rank lost waiting for others."
    )


def as_json(run: RunOfRanks) -> str:
    return json.dumps(as_dict(run), indent=2)


def as_dict(run: RunOfRanks) -> dict[str, Any]:
    """What is not known is absent."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run.name,
        "verdict": verdict_of(run),
        "rank_time_us": run.whole_us,
        "lost_us": run.lost_us,
        "collectives": {"count": run.collectives, "matched_by": run.joined_by},
        "ranks": [_rank_dict(row) for row in run.rows],
        "owners": [_owner_dict(row) for row in run.owners],
        "clocks": [_clock_dict(clock) for clock in run.clocks if clock.is_known],
        "waste": [{"kind": waste.kind, "share": waste.share, "sentence": waste.sentence} for waste in run.waste],
        "missing_ranks": list(run.missing),
        "notes": list(run.notes),
    }


def _rank_dict(row: RankRow) -> dict[str, Any]:
    known = {"step_us": row.step_us, "data_wait_us": row.data_wait_us, "exposed_wait_us": row.exposed_us}
    return {
        "rank": row.rank,
        "host": row.host,
        "capture": row.capture,
        "steps": row.steps,
        **{name: value for name, value in known.items() if value is not None},
        "inherited_us": row.inherited_us,
    }


def _clock_dict(clock: Clock) -> dict[str, Any]:
    times = {"ahead_us": clock.ahead_ns / 1e3, "error_us": clock.error_ns / 1e3}
    return {"rank": clock.rank, **times, "applied": clock.is_applied}


def _owner_dict(row: OwnerRow) -> dict[str, Any]:
    times = {} if row.times_others is None else {"times_others": row.times_others}
    return {"rank": row.rank, "stage": row.cause, "lost_us": row.lost_us, "pattern": row.pattern, **times}
