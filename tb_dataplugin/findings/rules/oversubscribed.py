"""Libraries start threads inside the workers, more than there are CPUs for."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import Evidence, number, share
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HIDDEN_THREADS, NO_CPU
from tb_dataplugin.units import percent, plural, ratio

CODE = """def one_thread(worker_id):
    torch.set_num_threads(1)
    cv2.setNumThreads(0)  # where OpenCV is used

DataLoader(..., worker_init_fn=one_thread)  # and OMP_NUM_THREADS=1 in the environment"""


@rule(title="Hidden threads in DataLoader workers", about="workers", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    costs, num_workers = signals.costs, signals.num_workers
    if num_workers is None:
        return None
    if costs is None or costs.threads is None or costs.run_delay is None:
        return Abstention(
            "The CPU time of whole DataLoader workers, or how long they waited for a CPU, was not recorded."
        )
    if costs.threads < HIDDEN_THREADS or costs.run_delay < NO_CPU:
        return None
    busy = signals.workers
    lost = None if busy is None else busy.busy * signals.own_window_us * costs.run_delay
    cost = signals.wait_cost_us
    gain = None if lost is None or cost is None else signals.per_step(min(cost, lost))
    cpus = "" if signals.cpus is None else f" on {signals.cpus:g} CPUs"
    used = f"a DataLoader worker uses {ratio(costs.threads)} the CPU time of its main thread"
    delayed = f"its main thread waited for a CPU for {percent(costs.run_delay)} of the build time"
    return Finding(
        severity=severity(signals, gain, otherwise_us=cost),
        title=f"Libraries run hidden threads in {plural(num_workers, 'DataLoader worker')}{cpus}, "
        "and they compete for CPUs",
        advice="Limit each DataLoader worker to one thread: the workers already run in parallel.",
        evidence=(
            number("threads", costs.threads, "ratio", used),
            share("run_delay", costs.run_delay, "build time", delayed),
            *_library_threads(signals),
        ),
        gain_us_per_step=gain,
        code=CODE,
        confidence="likely",
        confidence_reason="The extra threads may also finish the work sooner: measure again with one thread each.",
    )


def _library_threads(signals: Signals) -> tuple[Evidence, ...]:
    """What the libraries are set to, of the worker with most threads."""
    most: dict[str, int] = {}
    for worker in signals.worker_processes:
        threads = {"torch": worker.torch_threads, "OpenCV": worker.cv2_threads, "OMP_NUM_THREADS": worker.omp_threads}
        for name, count in threads.items():
            most[name] = max(most.get(name, 0), count or 0)
    text = ", ".join(f"{name}: {plural(count, 'thread')}" for name, count in most.items() if count > 1)
    return (Evidence("library_threads", text),) if text else ()
