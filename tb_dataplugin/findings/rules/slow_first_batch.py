"""Each epoch begins with a long wait, because the workers are started anew."""

from __future__ import annotations

from tb_dataplugin.analyses.attribution import STARTUP
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import EPOCH_START
from tb_dataplugin.units import duration, percent

RULE = "slow_first_batch"


def check(signals: Signals) -> Finding | Abstention | None:
    share = signals.share(signals.waits_at_epoch_start_us)
    if not signals.makes_batches_in_workers or signals.loader is None or share is None or share < EPOCH_START:
        return None
    if signals.loader.persistent_workers:
        return None
    if not signals.repeated_starts_us:
        return Abstention(RULE, "only the loader's first epoch begins in the window: workers have to start once anyway")
    if signals.loader.persistent_workers is None:
        return Abstention(RULE, "whether workers persist was not recorded")
    startup = signals.blamed_on(STARTUP)
    gain = signals.per_step(signals.repeated_starts_us)
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=signals.repeated_starts_us),
        title=f"Epochs begin with a wait for new workers: {percent(share)} of the window",
        advice="Keep the workers from epoch to epoch; they then also fetch the next epoch's first batches at once.",
        evidence=(
            f"{duration(signals.repeated_starts_us)} after iter(loader) of an epoch after the first",
            f"{duration(startup.blame_us)} of the data wait passed before a worker was ready" if startup else "",
        ),
        gain_us_per_step=gain,
        code="DataLoader(..., persistent_workers=True)",
        confidence="likely",
        confidence_reason="making the first batch remains; only the start of the processes goes",
    )
