"""Each epoch begins with a long wait, because the workers are started anew."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.analyses.wait_parts import SHUTDOWN, STARTUP
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import EPOCH_START
from tb_dataplugin.units import duration, percent


@rule(title="DataLoader workers started every epoch", about="epochs", workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    share, repeated = signals.share(signals.epoch_starts_us), signals.repeated_epoch_starts_us
    if signals.loader is None or share is None or share < EPOCH_START or signals.loader.persistent_workers:
        return None
    if not repeated:
        return Abstention(
            "Only the loader's first epoch begins in the window: DataLoader workers have to start once anyway."
        )
    if signals.loader.persistent_workers is None:
        return Abstention("Whether DataLoader workers persist was not recorded.")
    saved = repeated - signals.first_builds_us
    share = signals.share(saved)
    if share is None or share < EPOCH_START:
        return None
    gain = signals.per_step(saved)
    return Finding(
        severity=severity(signals, gain, otherwise_us=saved),
        title=f"Epochs begin with a wait for new DataLoader workers: {percent(share)} of the window",
        advice="Keep the workers alive between epochs: they also keep what they hold in memory, such as caches and "
        "open files.",
        evidence=(*_waited(repeated, signals.first_builds_us), *_process_changes(signals)),
        gain_us_per_step=gain,
        code="DataLoader(..., persistent_workers=True)",
        confidence="likely",
        confidence_reason="The first batch still has to be built: what batches typically take is not counted.",
    )


def _waited(repeated: float, building: float) -> Iterator[Evidence]:
    text = f"{duration(repeated)} after iter(loader) of an epoch after the first"
    yield time("repeated_epoch_starts", repeated, text)
    if building:
        built = f"of it {duration(building)} in which the epoch's first batch was being built"
        yield time("first_builds", building, built)


def _process_changes(signals: Signals) -> tuple[Evidence, ...]:
    named = {
        STARTUP: "passed before a DataLoader worker was running",
        SHUTDOWN: "passed while the loader stopped its DataLoader workers",
    }
    found = ((name, signals.wait_for(name)) for name in named)
    return tuple(
        time(name, wait.data_wait_us, f"{duration(wait.data_wait_us)} of the data wait {named[name]}", stage=name)
        for name, wait in found
        if wait is not None
    )
