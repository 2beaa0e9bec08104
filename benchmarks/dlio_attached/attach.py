"""One workload in DLIO's environment with `annotate` attached: `attach.py LOGDIR WAIT WARMUP ACTIVE DLIO'S ARGUMENTS`.

What is attached is what a user would write: each DataLoader that DLIO makes is annotated, `annotate.profile` stands
around the whole benchmark, and a step ends where DLIO has measured it: what the profiler itself takes as it starts, and
as it writes its file, falls between DLIO's steps. A clock of this file's own stands around each `next()`, where neither
DLIO nor `annotate` has one. Prints what it says, and the warnings that came up, as JSON in the last line.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

from dlio_benchmark import main as dlio
from dlio_benchmark.data_loader.torch_data_loader import TorchDataLoader
from dlio_benchmark.utils.statscounter import StatsCounter

import annotate


def timed(batches: Iterator[Any], seconds: list[float]) -> Iterator[Any]:
    """The same batches; none is kept, because the release of a batch is not the time of the next."""
    while True:
        began = time.perf_counter()
        try:
            batch = next(batches)
        except StopIteration:
            return
        seconds.append(time.perf_counter() - began)
        yield batch
        del batch


def main() -> None:
    logdir, wait, warm_up, active, *arguments = sys.argv[1:]
    sys.argv[1:] = arguments
    read, following, processed = TorchDataLoader.read, TorchDataLoader.next, StatsCounter.batch_processed
    seconds: list[float] = []

    def read_annotated(self: Any) -> None:
        read(self)
        annotate.loader(self._dataset)

    def timed_next(self: Any) -> Iterator[Any]:
        return timed(following(self), seconds)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with annotate.profile(logdir, wait=int(wait), warmup=int(warm_up), active=int(active)) as prof:

            def processed_and_step(self: Any, *arguments: Any, **keywords: Any) -> None:
                processed(self, *arguments, **keywords)
                prof.step()

            TorchDataLoader.read, TorchDataLoader.next = read_annotated, timed_next
            StatsCounter.batch_processed = processed_and_step
            dlio.main()
    said = sorted({f"{one.category.__name__}: {one.message}" for one in seen})
    print(json.dumps({"warnings": said, "next_s": seconds}))


if __name__ == "__main__":
    main()
