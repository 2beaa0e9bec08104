"""Not data: the host waits for the device, and the device then waits for the host."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import training_line
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import DRAINED
from tb_dataplugin.units import duration, percent, plural

CODE = """if step % 100 == 0:
    print(loss.item())  # .item(), .cpu(), print(tensor), nonzero() and boolean masks make the host wait"""


@rule(title="Synchronising calls", about="host")
def check(signals: Signals) -> Finding | None:
    syncs = signals.syncs
    share = None if syncs is None else signals.share(syncs.drained_us)
    if syncs is None or share is None or share < DRAINED:
        return None
    gain = signals.per_step(syncs.drained_us)
    names = ", ".join(f"{name} ({count})" for name, count in syncs.inside[:3])
    return Finding(
        severity=severity(signals, gain, otherwise_us=syncs.drained_us),
        title=f"After {plural(syncs.calls, 'synchronising call')} the device is idle for {percent(share)} of the "
        "window",
        advice="Let the host run ahead: read values back less often, keep counts and masks on the device, and leave "
        "out torch.cuda.synchronize().",
        evidence=(
            time("sync_wait", syncs.waited_us, f"the host was blocked for {duration(syncs.waited_us)}"),
            Evidence("sync_operators", f"in {names}"),
            *training_line(signals, "sync"),
        ),
        gain_us_per_step=gain,
        code=CODE,
    )
