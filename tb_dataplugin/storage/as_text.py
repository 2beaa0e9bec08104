"""The probe for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.export.paragraphs import fit, wrap
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import WIDEST
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


def as_text(probed: Probed, judgements: Sequence[Judgement], needs: Sequence[str], style: Style) -> str:
    return style.legible("\n".join(line.rstrip() for line in _lines(probed, judgements, needs, style)))


def _lines(probed: Probed, judgements: Sequence[Judgement], needs: Sequence[str], style: Style) -> Iterator[str]:
    samples = probed.samples
    chosen = f"{plural(len(samples.chosen), 'sample file')} of {samples.count:,}"
    sizes = f"{data_size(samples.chosen_size)} of {data_size(samples.size)}"
    yield style.bold(fit(f"probe-storage   {chosen}, {sizes}", WIDEST))
    yield style.rule * WIDEST
    yield from wrap(f"{COLD[probed.cold]} {ROUNDS} rounds; the median, and the lowest and highest.", "")
    yield ""
    yield f"  {'read from':<22}{'order':<12}{'':<6}{'readers':>7}{'samples/s':>11}  {'rounds':<17}{'p50':>9}{'p95':>9}"
    for series in probed.series:
        if series.reads:
            yield _row(series)
    yield ""
    for judgement in judgements:
        yield from wrap(judgement.sentence, "  ", "    ")
    for sentence in needs:
        yield from wrap(sentence, "  ", "    ")
    for note in probed.notes:
        yield from wrap(shown(note), "  ", "    ")
    if probed.interrupted:
        yield "  Interrupted: later rounds are missing."


def _row(series: Series) -> str:
    rates, median = series.rates, series.median
    between = f"{significant(rates[0])} to {significant(rates[-1])}"
    state = "cold" if series.is_cold else "warm"
    latency = (duration(1e6 * median.latency_s(percentile)) for percentile in (50, 95))
    name = f"  {series.layout:<22}{series.order:<12}{state:<6}{series.readers:>7}{significant(series.per_s):>11}"
    return f"{name}  {between:<17}{next(latency):>9}{next(latency):>9}"
