"""Building batches from samples caused a large part of the data wait."""

from __future__ import annotations

import re
from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.findings import in_memory
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import stage_line
from tb_dataplugin.findings.in_memory import is_in_memory
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_finding import line_advice
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import HEAVY_PART, ONE_LINE
from tb_dataplugin.units import duration, percent, plural

ADVICE: Final = (
    "Return tensors of one shape and dtype from the dataset, so that collate only stacks them into one block of shared "
    "memory; pad or convert per sample, or once on the device. Where batches are padded here, allocate them once "
    "and fill their slices."
)
CODE: Final = "batch = torch.zeros(len(samples), longest, ...)  # once; then batch[i, : len(sample)] = sample"

OF_LINE: Final = (
    "Do that less often, keep what does not change between calls, use array operations over the whole batch, or do it "
    "on the device."
)

_JOINS: Final = re.compile(
    r"\b(?:stack|cat|concatenate|pad\w*|zeros|empty|full|tensor|as_tensor|from_numpy|copy_)\(|\] = "
)
"""In a line that puts samples together, which the advice is about."""


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
    computes = _computes(signals, wait.stage)
    saving = saved_without(signals, rows, wait.cost_us)
    gain = signals.per_step(saving.us) if signals.mode != "replay" else None
    return Finding(
        severity=severity(signals, gain, otherwise_us=wait.cost_us),
        title=f"{wait.name} caused {percent(wait.share)} of the {signals.own_wait}",
        advice=in_memory.ADVICE if whole else computes or ADVICE,
        stage=wait.name,
        evidence=(*map(_calls, rows[:1]), *stage_line(signals, wait.name), *(saving.why if gain else ())),
        gain_us_per_step=gain,
        code=in_memory.code_for(signals) if whole else "" if computes else CODE,
    )


def _computes(signals: Signals, stage: Stage | None) -> str:
    """What to do where one line has most of it that does not put samples together; "" elsewhere."""
    line = None if stage is None else signals.stage_lines.get(stage.name)
    if stage is None or line is None or line.share < ONE_LINE or _JOINS.search(f"{line.source} {line.calls}("):
        return ""
    return line_advice(signals, stage, OF_LINE)
