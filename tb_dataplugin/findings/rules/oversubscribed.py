"""Libraries start threads inside the workers, more than there are cores for."""

from __future__ import annotations

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HIDDEN_THREADS, INPUT_BOUND, NO_CORE
from tb_dataplugin.units import percent, plural, significant

RULE = "oversubscribed"

CODE = """def one_thread(worker_id):
    torch.set_num_threads(1)
    cv2.setNumThreads(0)  # where OpenCV is used

DataLoader(..., worker_init_fn=one_thread)  # and OMP_NUM_THREADS=1 in the environment"""


def check(signals: Signals) -> Finding | Abstention | None:
    costs, workers = signals.evidence.costs, signals.num_workers
    if not signals.makes_batches_in_workers or not signals.is_input_bound(INPUT_BOUND) or workers is None:
        return None
    if isinstance(costs, Unavailable) or costs.threads is None or costs.run_delay is None:
        return Abstention(RULE, "the CPU time of whole workers, or their time without a core, was not recorded")
    if costs.threads < HIDDEN_THREADS or costs.run_delay < NO_CORE:
        return None
    flow = signals.evidence.flow.workers
    lost = None if flow is None else flow.busy * signals.window_us * costs.run_delay
    gain = None if lost is None or signals.felt_us is None else signals.per_step(min(signals.felt_us, lost))
    cores = "" if signals.cores is None else f" on {signals.cores:g} cores"
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=signals.felt_us),
        title=f"Libraries run threads of their own in {plural(workers, 'worker')}{cores}, and they fight for cores",
        advice="Let each worker compute in one thread; the workers themselves are the parallelism.",
        evidence=(
            f"a worker process uses {significant(costs.threads, 2)} times the CPU time of its main thread",
            f"its main thread had no core for {percent(costs.run_delay)} of the time to make batches",
            _told_threads(signals),
        ),
        gain_us_per_step=gain,
        code=CODE,
        confidence="likely",
        confidence_reason="a thread that finishes work sooner also costs CPU time; measure with one thread each",
    )


def _told_threads(signals: Signals) -> str:
    """What the libraries said, of the worker with most threads."""
    most: dict[str, int] = {}
    for worker in signals.worker_processes:
        told = {"torch": worker.torch_threads, "OpenCV": worker.cv2_threads, "OMP_NUM_THREADS": worker.omp_threads}
        for name, threads in told.items():
            most[name] = max(most.get(name, 0), threads or 0)
    return ", ".join(f"{name}: {plural(count, 'thread')}" for name, count in most.items() if count > 1)
