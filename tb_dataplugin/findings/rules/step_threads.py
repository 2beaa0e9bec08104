"""The training process computes a step with more threads than DataLoader workers leave CPUs for."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.capacity import judge_cpus
from tb_dataplugin.findings.evidence import number, share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HIDDEN_THREADS
from tb_dataplugin.findings.worker_cpus import delayed_text, has_hidden_threads, takes_cpus
from tb_dataplugin.units import plural

WHY: Final = (
    "DataLoader workers run on the same CPUs, and a step goes on only when the last of its threads is done. Try fewer "
    "threads in the training process, or set OMP_NUM_THREADS in its environment. DataLoader workers have one thread of "
    "torch each in any case. A model that is large may compute longer then: measure both."
)


@rule(title="Threads of the training step without CPUs", about="host", workers=True)
def check(signals: Signals) -> Finding | None:
    """Hidden threads of DataLoader workers go first: without them, CPUs may be free."""
    taken, cpus, set_to = signals.taken, signals.cpus, signals.host.torch_threads
    if taken is None or cpus is None or set_to is None or taken.threads < HIDDEN_THREADS:
        return None
    if not takes_cpus(signals) or has_hidden_threads(signals) or judge_cpus(signals).saturated is not True:
        return None
    building = taken.workers_us / signals.window_us
    left = max(1, int(cpus - building))
    if left >= set_to:
        return None
    text = (
        f"torch is set to {plural(set_to, 'thread')} in the training process, DataLoader workers keep {building:.2g} "
        f"of the {cpus:g} CPUs busy, and none is free"
    )
    return Finding(
        severity=severity(signals, None, otherwise_us=taken.own_us * taken.delayed_by_workers),
        title=f"The training step computes with {plural(set_to, 'thread')} of torch, which wait for CPUs",
        advice=WHY,
        evidence=(
            share("step_waits_for_cpu", taken.delayed, "time outside the data wait", delayed_text(signals, taken)),
            number("torch_threads", set_to, "count", text),
        ),
        code=f"torch.set_num_threads({left})  # in the training process, before the loop",
        confidence="possible",
        confidence_reason="What fewer threads gain is not in the capture.",
    )
