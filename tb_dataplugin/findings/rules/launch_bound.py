"""Not data: the host launches operators more slowly than the device finishes them."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.device_signals import LoneGaps
from tb_dataplugin.findings.evidence import Evidence, number, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import training_line
from tb_dataplugin.findings.lone_gaps import gaps_text, inside_text
from tb_dataplugin.findings.of_profiler import of_profiler
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HOST_LATE, ONE_CALL
from tb_dataplugin.units import duration, percent, plural

CODE = """step = torch.compile(train_step, mode="reduce-overhead")  # CUDA graphs
optimizer = torch.optim.SGD(model.parameters(), lr, foreach=True)  # or fused=True"""

PROFILED: Final = "torch's profiler slows launches; how much of this it is was not measured."
MAYBE_LOADING: Final = "The trace has no DataLoader spans: some of these operators may prepare data."
NOT_THE_LOADER: Final = "The DataLoader is not the cause of this part. Launch"
IF_NOT_LOADING: Final = "If these operators are the training step's, not a loader's: launch"


@rule(title="Slow launches", about="host")
def check(signals: Signals) -> Finding | None:
    launch = max(0.0, signals.idle.by_cause_us.get("launch", 0.0) - signals.idle.launched_early_us)
    python = max(0.0, signals.idle.by_cause_us.get("host", 0.0) - signals.idle.long_pauses_us)
    if signals.data_wait_us is None:
        python = 0.0  # it may be data wait that nothing marks
    late = launch + python
    late_share = signals.share(late)
    if late_share is None or late_share < HOST_LATE or launch < python or signals.lock_limits_host:
        return None
    lone = signals.idle.lone.get("launch")
    if lone is not None and lone.us >= ONE_CALL * late:
        return _once(lone, late)
    saving = until_workers_limit(signals, late)
    gain = signals.per_step(saving.us)
    is_step = signals.data_wait_us is not None
    reasons = (PROFILED if signals.slows_launches else "", "" if is_step else MAYBE_LOADING)
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"The device waits for the host{', not for data,' * is_step} for {_shares(signals, launch, python)}",
        advice=f"{NOT_THE_LOADER if is_step else IF_NOT_LOADING} fewer operators, or many at once: CUDA graphs "
        "or torch.compile, fused or foreach optimizers, larger batches.",
        evidence=(*_evidence(signals, launch, python), *saving.why, *of_profiler(signals, gain)),
        gain_us_per_step=gain,
        code=CODE,
        confidence="possible" if not is_step else "likely" if signals.slows_launches else "measured",
        confidence_reason=" ".join(filter(None, reasons)),
    )


def _shares(signals: Signals, launch: float, python: float) -> str:
    """Each part by its own share, so that the launches have the one that the verdict has."""
    launches = f"{percent(signals.share(launch) or 0.0)} of the window in launches"
    return f"{launches} and {percent(signals.share(python) or 0.0)} in Python between them" if python else launches


def _evidence(signals: Signals, launch: float, python: float) -> tuple[Evidence, ...]:
    between = time("idle_host", python, f"{duration(python)} in Python between them")
    gaps, lone = signals.idle.gap_count, signals.idle.lone.get("launch")
    alone = "" if lone is None else f"; {percent(lone.share)} of these {gaps_text(lone)}"
    return (
        time("idle_launch", launch, f"{duration(launch)} in operators and runtime calls{alone}"),
        *((between,) if python else ()),
        number("gaps", gaps, "count", f"{plural(gaps, 'idle gap')} of the device in all"),
        *training_line(signals, "launch"),
    )


def _once(lone: LoneGaps, late: float) -> Finding:
    part = f"{percent(lone.us / late)} of the {duration(late)} for which the device waited for launches"
    inside = f"in that gap {inside_text(lone)}"
    is_single = lone.count == 1
    first = "it was a first use" if is_single else "they were first uses"
    return Finding(
        severity="low",
        title=f"{'A single launch' if is_single else f'{lone.count} launches'} kept the device waiting for "
        f"{duration(lone.us)}",
        advice="The first use initialises the device, loads kernels, compiles or tunes. Capture after a few warm-up "
        "steps to see what remains.",
        evidence=(
            share("longest_launch", lone.us / late, "idle: launch", part),
            *((time("inside_launch", lone.inside_us, inside),) if lone.inside else ()),
        ),
        confidence="likely" if is_single or lone.has_steps else "possible",
        confidence_reason=f"That {first} is inferred from {'its' if is_single else 'their'} length.",
    )
