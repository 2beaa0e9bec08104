"""Delays planted in real pipelines, and what the report makes of them.

    python benchmarks/planted_truth.py [--seeds 3] [--only NAME]

Each pipeline has one known delay per sample or batch: sleeping (blocked), spinning (CPU), or spinning beside four times
as many spinning processes as there are cores (starved). The dataset notes when each delay began and ended and sends
that along with the samples; the loop notes when it waited for which batch. Their overlap is the truth that the report's
blame is compared with: the planted time of a batch that was waited for. The report knows nothing of it. The loop does
nothing, so that it always waits. No accelerator is needed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import tempfile
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

import annotate
from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.report.report_pb2 import Capture

Place = Literal["read", "decode", "transform", "collate", "transfer", "startup"]
How = Literal["sleep", "spin"]

STAGE_NAMES = {
    "read": "read::slow",
    "decode": "decode::slow",
    "transform": "transform::Slow",
    "collate": "collate::Collate",
    "transfer": "transfer",
    "startup": "startup",
}
EXPECTED_LIMIT = {"sleep": "blocked", "spin": "cpu"}
WARM_UP, STEPS = 8, 24


@dataclass(frozen=True)
class Case:
    """`delay_ms` is per sample; per batch for collate and transfer; of the worker's start for startup."""

    name: str
    place: Place
    how: How
    workers: int
    delay_ms: float
    crowded: bool = False  # beside spinning processes
    slow_worker: bool = False  # worker 1 only
    slow_index: int = 0  # every so many samples only
    beside_ms: float = 0  # a shorter delay in another stage (read)


def cases() -> list[Case]:
    found = [
        Case(f"{place} {how}, {workers or 'no'} worker{'s' * (workers != 1)}", place, how, workers, delay)
        for place, delay in (("read", 3.0), ("decode", 3.0), ("transform", 3.0), ("collate", 24.0))
        for how in ("sleep", "spin")
        for workers in (0, 1)
    ]  # type: ignore[misc]
    found += [
        Case("transform sleep, 2 workers", "transform", "sleep", 2, 4.0),
        Case("read sleep, 2 workers", "read", "sleep", 2, 4.0),
        Case("transfer sleep, 1 worker", "transfer", "sleep", 1, 30.0),
        Case("startup sleep, 1 worker", "startup", "sleep", 1, 600.0),
        Case("one slow worker of 2", "transform", "sleep", 2, 8.0, slow_worker=True),
        Case("slow indices", "read", "sleep", 1, 40.0, slow_index=16),
        Case("transform over read", "transform", "sleep", 1, 3.0, beside_ms=1.5),
        Case("transform spin, crowded", "transform", "spin", 1, 3.0, crowded=True),
        Case("read spin, crowded", "read", "spin", 1, 3.0, crowded=True),
    ]
    return found


BLOCK = bytes(1 << 17)
"""Worked on without the interpreter's lock, as PIL, numpy and torch do. A worker that spins in pure Python holds up the
thread that sends its batches, and the training thread then waits for `transfer` instead."""


def delayed(how: How, seconds: float) -> tuple[float, float]:
    """Wait or work for so long; when that began and ended, on the clock that all processes share."""
    begin = time.perf_counter()
    if how == "sleep":
        time.sleep(seconds)
    elif how == "spin":
        spent = time.thread_time() + seconds
        while time.thread_time() < spent:
            zlib.crc32(BLOCK)
    return begin, time.perf_counter()


