"""Batches come in time, but the DataLoader workers that build them have the CPUs that the training step waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.taken_cpus import ALL_THEIRS, TakenCpus
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.leading import leading_place
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import given_back
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import HEALTHY, INPUT_BOUND, MOSTLY_WORKERS
from tb_dataplugin.findings.worker_cpus import delayed_text, has_hidden_threads, takes_cpus, who_holds
from tb_dataplugin.units import duration, percent

SEVERAL: Final = 1.1
"""Threads that compute a step, from which it has more than one: counters do not agree to a tenth."""

IN_TIME: Final = "Batches come in time, at the step's expense. "
LATE: Final = "Building batches takes more from the step than the data wait is. "
LESS_WORK: Final = "Do less work per sample, keep its results, or move it to the device."

ALONE: Final = "How far the threads of a step wait for each other is not recorded, so the gain may be less."
TOGETHER: Final = (
    "How far the threads of a step wait for each other is not recorded: the gain may be less, or more where one that "
    "waits for another keeps its CPU meanwhile."
)

ONE_THREAD: Final = (
    " Libraries run hidden threads in the DataLoader workers: first limit each to one, by OPENBLAS_NUM_THREADS=1 in "
    "the environment for numpy and scipy, cv2.setNumThreads(0) in worker_init_fn for OpenCV."
)

OWN_SHARE: Final = (
    ". Where others take their part of what is set free, the step gets up to {shared} shorter; where the system gives "
    "each session or container its own share of the CPUs, all of it may go to the step, and that is counted"
)

FEWER_WORKERS: Final = " Fewer DataLoader workers leave more CPU time to the step, but it may then wait for data."


@rule(title="CPUs taken from the training step", about="host", workers=True)
def check(signals: Signals) -> Finding | None:
    """Where a stage of DataLoader workers leads the data wait, the finding on it says it (`saving.saved_without`)."""
    taken = signals.taken
    if taken is None or not takes_cpus(signals) or _is_said_of_a_stage(signals):
        return None
    stages = {row.stage.name: [other for other in signals.stages if other.stage == row.stage] for row in signals.stages}
    name = max(stages, key=lambda each: _cpu_us(stages[each]), default="")
    saving = given_back(signals, [row for row in signals.stages if row.in_workers_us])
    gain = signals.per_step(saving.us)
    used = f"the DataLoader workers use {duration(taken.workers_us)} of CPU time in the window"
    most = f"{name} has most of it: {duration(_cpu_us(stages[name]))}" if name else "no stage of it is known"
    alone = signals.per_step(given_back(signals, stages.get(name, [])).us) or 0.0
    most += f", without which the step gets up to {duration(alone)} shorter" if alone else ""
    return Finding(
        severity=severity(signals, gain, otherwise_us=0.0) if signals.is_input_bound(HEALTHY) else "low",
        title=f"{who_holds(taken)} hold the CPUs that the training step waits for, "
        f"{percent(taken.delayed)} of its time",
        advice=(LATE if signals.is_input_bound(INPUT_BOUND) else IN_TIME)
        + LESS_WORK
        + (ONE_THREAD if has_hidden_threads(signals) else "")
        + (FEWER_WORKERS if (signals.num_workers or 0) > 1 else ""),
        stage=name,
        evidence=(
            share("step_waits_for_cpu", taken.delayed, "time outside the data wait", delayed_text(signals, taken)),
            time("workers_cpu", taken.workers_us, f"{used}; {most}"),
            *_others(signals, taken),
            *saving.why,
        ),
        gain_us_per_step=gain,
        confidence="likely" if taken.by_workers >= MOSTLY_WORKERS else "possible",
        confidence_reason=TOGETHER if taken.threads >= SEVERAL else ALONE,
    )


def _is_said_of_a_stage(signals: Signals) -> bool:
    leader = leading_place(signals) if signals.is_input_bound(INPUT_BOUND) else None
    return leader is not None and any(row.in_workers_us and row.stage.name == leader.name for row in signals.stages)


def _others(signals: Signals, taken: TakenCpus) -> Iterator[Evidence]:
    """Where not all of the CPU time that the step waits for is that of DataLoader workers."""
    if taken.by_workers < ALL_THEIRS:
        counted = ", and that part is counted"
        if taken.others_compete:
            counted = OWN_SHARE.format(shared=duration(signals.per_step(taken.shared_us) or taken.shared_us))
        text = f"of the CPU time of all other processes they have {percent(taken.by_workers)}{counted}"
        yield share("workers_cpu_share", taken.by_workers, "CPU time of other processes", text)


def _cpu_us(rows: list[StageCalls]) -> float:
    return sum(row.cpu_use.cpu_us for row in rows if row.cpu_use is not None)
