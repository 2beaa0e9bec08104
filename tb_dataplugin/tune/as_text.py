"""The ledger for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.export.paragraphs import fit, page, title, wrap
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import columns
from tb_dataplugin.shown import shown
from tb_dataplugin.tune.pairs import Ratio
from tb_dataplugin.tune.remainder import undecided
from tb_dataplugin.tune.script import Script
from tb_dataplugin.tune.search import MEASURE_AGAIN, NOTHING_LEFT, Outcome, Row, step_of
from tb_dataplugin.tune.server import Program
from tb_dataplugin.tune.setting import IN_ORDER, PIN, THREADS, Changes
from tb_dataplugin.tune.tuning import Tuned
from tb_dataplugin.units import UNKNOWN, TimeUnit, change, duration, in_unit, interval, percent, significant, unit_for

CHANGES, SHORTEST_CHANGES = 40, 20
"""Columns."""

NONE_FREE: Final = "No CPU was free for more DataLoader workers"


def as_text(tuned: Tuned, style: Style) -> str:
    return page(_lines(tuned, style), style)


def _lines(tuned: Tuned, style: Style) -> Iterator[str]:
    outcome = tuned.outcome
    yield from title(f"tune   {shown(tuned.program.target)}", style)
    yield from wrap(f"{_step_text(tuned.program)} {_before(outcome)}", "")
    yield ""
    yield from _ledger(outcome)
    yield ""
    yield from wrap(_after(outcome), "")
    yield from wrap(f"The search ended: {outcome.stopped}.", "")
    if outcome.best:
        yield ""
        yield from _advice(tuned)
    if tuned.remainder is not None:
        yield ""
        yield from wrap(shown(tuned.remainder.sentence), "")
    for note in tuned.notes:
        yield from wrap(shown(note), "")


def _step_text(program: Program | Script) -> str:
    if isinstance(program, Script):
        return program.about
    copies = f" Batches are copied to {shown(program.device)}." if program.device else ""
    if not program.step_ms:
        return f"No training step was simulated: this is the loader's own throughput.{copies}"
    return f"{program.step_text}{copies}"


def _before(outcome: Outcome) -> str:
    step = step_of(outcome.unchanged)
    size = outcome.facts.batch_size
    rate = "" if not size else f", {significant(size / step)} samples/s"
    waits = sum(one.wait for one in outcome.unchanged) / sum(one.total for one in outcome.unchanged)
    return f"Unchanged: {duration(step * 1e6)} per step{rate}, data wait {percent(waits)}."


def _ledger(outcome: Outcome) -> Iterator[str]:
    if not outcome.rows:
        yield "  No other setting was measured."
        return
    unit = unit_for(row.step_s * 1e6 for row in outcome.rows if row.step_s is not None)
    table = (
        Column(f"step, {unit.name}", 9, 2),
        Column("predicted", 11, 3),
        Column("measured", 10),
        Column("  95% interval", 19, 1, "<"),
        Column("  kept", 6, align="<"),
    )
    room = columns() - 2
    kept = with_room(table, room - SHORTEST_CHANGES)
    wide = min(CHANGES, room - sum(column.width for column in kept))
    yield f"  {'change':<{wide}}{heads(kept)}"
    for row in outcome.rows:
        texts = dict(zip((column.head for column in table), _texts(row, unit), strict=True))
        yield f"  {fit(shown(row.changes.text), wide - 1):<{wide}}{cells(kept, texts)}"
        if not row.kept:
            yield from wrap(shown(_beside(row)), "      ")
    yield from wrap(
        "Predicted and measured: step time beside that of the best until then, in alternating windows.", "  "
    )


def _texts(row: Row, unit: TimeUnit) -> tuple[str, ...]:
    """By column."""
    step = UNKNOWN if row.step_s is None else in_unit(row.step_s * 1e6, unit)
    predicted = UNKNOWN if row.forecast is None or row.is_crowded else change(row.forecast.value - 1)
    measured, ends = _measured(row.ratio)
    return step, predicted, measured, f"  {ends}", "  yes" if row.kept else "  no" if row.ratio else ""


def _measured(ratio: Ratio | None) -> tuple[str, str]:
    if ratio is None:
        return UNKNOWN, UNKNOWN
    return change(ratio.value - 1), interval(ratio.low - 1, ratio.high - 1)


def _beside(row: Row) -> str:
    if row.ratio is None:
        return row.why
    there = "" if row.beside_step_s is None else f": {duration(row.beside_step_s * 1e6)} per step in turn with it"
    return f"{row.why} (beside {row.beside.text}{there})"


def _after(outcome: Outcome) -> str:
    if not any(row.ratio is not None for row in outcome.rows):
        return _untried(outcome)
    if not outcome.best:
        open_still = undecided(outcome)
        if open_still:
            return (
                f"No setting was faster beyond the noise, which was large: {shown(open_still)} may still be "
                "faster. Measure again when the machine is quieter, or with longer windows (--seconds)."
            )
        if outcome.leaves_crowded:
            return f"No setting was faster beyond the noise. {NONE_FREE}: {MEASURE_AGAIN}."
        return "No setting was faster beyond the noise. Leave the loader as it is."
    step = step_of(outcome.windows)
    text = (
        f"Best: {shown(outcome.best.text)}: {duration(step * 1e6)} per step, data wait {percent(outcome.wait_share)}."
    )
    total, theirs = outcome.total, any(row.is_crowded and row.kept for row in outcome.rows)
    others = f" {NONE_FREE}, so programs beside it may lose what it gains." if theirs else ""
    if total is None:
        return f"{text}{others} There was no time to measure it beside the unchanged loop."
    ends = interval(total.low - 1, total.high - 1)
    sure = "" if total.is_faster else " Side by side, the difference is within the noise: do not count on it."
    return f"{text} Step time beside the unchanged loop: {change(total.value - 1)} (95% interval {ends}).{sure}{others}"


def _untried(outcome: Outcome) -> str:
    if outcome.rows or outcome.stopped != NOTHING_LEFT:
        return "Nothing is known of other settings."
    if outcome.facts.undivided:
        return "No other setting was tried."
    return "No other setting was tried: none is predicted to gain as much as such windows show."


def _advice(tuned: Tuned) -> Iterator[str]:
    best = tuned.outcome.best
    if tuned.diff:
        yield "Apply:"
        yield ""
        for line in tuned.diff.splitlines():
            yield f"  {shown(line, keep=chr(9))}"
    else:
        yield "Change these keywords of the DataLoader:"
        yield ""
        for name, value in best:
            if name != THREADS:
                yield f"  {name}={value!r}"
    yield from _further(best, iterable=tuned.outcome.facts.iterable)


def _further(best: Changes, *, iterable: bool) -> Iterator[str]:
    """What a keyword alone does not say."""
    if best.get(THREADS) is not None:
        number = best.get(THREADS)
        text = (
            f"worker_init_fn: call cv2.setNumThreads({number}) where OpenCV is used. For numpy and scipy, set "
            f"OPENBLAS_NUM_THREADS={number} in the environment."
        )
        yield from wrap(text, "  ")
    if best.get(IN_ORDER) is False:
        yield from wrap("in_order=False: batches come in another order each time; leave it where that matters.", "  ")
        if iterable:
            text = (
                "The dataset is iterable, and each DataLoader worker has to deliver its own part: batches of quick "
                "workers come first, and what the windows gained may be waited for at the end of the epoch."
            )
            yield from wrap(text, "  ")
    if best.get(PIN):
        yield from wrap("pin_memory=True: copy with .to(device, non_blocking=True).", "  ")
