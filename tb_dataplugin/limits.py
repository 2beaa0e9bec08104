"""How much structure of one trace is analysed: every limit that a file can hit, with its reason.

Time and memory are in proportion to the file; what would multiply (stages by threads, devices by gaps, depth by
labels) is limited here instead. Each limit is far above what real captures have, and a capture that hits one says so
in one line (`over`): nothing is left out silently. Limits on text that is no JSON stand with the code that reads it
(`reader/chrome.py`, `reader/elements.py`), those on gzip data in `reader/source.py`.
"""

from __future__ import annotations

from typing import Final

from tb_dataplugin.diagnostics import DiagnosticsCollector

MOST_DEVICES: Final = 64
"""One process drives the devices of one host: 8 of them in most, 64 where each is split into 8 partitions.
Every device has its own table of gaps in the report."""

ALL_GAPS: Final = 8000
"""Gaps listed with their chains, of all devices together (`AnalysisOptions.max_gaps` of each): 8 devices have 1000."""

MOST_STREAMS: Final = 128
"""Rows of a device's lane in the timeline; the other streams share one more row. CUDA has 128 hardware queues."""

MOST_THREADS: Final = 1024
"""Host threads, those of DataLoader workers included. Each has lanes in the timeline, and its own set of times."""

MOST_LAUNCHERS: Final = 32
"""Threads per device whose own activity explains the gaps that their launches ended: autograd has one per device, and
pipelines a few. The launches of further threads count as not recorded."""

MOST_DEPTH: Final = 64
"""Stages inside stages. Each level is a row in the timeline, and the path of a stage names all levels above it."""

MOST_STAGES: Final = 2000
"""Different stages, each with its enclosing stages. Nobody reads a page of 2,000 rows."""

MOST_NAME: Final = 65_536
"""Characters of a name. Real ones, of kernels that are C++ templates, reach 10,000."""

MOST_FILES: Final = 10_000
"""Samples whose files are known. `annotate` writes those of the slowest 32 of each process, or some more."""

MOST_PATHS: Final = 4
"""Files of one sample: as many as `annotate` writes."""

MOST_PATH: Final = 4096
"""Characters of a path, as on Linux."""

MOST_LABEL: Final = 256
"""Characters of a stage's label: a report repeats it in every path through that stage."""

MOST_SERIES: Final = 2048
"""Series of counters: one per core of the host, and one per disk and network interface."""

MOST_LINES: Final = 32
"""Lines of one chart in the timeline: more look alike."""

MOST_WORKERS: Final = 1024
"""DataLoader worker processes in one capture, also those that a new epoch started again."""

MOST_STEPS: Final = 100_000
"""Steps that `annotate` saw end where no profiler marks them; it writes at most so many."""

MOST_SAMPLED_NODES: Final = 1_000_000
"""Nodes of the tree of all stacks that were sampled. `annotate` writes at most 200,000; windows have some thousand."""

MOST_SETTINGS: Final = 1000
"""Entries of each list that `annotate` writes beside the batches: loaders, versions, notes. It writes about ten."""

MOST_ROWS: Final = 4000
"""Rows of the whole timeline: each costs every picture some microseconds, whether it has boxes in it or not."""


LIMIT_PREFIX: Final = "limit_"
"""Begins the code of every diagnostic that says a limit was hit."""


def over(diagnostics: DiagnosticsCollector, what: str, count: int, message: str) -> None:
    """Notes that the limit on `what` was hit by `count` too many; `message` says what became of them."""
    diagnostics.add(f"{LIMIT_PREFIX}{what}", message, count)
