"""What closing a window costs: seconds and peak memory of merging a million worker spans, bytes per span in the spool.

python benchmarks/closing.py [--spans 1000000]
"""

from __future__ import annotations

import argparse
import gzip
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.capture import profiling
from annotate.options import WorkerLimits
from annotate.trace import merge, writer


class Made(Dataset[int]):
    """Samples with many spans, made as fast as they can be."""

    def __init__(self, samples: int, each: int) -> None:
        self.samples = samples
        self.transform = annotate.compose([int] * (each - 1))

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> int:
        result: int = self.transform(index)
        return result


def measure(spans: int) -> None:
    """Record about `spans` spans in real workers, and time what happens when the window closes."""
    times: dict[str, float] = {}
    disk: list[int] = []

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                times[name] = times.get(name, 0) + time.perf_counter() - begin

        return call

    read = merge.WorkerRows.read

    def look_and_read(self: merge.WorkerRows) -> None:
        assert self._capture.spool is not None
        disk.append(sum(path.stat().st_size for path in self._capture.spool.files()))
        read(self)

    merge.WorkerRows.read = look_and_read  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        loader = annotate.loader(DataLoader(Made(spans // 20, 20), batch_size=256, num_workers=2))
        every: Callable[[int], Any] = record_all
        with annotate.profile(folder, schedule=every, workers=WorkerLimits(spool_bytes=1 << 32)) as prof:
            for _ in loader:
                pass
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            writer.write_trace = profiling.writer.write_trace = timed("write", writer.write_trace)
            prof.step()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = Path(prof.trace_files[0]).stat().st_size
        count = count_spans(prof.trace_files[0])
    print(f"window of {count:,} spans from 2 workers: closed in {times['write']:.2f} s (Kineto's own export included)")
    print(
        f"peak memory before {before / 1024:.0f} MB, after {after / 1024:.0f} MB: {(after - before) / 1024:.0f} MB more"
    )
    print(f"{disk[0] / count:.1f} bytes per span in the spool; trace file {size / 1e6:.0f} MB")


def record_all(step: int) -> Any:
    from torch.profiler import ProfilerAction

    return ProfilerAction.RECORD_AND_SAVE if step == 0 else ProfilerAction.NONE


def count_spans(path: str) -> int:
    return sum(block.count(b'"worker":') for block in blocks(path))


def blocks(path: str) -> Iterator[bytes]:
    with gzip.open(path) as file:
        yield from file


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=1_000_000)
    measure(parser.parse_args().spans)
