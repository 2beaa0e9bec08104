"""A transform throws away most of what was read and decoded, where the data are fast enough anyway."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.kept_parts import is_certain, keeps
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.sequence import sequences
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, THROWN_AWAY
from tb_dataplugin.units import percent


@rule(title="Bytes that are decoded and not used", about="samples", replay=True)
def check(signals: Signals) -> Finding | None:
    """Where the loop waits for data, `shrink_first` says the same with its gain."""
    if signals.is_input_bound(INPUT_BOUND):
        return None
    steps = [step for sequence in sequences(signals.stages) for step in sequence if step.shrinks]
    known = [(step.ratio, step) for step in steps if step.ratio is not None and step.ratio <= THROWN_AWAY]
    if not known:
        return None
    of_parts = [pair for pair in known if is_certain(signals, pair[1]) and keeps(signals, pair[1])]
    ratio, step = min(of_parts or known, key=lambda pair: pair[0])
    name, kept = step.calls.stage.label, percent(ratio)
    text = f"{name} returns {kept} of the bytes it gets"
    is_known = signals.wait_cost_us is not None
    waits = "The loop does not wait for it now." if is_known else "Whether the loop waits for it is unknown."
    less = "storing the samples smaller, or decoding only what is kept, would free CPUs and storage."
    advice = less[0].upper() + less[1:] if of_parts else f"If {name} only keeps a part of them, {less}"
    return Finding(
        severity="low",
        title=f"{name} keeps {kept} of what was read and decoded" if of_parts else text,
        advice=f"{waits} {advice}",
        stage=step.calls.stage.name,
        evidence=(share("bytes_kept", ratio, "bytes", text, step.calls.stage.name),),
        confidence="measured" if of_parts else "possible",
        confidence_reason="" if of_parts else "Only sizes were recorded, not what is in the data.",
    )