class Slow:
    """A transform that delays the sample, and notes when."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __call__(self, sample: torch.Tensor) -> torch.Tensor:
        sample[1:3] = torch.tensor(delayed(self.case.how, sample[3].item() / 1e3), dtype=torch.float64)
        return sample


class Quick:
    def __call__(self, sample: torch.Tensor) -> torch.Tensor:
        return sample


class Samples(Dataset[torch.Tensor]):
    """A sample is (index, begin and end of its delay, delay to plant in ms)."""

    def __init__(self, case: Case, seed: int) -> None:
        self.case, self.seed = case, seed
        self.transform = annotate.compose([Quick(), Slow(case) if case.place == "transform" else Quick()])

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        case = self.case
        sample = torch.tensor([float(index), 0.0, 0.0, self._delay_ms(index)], dtype=torch.float64)
        if case.beside_ms:
            with annotate.stage("read", "beside"):
                time.sleep(case.beside_ms / 1e3)
        if case.place in ("read", "decode"):
            with annotate.stage(case.place, "slow"):
                sample[1:3] = torch.tensor(delayed(case.how, sample[3].item() / 1e3), dtype=torch.float64)
        out: torch.Tensor = self.transform(sample)
        return out

    def _delay_ms(self, index: int) -> float:
        case = self.case
        if case.slow_index and index % case.slow_index:
            return 0.0
        worker = get_worker_info()
        if case.slow_worker and (worker is None or worker.id != 1):
            return case.delay_ms / 8
        return case.delay_ms * random.Random(f"{self.seed} {index}").uniform(0.7, 1.3)


class Parcel:
    """A batch that is slow to pickle, which happens after the worker has finished it."""

    def __init__(self, batch: torch.Tensor, seconds: float) -> None:
        self.batch, self.seconds = batch, seconds

    def __reduce__(self) -> Any:
        span = torch.tensor(delayed("sleep", self.seconds), dtype=torch.float64)
        return unpacked, (self.batch, span)


def unpacked(batch: torch.Tensor, span: torch.Tensor) -> torch.Tensor:
    batch[0, 1:3] = span
    return batch


class Collate:
    def __init__(self, case: Case) -> None:
        self.case = case

    def __call__(self, samples: list[torch.Tensor]) -> Any:
        batch = torch.stack(samples)
        if self.case.place == "collate":
            batch[0, 1:3] = torch.tensor(delayed(self.case.how, self.case.delay_ms / 1e3), dtype=torch.float64)
        return Parcel(batch, self.case.delay_ms / 1e3) if self.case.place == "transfer" else batch


class Start:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, worker: int) -> None:
        time.sleep(self.seconds)


def spin_forever() -> None:
    while True:
        pass


@contextmanager
def company(crowded: bool) -> Iterator[None]:
    count = 4 * len(os.sched_getaffinity(0)) if crowded else 0
    processes = [multiprocessing.Process(target=spin_forever, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


@dataclass(frozen=True)
class Received:
    """A batch, and the stretch in which the loop waited for it."""

    batch: torch.Tensor
    asked: float
    got: float

    def planted_seconds(self) -> float:
        """How much of the batch's delays lies in the wait for it."""
        begin, end = self.batch[:, 1].clamp(min=self.asked), self.batch[:, 2].clamp(max=self.got)
        return float((end - begin).clamp(min=0).sum())


def run(case: Case, seed: int, folder: Path) -> tuple[Capture, list[Received]]:
    """The report's capture, and what was received in its window."""
    batch_size = random.Random(seed).choice([6, 8, 10])
    startup = case.place == "startup"
    options: dict[str, Any] = {"worker_init_fn": Start(case.delay_ms / 1e3)} if startup else {}
    collate = annotate.collate(Collate(case))
    dataset = Samples(case, seed)
    loader = annotate.loader(DataLoader(dataset, batch_size, num_workers=case.workers, collate_fn=collate, **options))
    warm_up = 0 if startup else WARM_UP
    received = []
    with company(case.crowded), annotate.profile(folder, wait=0, warmup=warm_up, active=STEPS) as prof:
        asked = time.perf_counter()
        for batch in prof.steps(loader):
            received.append(Received(batch, asked, time.perf_counter()))
            if len(received) == warm_up + STEPS:
                break
            asked = time.perf_counter()
    (path,) = folder.glob("*.json.gz")
    return analyse_file(path).capture, received[warm_up:]


