"""A few samples take many times the time of the others, and batches wait for them."""

from __future__ import annotations

from tb_dataplugin.analyses.samples import SlowSample
from tb_dataplugin.analyses.stages import StageRow
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, NO_CORE, SLOW_SAMPLE, SLOW_SAMPLES_TOGETHER
from tb_dataplugin.units import duration, percent

RULE = "slow_samples"
SHOWN = 5


def check(signals: Signals) -> Finding | Abstention | None:
    row = _samples(signals)
    if row is None or not signals.is_input_bound(INPUT_BOUND) or not signals.felt_us or signals.mode != "train":
        return None
    slow = [one for one in signals.slow_samples if one.duration_ns >= SLOW_SAMPLE * row.p50_ns]
    excess = sum(one.duration_ns - row.p50_ns for one in slow) / 1e3
    felt = min(signals.felt_us, excess)
    if not slow or felt < SLOW_SAMPLES_TOGETHER * signals.felt_us or 2 * len(slow) >= row.count:
        return None
    costs = signals.evidence.costs
    if not isinstance(costs, Unavailable) and (costs.run_delay or 0.0) >= NO_CORE:
        return Abstention(RULE, "workers often had no core, so a slow sample may only have waited for one")
    gain = signals.per_step(felt)
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=felt),
        title=f"{len(slow)} of {row.count} samples take {SLOW_SAMPLE:g} times the median or more",
        advice="Look at these samples: huge or damaged files, long sequences, retries. Batches are handed over in "
        "order, so one slow sample holds up all that follow.",
        stage=slow[0].stage,
        evidence=(
            f"median {duration(row.p50_ns / 1e3)}; together they take {duration(excess)} more than that",
            *map(_told, slow[:SHOWN]),
        ),
        gain_us_per_step=gain,
        confidence="likely",
        confidence_reason="at most the excess of the slowest samples is counted; part of it may be hidden by the queue",
    )


def _told(one: SlowSample) -> str:
    share = percent(one.stage_ns / one.duration_ns)
    return f"index {one.index}: {duration(one.duration_ns / 1e3)}, {share} in {one.stage}"


def _samples(signals: Signals) -> StageRow | None:
    rows = [row for row in signals.rows if row.stage.kind == "sample"]
    return max(rows, key=lambda row: row.count, default=None)
