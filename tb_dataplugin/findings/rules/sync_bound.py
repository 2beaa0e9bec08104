"""Not data: the host waits for the device, and the device then waits for the host."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import DRAINED
from tb_dataplugin.units import duration, percent, plural

CODE = """if step % 100 == 0:
    print(loss.item())  # .item(), .cpu(), print(tensor), nonzero() and masks by bool make the host wait"""


def check(signals: Signals) -> Finding | None:
    syncs = signals.evidence.syncs
    share = None if syncs is None else signals.share(syncs.drained_ns / 1e3)
    if syncs is None or share is None or share < DRAINED:
        return None
    gain = signals.per_step(syncs.drained_ns / 1e3)
    named = ", ".join(f"{name} ({count})" for name, count in syncs.inside[:3])
    return Finding(
        rule="sync_bound",
        severity=severity(signals, gain, otherwise_us=syncs.drained_ns / 1e3),
        title=f"After {plural(syncs.calls, 'synchronising call')} the device idles for {percent(share)} of the window",
        advice="Let the host run ahead: read values back less often, keep counts and masks on the device, and leave "
        "out torch.cuda.synchronize().",
        evidence=(
            f"the host was blocked for {duration(syncs.waited_ns / 1e3)}",
            f"in {named}",
        ),
        gain_us_per_step=gain,
        code=CODE,
    )
