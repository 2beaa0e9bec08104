"""An evaluation's DataLoader starts its workers anew each time: it is made anew, or has no persistent workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.findings.elsewhere import saved_elsewhere
from tb_dataplugin.findings.evidence import Evidence, number, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.init_texts import init_advice, init_part
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.started_signals import StartedSignals
from tb_dataplugin.findings.step_work import costly_passes
from tb_dataplugin.findings.worker_copies import KEPT
from tb_dataplugin.units import count, duration

ONCE: Final = "Make this DataLoader once, before the loop, with persistent_workers=True"
KEEP: Final = "Give this DataLoader persistent_workers=True"
LIVE_ON: Final = ": its workers then live on from one pass to the next, and so does the memory that they take."
MEASURED: Final = "The waits are measured. What a pass takes with workers that live on was not."
REASON: Final = "The waits are measured. What making the iterators takes is estimated, at its upper end."
HELD: Final = "If the program holds several DataLoaders that are alike, and iterates each once, nothing starts again."


@rule(title="DataLoader workers started for each evaluation", about="others")
def check(signals: Signals) -> Finding | None:
    """Of several, the one that costs most."""
    started = costly_passes(signals)
    if started is None:
        return None
    where = f" ({started.place})" if started.place else ""
    reason = REASON if started.making_us else MEASURED
    saving = saved_elsewhere(signals, started.us)
    once = "  # once, before the loop" if started.is_made_anew else ""
    return Finding(
        severity=severity(signals, signals.per_step(min(started.certain_us, saving.us)), otherwise_us=0.0),
        title=f"DataLoader workers of {name_of(started.loader)} start anew for each of {count(started.passes)} passes "
        f"over it, inside steps of the loop{where}",
        advice=f"{ONCE if started.is_made_anew else KEEP}{LIVE_ON}{KEPT}"
        f"{init_advice(started.loader, started.init_us, started.wait_us)}",
        evidence=(*_evidence(started), *saving.why),
        gain_us_per_step=signals.per_step(saving.us),
        code=f"loader = DataLoader(..., num_workers={started.loader.num_workers}, persistent_workers=True){once}",
        of_loader=started.loader,
        confidence="likely" if started.is_certain else "possible",
        confidence_reason=reason if started.is_certain else f"{HELD} {reason}",
    )


def _evidence(started: StartedSignals) -> Iterator[Evidence]:
    if started.is_made_anew:
        text = f"{count(started.made)} DataLoaders with the same settings, one after another"
        yield number("loaders_made", started.made, "count", text)
    wait, making, all_of_it = (
        duration(part / started.passes) for part in (started.wait_us, started.making_us, started.us)
    )
    inside = init_part(started.init_us / started.passes, started.wait_us / started.passes)
    text = f"{wait} per pass until its workers gave a first batch, without building that, and until they had ended"
    text = f"{text}, {inside}" if inside else text
    yield time("started_wait", started.wait_us, text)
    if started.making_us:
        yield time("iterators_made", started.making_us, f"making the iterator takes up to {making} per pass")
    if started.us < started.wait_us + started.making_us:
        text = f"together up to {all_of_it} per pass: these steps take no more than that longer than the others"
        yield time("started_again", started.us, text)
