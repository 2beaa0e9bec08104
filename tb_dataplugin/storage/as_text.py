"""The probe for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.export.paragraphs import page, title, wrap
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import columns
from tb_dataplugin.shown import shown
from tb_dataplugin.storage.judging import Judgement
from tb_dataplugin.storage.probing import ROUNDS, Probed, Series
from tb_dataplugin.units import data_size, duration, plural, significant

COLD: Final = {
    "yes": "Cold: these files were dropped from the page cache first, and checked to be gone.",
    "no": "These files could not be dropped from the page cache (in-memory and some network file systems do not allow "
    'it): "cold" below is warm.',
    "unknown": "The page cache was asked to drop these files; whether it did is unknown on this system.",
}

COLUMNS: Final = (
    Column("read from", 22, align="<"),
    Column("order", 12, 1, "<"),
    Column("", 6, align="<"),
    Column("readers", 7, 2),
    Column("samples/s", 11),
    Column("  rounds", 19, 5, "<"),
    Column("p50", 9, 4),
    Column("p95", 9, 3),
)


def as_text(probed: Probed, judgements: Sequence[Judgement], needs: Sequence[str], style: Style) -> str:
    return page(_lines(probed, judgements, needs, style), style)


def _lines(probed: Probed, judgements: Sequence[Judgement], needs: Sequence[str], style: Style) -> Iterator[str]:
    samples = probed.samples
    chosen = f"{plural(len(samples.chosen), 'sample file')} of {samples.count:,}"
    sizes = f"{data_size(samples.chosen_size)} of {data_size(samples.size)}"
    yield from title(f"probe-storage   {chosen}, {sizes}", style)
    yield from wrap(f"{COLD[probed.cold]} {ROUNDS} rounds; the median, and the lowest and highest.", "")
    yield ""
    kept = with_room(COLUMNS, columns() - 2)
    yield f"  {heads(kept)}"
    yield from (f"  {cells(kept, _texts(series))}" for series in probed.series if series.reads)
    yield ""
    for judgement in judgements:
        yield from wrap(judgement.sentence, "  ", "    ")
    for sentence in needs:
        yield from wrap(sentence, "  ", "    ")
    for note in probed.notes:
        yield from wrap(shown(note), "  ", "    ")
    if probed.interrupted:
        yield "  Interrupted: later rounds are missing."


def _texts(series: Series) -> dict[str, str]:
    """By column."""
    rates, median = series.rates, series.median
    return {
        "read from": series.layout,
        "order": series.order,
        "": "cold" if series.is_cold else "warm",
        "readers": str(series.readers),
        "samples/s": significant(series.per_s),
        "  rounds": f"  {significant(rates[0])} to {significant(rates[-1])}",
        "p50": duration(1e6 * median.latency_s(50)),
        "p95": duration(1e6 * median.latency_s(95)),
    }
