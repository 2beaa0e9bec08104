"""How many files the DataLoader workers of an iterable dataset opened in the window.

Such a dataset often goes through large files (shards), one after the other. A window that lies in few of them is as
slow or as quick as these are, and its batches resemble each other more than those of an epoch do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.results import Results

FEW: Final = 3
"""Files that a worker opened in the window, from which it has seen several: below that one may be all it read."""

PLAIN: Final = frozenset(("file", "open"))
ARCHIVE: Final = "tarfile"
"""Labels of reads of files; what begins those of an archive's members. Other libraries open their files unseen."""


@dataclass(frozen=True, slots=True)
class FewFiles:
    """Files that a worker opened: the fewest and the most of all workers."""

    least: int
    most: int
    workers: int


def find_few_files(results: Results) -> FewFiles | None:
    """None where that is many, where it is not known, and where the steady state is not estimated."""
    if results.settings is None or not results.settings.iterable or results.steady is None:
        return None
    if results.steady.share is None:
        return None
    tree, counts = results.tree, []
    labels = np.array([path[-1].label if path[-1].kind == "read" else "" for path in tree.paths])[tree.node]
    here = tree.starts_in(results.window)
    for track, process in results.trace.worker_tracks().items():
        mine = (tree.track == track) & here
        if process.loader not in results.use.loops or not mine.any():
            continue
        opened = _opened(labels[mine & (labels != "")].tolist())
        if opened is None:
            return None
        counts.append(opened)
    if not counts or max(counts) >= FEW:
        return None
    return FewFiles(min(counts), max(counts), len(counts))


def _opened(reads: Sequence[str]) -> int | None:
    """How many files, by the labels of the reads of a worker; None where that is not known. An archive may be given an
    open file: that is one.
    """
    of_archives = [label for label in reads if label.partition(".")[0] == ARCHIVE]
    if not reads or any(label not in PLAIN for label in reads if label not in of_archives):
        return None
    return reads.count(f"{ARCHIVE}.open" if of_archives else "open")


def few_files_sentence(few: FewFiles) -> str:
    files = "1 file" if few.most == 1 else f"{few.most} files"
    opened = f"between {few.least} and {files}" if few.least < few.most else files if few.most else "no file"
    each = "each of the DataLoader workers" if few.workers > 1 else "the DataLoader worker"
    return (
        f"In the window {each} opened {opened}, so the steady state and its interval are those of the few files "
        "(shards) that were read in it: if others take longer or less, so do their batches. Record a longer window, or "
        "another one, to see more of them"
    )
