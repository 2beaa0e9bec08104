"""A generator or iterator between the DataLoader and the loop takes much of the step, in the training thread."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.findings import collecting
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.fed import another_makes
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.line_signals import AroundSignal, interval
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.step_work import around_loader
from tb_dataplugin.findings.thresholds import HOT_LINE
from tb_dataplugin.findings.who_builds import around_advice
from tb_dataplugin.units import percent, plural

CODE = """def collate(samples):
    return augment(default_collate(samples))  # instead of in the loop: DataLoader workers do it

loader = DataLoader(dataset, collate_fn=collate, num_workers=...)"""


@rule(title="Code around the DataLoader", about="delivery")
def check(signals: Signals) -> Finding | None:
    around = around_loader(signals)
    if around is None:
        return None
    saving = until_workers_limit(signals, around.part.share * signals.window_us)
    gain = signals.per_step(saving.us)
    collects = collecting.is_collecting(around.line)
    is_known = around.line is not None and around.line.share >= HOT_LINE
    waits = another_makes(signals, around.line.calls) if around.line is not None and is_known else ""
    takes = "keeps the device idle for" if signals.has_device else "takes"
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"{around.name} {takes} {percent(around.part.share)} of the window",
        advice=collecting.ADVICE if collects else waits or around_advice(signals),
        evidence=(*_evidence(around), *saving.why),
        gain_us_per_step=gain,
        code=collecting.FREEZE if collects else "" if waits else CODE,
    )


def _evidence(around: AroundSignal) -> Iterator[Evidence]:
    samples = plural(around.part.samples, "stack sample")
    yield share(
        "around_loader",
        around.part.share,
        "window",
        f"{around.words}: {percent(around.part.share)} of the window, {interval(around.part)}, from {samples}",
        around.name,
    )
    line = around.line
    if line is not None and line.share >= HOT_LINE:
        text = f"{line.text}: {percent(line.share)} of that"
        yield share("hot_line", line.share, around.name, text, around.name)
