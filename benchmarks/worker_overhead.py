"""What recording in DataLoader workers costs: per span, and in throughput. (When a window closes: `closing.py`.)

    python benchmarks/worker_overhead.py [--pairs 10] [span | throughput | viztracer]

Everything that is compared is taken in one run, in turns. No accelerator is needed.

span        a wrapped function that does nothing, in a worker that records: all in, that is with CPU time, result size,
            packing and writing; beside `record_function` while torch's profiler records (in the main process: it cannot
            record in workers), and beside the same calls under VizTracer, if that is installed
throughput  batches per second of a loader with recording on against off (annotated, session on, no window open): the
            window opens and closes again and again over one run of persistent workers, and the medians over the pairs
            of neighbours are taken
viztracer   the same loaders with VizTracer running in each worker against without it, in turns, runs of their own
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.capture.session import Session
from annotate.hooks.patching import Patches
from annotate.hooks.transforms import Compose, time_held
from annotate.recording import switch
from annotate.workers import spool, worker_side
from annotate.workers.content import Place
from annotate.workers.spans_content import SpansContent
from annotate.workers.sums_content import SumsContent
from annotate.workers.transport import NOTHING_WANTED, Tag

FIVE_US = 5_000


class Jpeg(Dataset[np.ndarray]):
    """About 5 ms a sample: decode, crop, flip, to float."""

    def __init__(self, length: int) -> None:
        rng = np.random.default_rng(0)
        small = PIL.Image.fromarray(rng.integers(0, 255, (48, 64, 3), dtype=np.uint8))
        file = io.BytesIO()
        small.resize((800, 600), PIL.Image.Resampling.BICUBIC).save(file, "jpeg", quality=90)
        self.data = file.getvalue()
        self.length = length
        self.transform = annotate.compose([crop, flip, to_float])

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> np.ndarray:
        image = PIL.Image.open(io.BytesIO(self.data)).convert("RGB")
        result: np.ndarray = self.transform(image)
        return result


def crop(image: PIL.Image.Image) -> PIL.Image.Image:
    return image.resize((224, 224), box=(80, 60, 640, 540))


def flip(image: PIL.Image.Image) -> PIL.Image.Image:
    return image.transpose(PIL.Image.Transpose.FLIP_LEFT_RIGHT)


def to_float(image: PIL.Image.Image) -> np.ndarray:
    return np.asarray(image, dtype=np.float32) / 255


class Spin:
    """Takes five microseconds."""

    def __call__(self, value: int) -> int:
        end = time.perf_counter_ns() + FIVE_US
        while time.perf_counter_ns() < end:
            pass
        return value


class Tiny(Dataset[int]):
    """The worst case: twenty transforms of five microseconds."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.transform = annotate.compose([Spin() for _ in range(20)])

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> int:
        result: int = self.transform(index)
        return result


def nothing() -> None:
    pass


def nothing_of(value: object) -> object:
    return value


def plain_record_function() -> None:
    with record_function("plain"):
        pass


def per_call_us(function: Callable[[], object], calls: int) -> float:
    begin = time.perf_counter_ns()
    for _ in range(calls):
        function()
    return (time.perf_counter_ns() - begin) / calls / 1000


def median_of_7(measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(7))


class RecordingHere:
    """Makes this process a recording worker, as `worker_side.begin` does in a real one."""

    def __enter__(self) -> worker_side.Worker:
        self.spool = spool.Spool()
        self.spool.open_window()
        place = Place(0, 0, str(self.spool.folder), 1 << 32, 4096)
        now = time.perf_counter_ns()
        spans = SpansContent(place, 0, os.getpid(), now, Patches())
        worker = worker_side.Worker(place, 0, now, [spans], wanted=[SumsContent(Patches())])
        worker.begin(tag(0))
        return worker

    def __exit__(self, *exc: object) -> None:
        switch.set_recording(False)
        switch.install(switch.TORCH_MARKERS)
        self.spool.remove()


def tag(batch: int) -> Tag:
    return Tag(0, batch, NOTHING_WANTED)


class Nothing:
    """A transform that does nothing."""

    def __call__(self, value: object) -> object:
        return value


