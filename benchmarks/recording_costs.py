"""What annotate costs, phase by phase, beside the budgets: one table for `RESULTS.md`.

    python benchmarks/recording_costs.py --out FILE.json --seconds 150     # carries on where it was stopped
    python benchmarks/recording_costs.py --out FILE.json --seconds 0       # prints the table of what is there

A loop over a DataLoader with two workers, batches of one sample that sleeps 4 ms, so that caches are as cold as between
real batches. In each process epochs with a phase and without it take turns (new workers in each epoch), so that what
distinguishes two processes, up to 0.2 ms a batch, is not in the difference. Measured are, for each batch, the CPU time
of the training process and of its workers, and the time on the clock. Printed are the means over processes with their
95% intervals, as a share of batches of 5 ms samples. A budget is missed where the whole interval is above it.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
WORKERS: Final = 2
BATCHES: Final = 80
BEFORE: Final = 16
"""Batches that are not measured: those that fill the queues, and a profiler's start."""
ROUNDS: Final = 6
SAMPLE_US: Final = 5000
SIZES: Final = (1, 4, 16, 64)
T95: Final = 2.09
"""Of Student's t, 19 degrees of freedom."""


class Phase(NamedTuple):
    """A row of the table."""

    what: str
    budget: float | None


PHASES: Final = {
    "followed": Phase("a loader that was annotated, nothing records", 0.001),
    "off": Phase("`run --`, before it is asked to record", 0.001),
    "waiting": Phase("`run --`, in its wait phase", 0.005),
    "recording": Phase("recording, beside torch's profiler alone", 0.01),
}


class Costs(NamedTuple):
    """Of a batch, in microseconds: CPU time of the training process and of its workers, time on the clock."""

    own: float
    workers: float
    clock: float


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] == "--child":
        child()
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the measurements so far, JSON")
    parser.add_argument("--seconds", type=float, default=150, help="of this piece")
    parser.add_argument("--processes", type=int, default=20)
    options = parser.parse_args()
    processes: list[dict[str, Any]] = json.loads(options.out.read_text()) if options.out.exists() else []
    end = time.monotonic() + options.seconds
    while len(processes) < options.processes and time.monotonic() < end:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, __file__, "--child"]
        text = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        load = os.getloadavg()[0]
        processes.append({"load": load, "phases": json.loads(text.splitlines()[-1])})
        options.out.write_text(json.dumps(processes))
    loads = [process["load"] for process in processes]
    print(f"{len(processes)} of {options.processes} processes; load average {min(loads)} to {max(loads)}")
    if len(processes) > 1:
        print(table([process["phases"] for process in processes]))
    if len(processes) < options.processes:
        sys.exit(3)


