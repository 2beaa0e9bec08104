"""Building batches from samples caused a large part of the data wait."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings import in_memory
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import stage_line
from tb_dataplugin.findings.in_memory import is_in_memory
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import HEAVY_PART
from tb_dataplugin.units import duration, percent, plural

ADVICE: Final = (
    "Return tensors of one shape and dtype from the dataset, so that collate only stacks them into one block of shared "
    "memory; pad or convert per sample, or once on the device. Where batches are padded here, allocate them once "
    "and fill their slices."
)
CODE: Final = "batch = torch.zeros(len(samples), longest, ...)  # once; then batch[i, : len(sample)] = sample"


def _calls(calls: StageCalls) -> Evidence:
    mean = calls.total_us / calls.count
    text = f"{plural(calls.count, 'call')} of {duration(mean)} on average"
    return time("call_time", mean, text, whole="call", stage=calls.stage.name)


@rule(title="Slow collate", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    waits = (wait for wait in signals.waits_by_stage or () if wait.stage is not None and wait.stage.kind == "collate")
    wait = next(waits, None)
    if wait is None or wait.share < HEAVY_PART:
        return None
    whole, samples = is_in_memory(signals), signals.wait_for_kinds("sample")
    if whole and samples is not None and samples.share >= HEAVY_PART:  # the finding about them says the same
        return None
    rows = [calls for calls in signals.stages if calls.stage == wait.stage]
    saving = saved_without(signals, rows, wait.cost_us)
    gain = signals.per_step(saving.us) if signals.mode != "replay" else None
    return Finding(
        severity=severity(signals, gain, otherwise_us=wait.cost_us),
        title=f"{wait.name} caused {percent(wait.share)} of the {signals.own_wait}",
        advice=in_memory.ADVICE if whole else ADVICE,
        stage=wait.name,
        evidence=(*map(_calls, rows[:1]), *stage_line(signals, wait.name), *(saving.why if gain else ())),
        gain_us_per_step=gain,
        code=in_memory.code_for(signals) if whole else CODE,
    )
