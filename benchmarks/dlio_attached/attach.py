"""One workload in DLIO's environment with `annotate` attached: `attach.py LOGDIR WAIT WARMUP ACTIVE DLIO'S ARGUMENTS`.

What is attached is what a user would write: each DataLoader that DLIO makes is annotated, `annotate.profile` stands
around the whole benchmark, and a step ends where DLIO has measured it: what the profiler itself takes as it starts, and
as it writes its file, falls between DLIO's steps. Prints the warnings that came up as JSON, in the last line.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

from dlio_benchmark import main as dlio
from dlio_benchmark.data_loader.torch_data_loader import TorchDataLoader
from dlio_benchmark.utils.statscounter import StatsCounter

import annotate


def main() -> None:
    logdir, wait, warm_up, active, *arguments = sys.argv[1:]
    sys.argv[1:] = arguments
    read, processed = TorchDataLoader.read, StatsCounter.batch_processed

    def read_annotated(self: Any) -> None:
        read(self)
        annotate.loader(self._dataset)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with annotate.profile(logdir, wait=int(wait), warmup=int(warm_up), active=int(active)) as prof:

            def processed_and_step(self: Any, *arguments: Any, **keywords: Any) -> None:
                processed(self, *arguments, **keywords)
                prof.step()

            TorchDataLoader.read, StatsCounter.batch_processed = read_annotated, processed_and_step
            dlio.main()
    print(json.dumps(sorted({f"{one.category.__name__}: {one.message}" for one in seen})))


if __name__ == "__main__":
    main()
