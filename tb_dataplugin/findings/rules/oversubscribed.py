"""Libraries start threads inside the workers, more than there are CPUs for."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.capacity import held_by_others
from tb_dataplugin.findings.evidence import Evidence, number, share
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import saved_without_threads
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.worker_cpus import has_hidden_threads
from tb_dataplugin.units import percent, plural, ratio

ADVICE: Final = (
    "Limit each DataLoader worker to one thread: the workers already run in parallel. numpy and scipy read the "
    "variable as they are imported: set it above that, or in the environment. It holds for them in the training "
    "process, too, but not for torch: torch.set_num_threads or OMP_NUM_THREADS limits its threads there. For other "
    "libraries, threadpoolctl.threadpool_limits(1) in worker_init_fn also reaches MKL and OpenMP."
)

OPENBLAS: Final = """import os
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the first lines of the program"""

SETTERS: Final = {"torch": "torch.set_num_threads(1)", "OpenCV": "cv2.setNumThreads(0)"}
"""What leaves one thread to a library that is known to use more."""


@rule(title="Hidden threads in DataLoader workers", about="workers", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    costs, num_workers = signals.costs, signals.num_workers
    if num_workers is None:
        return None
    if costs is None or costs.threads is None or costs.run_delay is None:
        return Abstention(
            "The CPU time of whole DataLoader workers, or how long they waited for a CPU, was not recorded."
        )
    if not has_hidden_threads(signals):
        return None
    saving = saved_without_threads(signals)
    gain = None if saving is None else signals.per_step(saving.us)
    certain = costs.run_delay * (signals.workers.busy if signals.workers else 0.0) * signals.own_window_us
    of_wait = None if saving is None else signals.per_step(min(saving.of_wait_us, certain))
    cpus = "" if signals.cpus is None else f" on {signals.cpus:g} CPUs"
    used = f"a DataLoader worker uses {ratio(costs.threads)} the CPU time of its main thread"
    delayed = f"its main thread waited for a CPU for {percent(costs.run_delay)} of the build time"
    known = _library_threads(signals)
    return Finding(
        severity=severity(signals, of_wait, otherwise_us=signals.wait_cost_us),
        title=f"Libraries run hidden threads in {plural(num_workers, 'DataLoader worker')}{cpus}, "
        "and they compete for CPUs",
        advice=ADVICE,
        evidence=(
            number("threads", costs.threads, "ratio", used),
            share("run_delay", costs.run_delay, "build time", delayed),
            *_evidence(known),
            *(() if saving is None else saving.why),
        ),
        gain_us_per_step=gain,
        code=_code(known),
        confidence="likely",
        confidence_reason=f"The extra threads may also finish the work sooner{_beside_others(signals)}: measure again "
        "with one thread each.",
    )


def _beside_others(signals: Signals) -> str:
    """Who has more threads gets more of CPUs that are shared."""
    if held_by_others(signals) is None:
        return ""
    return ", the more so as they take CPUs from other programs, which had a part of them in this capture"


def _library_threads(signals: Signals) -> dict[str, int]:
    """What the libraries are set to, as far as that is known, of the worker with most threads."""
    most: dict[str, int] = {}
    for worker in signals.worker_processes:
        threads = {"torch": worker.torch_threads, "OpenCV": worker.cv2_threads, "OMP_NUM_THREADS": worker.omp_threads}
        for name, count in threads.items():
            if count is not None:
                most[name] = max(most.get(name, 0), count)
    return most


def _evidence(known: dict[str, int]) -> tuple[Evidence, ...]:
    several = [f"{name}: {plural(count, 'thread')}" for name, count in known.items() if count > 1]
    if several:
        return (Evidence("library_threads", ", ".join(several)),)
    if not known:
        return ()
    text = f"{' and '.join(known)} {'is' if len(known) == 1 else 'are'} set to one thread there"
    return (Evidence("library_threads", f"{text}, so the hidden threads are another library's"),)


def _code(known: dict[str, int]) -> str:
    """A DataLoader worker's torch has one thread without our doing."""
    setters = [setter for name, setter in SETTERS.items() if known.get(name, 0) > 1]
    if not setters:
        return OPENBLAS
    body = "\n".join(f"    {setter}" for setter in setters)
    return f"{OPENBLAS}\n\ndef one_thread(worker_id):\n{body}\n\nDataLoader(..., worker_init_fn=one_thread)"
