"""Each DataLoader worker of an iterable dataset decodes all samples, and keeps its own part."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import number
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import ALL_FOR_EACH, EARLIER_WORTH
from tb_dataplugin.units import count, significant

CODE = """info = torch.utils.data.get_worker_info()
for number, item in enumerate(items):
    if info is not None and number % info.num_workers != info.id:
        continue  # before it is decoded
    yield decode(item)"""


@rule(title="Samples decoded by each DataLoader worker", about="workers", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | None:
    """By the calls of a decoder per sample that comes out: as many as there are DataLoader workers."""
    workers = signals.num_workers or 0
    sample = next((row for row in signals.stages if row.stage.kind == "sample" and not row.has_index), None)
    if sample is None or workers < 2:
        return None
    inside = [row for row in signals.stages if row.path[: len(sample.path)] == sample.path]
    decoder = max((row for row in inside if row.stage.kind == "decode"), key=lambda row: row.count, default=None)
    if decoder is None or abs(decoder.count / sample.count - workers) > ALL_FOR_EACH * workers:
        return None
    wasted = 1 - 1 / workers
    if signals.cost_of(inside) * wasted < EARLIER_WORTH * (signals.wait_cost_us or 0.0):
        return None
    return _finding(signals, decoder, sample, inside, wasted)


def _finding(
    signals: Signals, decoder: StageCalls, sample: StageCalls, inside: list[StageCalls], wasted: float
) -> Finding:
    saving = saved_without(signals, inside, part=wasted)
    gain = signals.per_step(saving.us)
    each = significant(decoder.count / sample.count)
    text = f"{count(decoder.count)} calls of {decoder.stage.name} for {count(sample.count)} samples: {each} per sample"
    return Finding(
        severity=severity(signals, None if gain is None else signals.per_step(saving.of_wait_us)),
        title=f"{decoder.stage.name} runs {each} times for each sample that comes out, as many times as there are "
        "DataLoader workers",
        advice="If each worker decodes all items and then keeps its own part, choose before decoding, or give each "
        "worker its own files.",
        stage=decoder.stage.name,
        evidence=(
            number("calls_per_sample", decoder.count / sample.count, "ratio", text, "sample", decoder.stage.name),
            *(() if gain is None else saving.why),
        ),
        gain_us_per_step=gain,
        code=CODE,
        confidence="possible",
        confidence_reason="Samples that are made of as many pictures would look the same.",
    )
