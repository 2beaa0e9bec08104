"""Not data: the training thread does something else between the steps, for long."""

from __future__ import annotations

import math
from typing import Final

from tb_dataplugin.analyses.line_rows import Z_95
from tb_dataplugin.findings import collecting
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import training_line
from tb_dataplugin.findings.line_signals import StepLineSignal
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.step_advice import advice_on, freed_by_pinning
from tb_dataplugin.findings.step_work import slow_lines
from tb_dataplugin.findings.thresholds import INPUT_BOUND, LONG_PAUSE_US
from tb_dataplugin.units import duration, percent, plural

_OF_LINE: Final = "Do what the line under Evidence does less often, or in another thread."
_UNKNOWN: Final = (
    "Mark what it does there (logging, metrics, checkpoints, moving data) with annotate.stage, then do it less often "
    "or in another thread."
)


@rule(title="Long pauses in Python", about="host")
def check(signals: Signals) -> Finding | None:
    pauses = signals.idle.long_pauses_us
    part = signals.share(pauses)
    if part is None or part < INPUT_BOUND or signals.lock_limits_host:
        return None
    saving = until_workers_limit(signals, pauses)
    gain = signals.per_step(saving.us)
    known = signals.data_wait_us is not None
    text = f"{duration(pauses)} in idle gaps in which that thread was in Python for at least {LONG_PAUSE_US / 1e3:g} ms"
    slow, collects = _slow_line(signals, pauses), collecting.is_collecting(signals.training_lines.get("host"))
    line = training_line(signals, "host") or _evidence(slow)
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"{signals.idle.of_window(part)} while the training thread is in Python",
        advice=collecting.ADVICE if collects else _advice(signals, slow, is_known=bool(line)),
        evidence=(
            time("long_pauses", pauses, text),
            *line,
            *saving.why,
            *freed_by_pinning(signals, slow, pauses),
        ),
        gain_us_per_step=gain,
        code=collecting.FREEZE if collects else "" if line else 'with annotate.stage("user", "logging"):\n    ...',
        confidence="measured" if known else "possible",
        confidence_reason="" if known else "The trace has no DataLoader spans: this time may be data wait.",
    )


def _advice(signals: Signals, slow: StepLineSignal | None, *, is_known: bool) -> str:
    if slow is not None and slow.work != "python":
        return advice_on(signals, slow)
    return _OF_LINE if is_known else _UNKNOWN


def _slow_line(signals: Signals, pauses_us: float) -> StepLineSignal | None:
    """The line that has most of these pauses for certain: one with so much of the idle time as they have at least half
    of, at the lower end of the interval by its samples.
    """
    line, idle_us = next(iter(slow_lines(signals)), None), signals.idle.total_us or 0.0
    if line is None or not line.part.samples:
        return None
    least = (line.idle_share or 0.0) * (1 - Z_95 / math.sqrt(line.part.samples))
    return line if least * idle_us >= pauses_us / 2 else None


def _evidence(line: StepLineSignal | None) -> tuple[Evidence, ...]:
    if line is None or line.idle_share is None:
        return ()
    text = f"{line.text}: {percent(line.idle_share)} of the idle time, by {plural(line.part.samples, 'stack sample')}"
    return (share("step_line", line.idle_share, "idle time", text),)
