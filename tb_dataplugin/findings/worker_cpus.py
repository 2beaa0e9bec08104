"""Whether DataLoader workers have CPUs that the training step waits for."""

from __future__ import annotations

from tb_dataplugin.analyses.taken_cpus import TakenCpus
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, MOSTLY_WORKERS
from tb_dataplugin.units import percent


def takes_cpus(signals: Signals) -> bool:
    """Enough to be worth a change. Of the time in which the step waits for a CPU, what they may have to do with counts:
    however much other programs have beside them.
    """
    taken = signals.taken
    if taken is None or signals.lock_limits_host:
        return False
    lost = signals.loop_share(taken.saved_us(1.0))
    return taken.may_be_by_workers >= INPUT_BOUND and lost is not None and lost >= INPUT_BOUND


def has_hidden_threads(signals: Signals) -> bool:
    """Libraries run threads of their own in DataLoader workers, and no CPU is free for them."""
    return signals.builds_batches_in_workers and signals.costs is not None and signals.costs.threads_compete


def who_holds(taken: TakenCpus) -> str:
    """Whom the step waits for, to get a CPU."""
    if taken.by_workers >= MOSTLY_WORKERS:
        return "DataLoader workers"
    own = taken.children_ns > taken.others_ns
    return f"DataLoader workers and other {'processes of the program' if own else 'programs'}"


def delayed_text(signals: Signals, taken: TakenCpus) -> str:
    """How long the step waits for a CPU, of what, and how that is known."""
    whole = "the time in which the device idles for it" if signals.has_device else "the time outside the data wait"
    known = "estimated, over all recorded steps" if taken.of_all else "estimated"
    return f"the training thread waits for a CPU for {percent(taken.delayed)} of {whole} ({known})"


def not_data(signals: Signals, otherwise: str) -> str:
    """What follows for the DataLoader where the data wait is small; `otherwise`: where it leaves the CPUs alone."""
    if not takes_cpus(signals) or signals.taken is None:
        return otherwise
    return (
        f"batches come in time, but the {who_holds(signals.taken)} hold CPUs that the training step waits for, "
        f"{percent(signals.taken.delayed)} of its time"
    )