def table(processes: list[dict[str, list[list[float]]]]) -> str:
    head = ["phase", "training process, us a batch", "its workers", "both, 95% interval", "time on the clock"]
    lines = [[*head, *(f"batches of {size}" for size in SIZES), "budget", "verdict at batches of 1, 4, 16"]]
    lines.append(["-"] * len(lines[0]))
    for name, phase in PHASES.items():
        means = [Costs(*map(mean, zip(*process[name], strict=True))) for process in processes]
        more, half = interval([costs.own + costs.workers for costs in means])
        clock = interval([costs.clock for costs in means])
        row = [phase.what, f"{mean(c.own for c in means):+.1f}", f"{mean(c.workers for c in means):+.1f}"]
        row += [f"{more - half:+.1f} .. {more + half:+.1f}", f"{clock[0]:+.1f} ± {clock[1]:.1f}"]
        row += [f"{more / SAMPLE_US / size:.2%}" for size in SIZES]
        verdicts = [verdict(more, half, size, phase.budget) for size in SIZES[:3]] if phase.budget else []
        lines.append([*row, f"{phase.budget:.1%}" if phase.budget else "", ", ".join(verdicts)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def interval(values: list[float]) -> tuple[float, float]:
    return mean(values), T95 * stdev(values) / len(values) ** 0.5


def verdict(more: float, half: float, size: int, budget: float) -> str:
    """By the interval of the share of a batch's time."""
    low, high = ((more + sign * half) / SAMPLE_US / size for sign in (-1, 1))
    return "kept" if high <= budget else "missed" if low > budget else "open"


def child() -> None:
    """Prints, for each phase, what each round cost more with it than without."""
    differences: dict[str, list[Costs]] = {name: [] for name in PHASES}
    with tempfile.TemporaryDirectory() as folder:
        epoch(plain)
        epoch(profiled)
        for turn in range(ROUNDS):
            for name, (with_it, without) in contexts(Path(folder)).items():
                order = (with_it, without) if turn % 2 else (without, with_it)
                costs = {how: epoch(how) for how in order}
                pairs = zip(costs[with_it], costs[without], strict=True)
                differences[name].append(Costs(*(here - there for here, there in pairs)))
    print(json.dumps(differences))


Context = Callable[[Any, ExitStack], None]
"""What is done with a loader before its epoch; what it leaves is undone by the stack."""


def contexts(folder: Path) -> dict[str, tuple[Context, Context]]:
    """With a phase, and without it."""
    return {
        "followed": (followed, plain),
        "off": (launched(folder, standby=True), plain),
        "waiting": (launched(folder, standby=False), plain),
        "recording": (recorded, profiled),
    }


def plain(loader: Any, stack: ExitStack) -> None:
    pass


def followed(loader: Any, stack: ExitStack) -> None:
    import annotate

    annotate.loader(loader)
    stack.callback(annotate.off)


def profiled(loader: Any, stack: ExitStack) -> None:
    from torch.profiler import ProfilerActivity, profile

    stack.enter_context(profile(activities=[ProfilerActivity.CPU]))


def recorded(loader: Any, stack: ExitStack) -> None:
    followed(loader, stack)
    profiled(loader, stack)


def launched(folder: Path, *, standby: bool) -> Context:
    """As `tb-dataplugin run` meets the first iteration of a program."""

    def context(loader: Any, stack: ExitStack) -> None:
        import annotate
        from annotate.launch.begin import begin
        from annotate.launch.order import FILE, FOLDER

        order = {"logdir": str(folder), "wait": None, "active": None, "standby": standby}
        (folder / FILE).write_text(json.dumps(order))
        os.environ[FOLDER] = str(folder)
        with never_steady():
            begin()
        stack.callback(os.environ.pop, FOLDER)
        stack.callback(annotate.off)
        stack.enter_context(never_steady())

    return context


@contextmanager
def never_steady() -> Iterator[None]:
    """It is asked at each batch, as by default, and never told to begin."""
    from annotate.launch.waiting import WhenItIsSteady

    ask = WhenItIsSteady.__call__

    def asked(self: Any, taken: Any) -> None:
        ask(self, taken)

    WhenItIsSteady.__call__ = asked  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        WhenItIsSteady.__call__ = ask  # type: ignore[method-assign]


def epoch(context: Context) -> Costs:
    """One epoch with new workers, in that context."""
    loader = made_loader()
    gc.collect()
    with ExitStack() as stack:
        context(loader, stack)
        iterator = iter(loader)
        for _ in range(BEFORE):
            next(iterator)
        own, workers, clock = time.process_time(), workers_cpu(iterator), time.perf_counter()
        for _ in range(BATCHES):
            next(iterator)
        moments = time.process_time() - own, workers_cpu(iterator) - workers, time.perf_counter() - clock
        for _ in iterator:
            pass
    return Costs(*(moment / BATCHES * 1e6 for moment in moments))


def made_loader() -> Any:
    from torch.utils.data import DataLoader

    return DataLoader(Sleepy(), batch_size=1, num_workers=WORKERS)  # type: ignore[arg-type]


class Sleepy:
    """A map-style dataset."""

    def __len__(self) -> int:
        return BEFORE + BATCHES + 8

    def __getitem__(self, index: int) -> int:
        time.sleep(0.004)
        return index


def workers_cpu(iterator: Any) -> float:
    """Seconds of CPU time of the workers so far; a process's clock has a number made of its pid (Linux)."""
    return sum(time.clock_gettime((~worker.pid << 3) | 2) for worker in iterator._workers)


if __name__ == "__main__":
    main()
