"""Not data: the host waits for the device, and the device then waits for the host."""

from __future__ import annotations

from tb_dataplugin.findings.device_signals import SyncSignals
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import training_line
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import DRAINED
from tb_dataplugin.units import duration, percent, plural

CODE = """if step % 100 == 0:
    print(loss.item())  # .item(), .cpu(), print(tensor), nonzero() and boolean masks make the host wait"""


@rule(title="Synchronising calls", about="host")
def check(signals: Signals) -> Finding | None:
    """Without the calls the host has launched its next work earlier, by no more than they kept it: what it does for
    longer after a call than the call took keeps the device idle all the same.
    """
    syncs = signals.syncs
    cost = 0.0 if syncs is None else min(syncs.drained_us, syncs.waited_us)
    if syncs is None or (signals.share(cost) or 0.0) < DRAINED:
        return None
    saving = until_workers_limit(signals, cost)
    gain = signals.per_step(saving.us)
    names = ", ".join(f"{name} ({count})" for name, count in syncs.inside[:3])
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=_title(signals, syncs),
        advice="Let the host run ahead: read values back less often, keep counts and masks on the device, and leave "
        "out torch.cuda.synchronize().",
        evidence=(
            time("sync_wait", syncs.waited_us, f"the host was blocked for {duration(syncs.waited_us)}"),
            Evidence("sync_operators", f"in {names}"),
            *_otherwise_busy(syncs),
            *training_line(signals, "sync"),
            *saving.why,
        ),
        gain_us_per_step=gain,
        code=CODE,
    )


def _title(signals: Signals, syncs: SyncSignals) -> str:
    calls = plural(syncs.calls, "synchronising call")
    if syncs.drained_us <= syncs.waited_us:
        return f"After {calls} the device is idle for {percent(signals.share(syncs.drained_us))} of the window"
    blocked = percent(signals.share(syncs.waited_us))
    keep = "keeps" if syncs.calls == 1 else "keep"
    return f"{calls} {keep} the host for {blocked} of the window, and the device is idle when it comes back"


def _otherwise_busy(syncs: SyncSignals) -> tuple[Evidence, ...]:
    """That the calls have only a part of the idle time behind them."""
    if syncs.drained_us <= syncs.waited_us:
        return ()
    idle = f"the device is idle for {duration(syncs.drained_us)} after them"
    text = f"{idle}, for more than that because the host then does something else"
    return (time("idle_after_sync", syncs.drained_us, text),)
