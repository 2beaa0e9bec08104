"""Not data: the host launches operators more slowly than the device finishes them."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HOST_LATE, ONE_CALL
from tb_dataplugin.units import duration, percent, plural

CODE = """step = torch.compile(train_step, mode="reduce-overhead")  # CUDA graphs
optimizer = torch.optim.SGD(model.parameters(), lr, foreach=True)  # or fused=True"""


def check(signals: Signals) -> Finding | None:
    launch = max(0.0, signals.idle_by_cause_us.get("launch", 0.0) - signals.queued_us)
    python = max(0.0, signals.idle_by_cause_us.get("host", 0.0) - signals.long_pauses_us)
    if signals.wait_us is None:
        python = 0.0  # it may be a wait for data that nothing marks
    late = launch + python
    share = signals.share(late)
    if share is None or share < HOST_LATE or launch < python:
        return None
    if signals.longest_launch_us >= ONE_CALL * late:
        return _once(signals, late)
    gain = signals.per_step(late)
    return Finding(
        rule="launch_bound",
        severity=severity(signals, gain, otherwise_us=late),
        title=f"The device waits for launches for {percent(share)} of the window, not for data",
        advice="Leave the DataLoader alone for this part. Launch less, or all at once: CUDA graphs or torch.compile, "
        "fused or foreach optimizers, larger batches.",
        evidence=(
            f"{duration(launch)} in operators and runtime calls",
            f"{duration(python)} in Python between them" if python else "",
            f"{plural(signals.gap_count, 'gap')} in all",
        ),
        gain_us_per_step=gain,
        code=CODE,
    )


def _once(signals: Signals, late: float) -> Finding:
    return Finding(
        rule="launch_bound",
        severity="low",
        title=f"A single launch kept the device waiting for {duration(signals.longest_launch_us)}",
        advice="First use initialises the device, loads kernels, compiles or tunes. Capture after a few warm-up steps "
        "to see what remains.",
        evidence=(f"{percent(signals.longest_launch_us / late)} of all such time, {duration(late)}",),
        confidence="likely",
        confidence_reason="that it was a first use follows from its length, not from a record",
    )