@dataclass(frozen=True)
class Outcome:
    """Milliseconds. `limit`: what the report says limits the stage; `first`: what it blames most."""

    planted: float
    blamed: float
    first: str
    limit: str
    slow_found: float | None

    @property
    def error(self) -> float:
        return self.blamed / self.planted - 1


def outcome(case: Case, capture: Capture, received: list[Received]) -> Outcome:
    name = STAGE_NAMES[case.place]
    blame = dict(capture.loader.wait_by_stage_us)
    limit = next((stage.limited_by for stage in capture.stages if f"{stage.kind}::{stage.label}" == name), "")
    planted = case.delay_ms if case.place == "startup" else 1e3 * sum(one.planted_seconds() for one in received)
    first = max(blame, key=lambda one: blame[one], default="(nothing)")
    return Outcome(planted, blame.get(name, 0.0) / 1e3, first, limit, recall(case, capture, received))


def recall(case: Case, capture: Capture, received: list[Received]) -> float | None:
    """Which part of the slow samples that were received the report lists."""
    if not case.slow_index:
        return None
    slow = {int(index) for one in received[2:] for index in one.batch[:, 0] if index % case.slow_index == 0}
    return len(slow & {one.index for one in capture.slow_samples}) / len(slow)


def expected_limit(case: Case) -> str:
    """Empty where no stage is planted."""
    if case.place in ("transfer", "startup"):
        return ""
    return "no_cpu" if case.crowded else EXPECTED_LIMIT[case.how]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    chosen = [case for case in cases() if arguments.only in case.name]
    stages: Counter[tuple[str, str]] = Counter()
    limits: Counter[tuple[str, str]] = Counter()
    print(
        f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, {len(chosen)} cases, {arguments.seeds} seeds\n"
    )
    print("| planted | ms | data wait, ms | error | named first | limited by |\n|-|-|-|-|-|-|")
    worst = []
    for case in chosen:
        results = []
        for seed in range(arguments.seeds):
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.append(outcome(case, *run(case, seed, Path(folder))))
        for one in results:
            stages[STAGE_NAMES[case.place], one.first] += 1
            if expected_limit(case):
                limits[expected_limit(case), one.limit] += 1
        worst += [(abs(one.error), case.name) for one in results]
        print(row(case, results), flush=True)
    print_matrix("Stage planted (rows) and named first", stages)
    print_matrix("What limits it (rows) and what the report says", limits)
    within, (most, where) = sum(error <= 0.1 for error, _ in worst), max(worst)
    print(f"\nData wait within 10 % of the planted time: {within} of {len(worst)}; the worst {most:.0%} ({where})")


def row(case: Case, results: list[Outcome]) -> str:
    planted = statistics.median(one.planted for one in results)
    blamed = statistics.median(one.blamed for one in results)
    errors = sorted(one.error for one in results)
    firsts, limits = Counter(one.first for one in results), Counter(one.limit or "–" for one in results)
    found = [one.slow_found for one in results if one.slow_found is not None]
    recall = f"; of the slow samples {min(found):.0%} are listed" if found else ""
    told = ", ".join(f"{name} {count}/{len(results)}" for name, count in firsts.most_common())
    return (
        f"| {case.name} | {planted:.0f} | {blamed:.0f} | {errors[0]:+.1%} .. {errors[-1]:+.1%} "
        f"| {told}{recall} | {', '.join(limits)} |"
    )


def print_matrix(title: str, counts: Counter[tuple[str, str]]) -> None:
    rows, columns = (sorted({key[side] for key in counts}) for side in (0, 1))
    print(f"\n{title}\n\n| | {' | '.join(column or '–' for column in columns)} |\n|{'-|' * (len(columns) + 1)}")
    for one in rows:
        print(f"| {one} | " + " | ".join(str(counts[one, column]) for column in columns) + " |")


if __name__ == "__main__":
    main()
