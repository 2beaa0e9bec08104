"""Whole runs, a row each: which one to look at first, and what stands out in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.export.paragraphs import wrap
from tb_dataplugin.export.summary_text import NAME, NAMES_SHARE, ROWS, VERDICT, cut_inside, with_verdict
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.terminal import PLAIN, Style
from tb_dataplugin.export.width import as_wide_as, columns, room
from tb_dataplugin.shown import shown
from tb_dataplugin.units import UNKNOWN, duration, percent, plural
from tb_dataplugin.watchfile.reading import Run
from tb_dataplugin.watchfile.sentences import run_in_short
from tb_dataplugin.watchfile.stepless import NO_STEP, why_no_step
from tb_dataplugin.watchfile.summary import Summary, summary_of

COLUMNS: Final = (Column("data wait", 11), Column("step", 9, 1), Column("outside", 9, 2))
STANDS_OUT: Final = "what stands out"


def runs_summary(runs: Sequence[Run], style: Style = PLAIN) -> str:
    """A heading, a table, and what its columns mean; empty for none."""
    with as_wide_as(style.width):
        lines = list(_lines(runs, style)) if runs else []
    return style.legible("\n".join(line.rstrip() for line in lines))


def _lines(runs: Sequence[Run], style: Style) -> Iterator[str]:
    known = [(run, summary_of(run)) for run in runs]
    rows = sorted(known, key=lambda row: _by_wait(row[1]))
    names = [_name(run) for run, _ in rows]
    kept = with_room(COLUMNS, columns() - 2 - NAME)
    longest = max(NAME, min(max(map(len, names)) + 2, int(NAMES_SHARE * columns())))
    wide = min(longest, columns() - 2 - sum(column.width for column in kept))
    head = f"  {'':<{wide}}{heads(kept)}  "
    is_beside = room() - len(head) >= VERDICT
    order = ", worst first: by the data wait" if len(runs) > 1 else ""
    yield style.bold(f"{plural(len(runs), 'whole run')}{order}")
    yield f"{head}{STANDS_OUT}" if is_beside else head
    for name, (run, summary) in list(zip(names, rows, strict=True))[:ROWS]:
        numbers = f"  {cut_inside(name, wide - 1):<{wide}}{cells(kept, _texts(summary))}  "
        says = f"{NO_STEP}: {why_no_step(run)}" if summary is None else shown(run_in_short(summary))
        yield from with_verdict(numbers, (), says, is_beside=is_beside)
    if len(rows) > ROWS:
        yield f"  and {len(rows) - ROWS} more"
    if not is_beside:
        yield from wrap(f"below each: {STANDS_OUT}", "  ")
    outside = any(column.head == "outside" for column in kept)
    means = "data wait: of the step time; step: mean" + ("; outside: share of the run outside of steps" * outside)
    yield from wrap(means, "  ")
    yield ""


def _name(run: Run) -> str:
    return shown(f"{run.folder}{'' if run.rank is None else f', rank {run.rank}'}")


def _by_wait(summary: Summary | None) -> float:
    """The largest data wait first, what is unknown last."""
    share = None if summary is None else summary.data_wait_share
    return 1.0 if share is None else -share


def _texts(summary: Summary | None) -> dict[str, str]:
    """By column."""
    if summary is None:
        return dict.fromkeys((column.head for column in COLUMNS), UNKNOWN)
    outside = None if summary.outside is None else summary.outside.share
    return {
        "data wait": percent(summary.data_wait_share),
        "step": duration(summary.step_us),
        "outside": percent(outside),
    }