def cost_of_a_span(batch: int, calls: int, transform: Callable[[Any], object]) -> float:
    """Microseconds per span in a worker, all in, with `batch` spans to a batch, less the bare call."""
    bare = median_of_7(lambda: per_call_us(partial(transform, None), calls))
    patches = Patches()
    with RecordingHere() as worker:
        held = [transform]
        time_held(patches, Compose(held))
        timed = held[0]

        def batches() -> float:
            begin = time.perf_counter_ns()
            for number in range(calls // batch):
                worker.begin(tag(number))
                for _ in range(batch):
                    timed(None)
                worker.finish(None)
            return (time.perf_counter_ns() - begin) / (calls // batch * batch) / 1000

        try:
            return median_of_7(batches) - bare
        finally:
            patches.undo()


def span(calls: int) -> None:
    switch.load_marker()
    bare = median_of_7(lambda: per_call_us(nothing, calls))

    def under_torch() -> float:
        with profile(activities=[ProfilerActivity.CPU]):
            return per_call_us(plain_record_function, calls // 10)

    plain = median_of_7(under_torch) - bare
    print(f"{'record_function, recording':46}{plain:8.3f} us")
    for what, transform in (("an object", Nothing()), ("a function", nothing_of)):
        for batch in (21, 168, 1344):
            cost = cost_of_a_span(batch, calls, transform)
            print(f"{f'span of {what} in a worker, {batch} to a batch':46}{cost:8.3f} us{cost / plain:8.2f} of it")
    try:
        from viztracer import VizTracer
    except ImportError:
        print("viztracer is not installed")
        return

    def under_viztracer() -> float:
        tracer = VizTracer(verbose=0, tracer_entries=2_000_000)
        tracer.start()
        cost = per_call_us(nothing, calls)
        tracer.stop()
        tracer.clear()
        return cost

    cost = median_of_7(under_viztracer) - bare
    print(f"{'a call under VizTracer (in memory only)':46}{cost:8.3f} us{cost / plain:8.2f} of it")


LOADERS = (
    ("(a) JPEG, about 5 ms a sample", "jpeg", 8, 0.5),
    ("(b) 20 transforms of 5 us", "tiny", 64, 0.25),
)


def make_dataset(kind: str) -> Dataset[Any]:
    return Jpeg(10**9) if kind == "jpeg" else Tiny(10**9)


class TraceWorker:
    """A ``worker_init_fn`` that starts VizTracer."""

    def __call__(self, worker: int) -> None:
        from viztracer import VizTracer

        self.tracer = VizTracer(verbose=0)
        self.tracer.start()


def viztracer(pairs: int) -> None:
    for name, kind, batch, seconds in LOADERS:
        losses = []
        for number in range(max(2, pairs // 4)):
            order = (TraceWorker(), None) if number % 2 else (None, TraceWorker())
            rates = {init is not None: rate_of(make_dataset(kind), batch, 2 * seconds, init) for init in order}
            losses.append(1 - rates[True] / rates[False])
        low, high = min(losses), max(losses)
        print(
            f"{name:32}1 workers   lost under VizTracer: {statistics.median(losses):7.2%}   ({low:.2%} .. {high:.2%})"
        )


def rate_of(dataset: Dataset[Any], batch: int, seconds: float, init: TraceWorker | None) -> float:
    """Samples per second of a loader with one worker, after it has warmed up."""
    iterator = iter(DataLoader(dataset, batch_size=batch, num_workers=1, worker_init_fn=init))
    for _ in range(16):
        next(iterator)
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        next(iterator)
        count += 1
    return count * batch / (time.perf_counter() - begin)


def throughput(pairs: int) -> None:
    for name, kind, batch, seconds in LOADERS:
        dataset = make_dataset(kind)
        for workers in (1, 2):
            ratios, cpu, rate = on_against_off(dataset, batch, workers, seconds, pairs)
            low, _, high = statistics.quantiles(ratios, n=4)
            loss = 1 - statistics.median(ratios)
            print(
                f"{name:32}{workers} workers{rate:10.0f} samples/s off"
                f"   lost while recording: {loss:7.2%}   (quartiles {1 - high:.2%} .. {1 - low:.2%}, {pairs} pairs)"
                f"   workers' CPU time per sample: {cpu - 1:+.2%}"
            )


def on_against_off(
    dataset: Dataset[Any], batch: int, workers: int, seconds: float, pairs: int
) -> tuple[list[float], float, float]:
    """Throughput on / off of each pair of neighbours, in ABBA order; the median of the same for the workers' CPU time
    per sample, which other programs disturb less; and samples per second when off."""
    loader = annotate.loader(DataLoader(dataset, batch_size=batch, num_workers=workers, prefetch_factor=4))
    session = Session()
    session.begin()
    try:
        iterator = iter(loader)
        for _ in range(16):
            next(iterator)
        spool = session.workers.spool
        assert spool is not None

        def rate(on: bool) -> tuple[float, float]:
            if on:
                spool.open_window()
            for _ in range(4 * workers + 1):  # what was prepared before
                next(iterator)
            begin, count, cpu = time.perf_counter(), 0, cpu_ns(session)
            while time.perf_counter() - begin < seconds:
                next(iterator)
                count += 1
            result = count * batch / (time.perf_counter() - begin), (cpu_ns(session) - cpu) / count
            if on:
                spool.close_window()
                spool.clear()
            return result

        ratios, cpus, offs = [], [], []
        for number in range(pairs):
            order = (True, False) if number % 2 else (False, True)
            found = {on: rate(on) for on in order}
            ratios.append(found[True][0] / found[False][0])
            cpus.append(found[True][1] / found[False][1])
            offs.append(found[False][0])
        return ratios, statistics.median(cpus), statistics.median(offs)
    finally:
        session.end()


def cpu_ns(session: Session) -> int:
    """CPU time of the workers so far, nanoseconds."""
    pids = [pid for _, pid in session.workers.batches.workers]
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["all", "span", "throughput", "viztracer"], default="all")
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=12)
    options = parser.parse_args()
    print(f"python {sys.version.split()[0]}, torch {torch.__version__}, {os.cpu_count()} cores")
    if options.what in ("all", "span"):
        span(options.calls)
    if options.what in ("all", "throughput"):
        throughput(options.pairs)
    if options.what in ("all", "viztracer"):
        viztracer(options.pairs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
