"""The ranks of a run for a terminal, and as JSON (CONTRACT: ranks)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tb_dataplugin.export.paragraphs import fit, wrap
from tb_dataplugin.export.summary_text import cut_inside, short_name
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import WIDEST
from tb_dataplugin.ranks import OwnerRow, RankRow, RunOfRanks, clock_sentence, verdict_of
from tb_dataplugin.ranks.clocks import Clock
from tb_dataplugin.shown import shown
from tb_dataplugin.units import TimeUnit, count, duration, in_unit, percent, plural, unit_for

SCHEMA_VERSION: Final = 1
MOST_OWNERS: Final = 10
MOST_OF_HOST: Final = 19
"""Columns."""
MOST_RANKS: Final = 64
"""Rows of a table; what is left out is counted."""

_JOINED: Final = {"number": "their numbers", "step": "step and place in it", "order": "their order"}


def as_text(run: RunOfRanks, style: Style) -> str:
    return style.legible("\n".join(line.rstrip() for line in _lines(run, style)))


def _lines(run: RunOfRanks, style: Style) -> Iterator[str]:
    yield style.bold(fit(f"ranks   {shown(run.name)}", WIDEST))
    yield style.rule * WIDEST
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
    columns = f"{f'step, {steps.name}':>12}{f'data wait, {steps.name}':>16}{f'inherited in all, {lost.name}':>23}"
    shown_rows = run.rows if len(run.rows) <= MOST_RANKS else _worst(run)
    wide = max(4, *(min(MOST_OF_HOST, len(shown(row.host))) for row in shown_rows))
    yield f"  {'rank':>5}  {'host':<{wide}}{columns}  capture"
    for row in shown_rows:
        yield _rank(row, wide, steps, lost)
    if len(shown_rows) < len(run.rows):
        yield f"  {count(len(run.rows) - len(shown_rows))} more ranks are in the JSON."


def _worst(run: RunOfRanks) -> tuple[RankRow, ...]:
    """Owners first, then by what they inherited."""
    owned: dict[int, float] = {}
    for row in run.owners:
        owned[row.rank] = owned.get(row.rank, 0.0) + row.lost_us
    ordered = sorted(run.rows, key=lambda row: (-owned.get(row.rank, 0.0), -row.inherited_us))
    return tuple(ordered[:MOST_RANKS])


def _rank(row: RankRow, wide: int, steps: TimeUnit, lost: TimeUnit) -> str:
    numbers = f"{in_unit(row.step_us, steps):>12}{in_unit(row.data_wait_us, steps):>16}"
    inherited = f"{in_unit(row.inherited_us, lost):>23}"
    begin = f"  {row.rank:>5}  {fit(shown(row.host), wide):<{wide}}{numbers}{inherited}  "
    return begin + cut_inside(shown(short_name(row.capture)), WIDEST - len(begin))


def _owners(run: RunOfRanks) -> Iterator[str]:
    unit = unit_for(row.lost_us for row in run.owners)
    yield f"  {'owner':>5}  {'cause':<40}{f'lost, {unit.name}':>12}{'of rank time':>14}  pattern"
    for row in run.owners[:MOST_OWNERS]:
        yield _owner(run, row, unit)
    rest = run.owners[MOST_OWNERS:]
    if rest:
        yield f"  {plural(len(rest), 'more owner')}: {duration(sum(row.lost_us for row in rest))} together"


def _owner(run: RunOfRanks, row: OwnerRow, unit: TimeUnit) -> str:
    share = percent(row.lost_us / run.whole_us if run.whole_us else None)
    return f"  {row.rank:>5}  {fit(shown(row.cause), 39):<40}{in_unit(row.lost_us, unit):>12}{share:>14}  {row.pattern}"


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
