"""What threads run that have Python's lock while the training thread waits for it, by samples of their stacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from annotate.trace_format import THREAD_STATES
from tb_dataplugin.analyses.code_places import Home, Place, home_of, package_of, place_of, qualified
from tb_dataplugin.analyses.line_hits import OUTSIDE, Hits
from tb_dataplugin.analyses.line_rows import LineRow, line_rows
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.line_samples import Frame, LineSamples, SampledStacks

FEWEST: Final = 20
"""Samples of a thread while it runs, below which nothing is said of it."""

_STARTS: Final = re.compile(r"/(?:threading|concurrent/futures/\w+)\.py$")
"""Python's own way to what a thread was started with."""

_RUNNING: Final = THREAD_STATES.index("running")
_EVERYBODYS: Final = "torch"
"""A package that is on so many stacks that it relates nobody to anybody."""


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A thread beside the training thread. `runs`: what it was started with; `module` is that of a library
    (``tensorboard.summary.writer.event_file_writer``), `package` the library; both "" where it is the user's own.
    `row`: its hottest line, as a share of the time that it runs.
    """

    runs: Place
    module: str
    package: str
    row: LineRow


def find_lock_holders(
    samples: LineSamples, frames_of: Callable[[int], list[Frame]], window: Window
) -> Mapping[str, LockHolder]:
    """By name. Without threads that have too few samples."""
    found = {name: _holder(thread, frames_of, window) for name, thread in samples.holders.items()}
    return {name: holder for name, holder in found.items() if holder is not None}


def _holder(thread: SampledStacks, frames_of: Callable[[int], list[Frame]], window: Window) -> LockHolder | None:
    hits = _running(thread, window)
    stacks, place = np.unique(hits.stack, return_inverse=True)
    own = [_started_with(frames_of(stack)) for stack in stacks.tolist()]
    homes: list[Home | None] = [home_of(frames) if frames else None for frames in own]
    rows = line_rows(hits, homes, place, has_device=False) if len(hits) >= FEWEST else ()
    if not rows or not rows[0].samples:
        return None
    counts = np.bincount(place)
    first = own[max((number for number, frames in enumerate(own) if frames), key=lambda number: counts[number])][0]
    package = package_of(first)
    module = qualified(first).removesuffix(f".{place_of(first).function}") if package else ""
    return LockHolder(place_of(first), module, "" if package == _EVERYBODYS else package, rows[0])


def _started_with(frames: list[Frame]) -> list[Frame]:
    at = next((at for at, frame in enumerate(frames) if not _STARTS.search(frame.file)), len(frames))
    return frames[at:]


def _running(thread: SampledStacks, window: Window) -> Hits:
    inside = (thread.time_ns >= window.start_ns) & (thread.time_ns < window.end_ns)
    chosen = np.flatnonzero(inside & (thread.stack >= 0) & (thread.state == _RUNNING))
    weight, none = thread.weight_ns(by_elapsed=False)[chosen].astype(np.float64), np.zeros(len(chosen))
    return Hits(
        stack=thread.stack[chosen],
        track=np.full(len(chosen), -1, dtype=np.int64),
        node=np.full(len(chosen), OUTSIDE, dtype=np.int64),
        time_ns=thread.time_ns[chosen],
        state=thread.state[chosen],
        is_training=np.zeros(len(chosen), dtype=np.bool_),
        weight_ns=weight,
        waited_ns=none,
        idle_ns=none,
        for_others=np.zeros(len(chosen), dtype=np.bool_),
    )


def libraries_below(frames: list[Frame]) -> frozenset[str]:
    """Names of packages and modules whose code the innermost line of the user's calls: a library for another one is
    called like it (``torch/utils/tensorboard``), and what it starts is in that.
    """
    found: set[str] = set()
    for frame in reversed(frames):
        if frame.origin == "user":
            break
        _, installed, path = frame.file.replace("\\", "/").rpartition("-packages/")
        found.update(path.removesuffix(".py").split("/") if installed else ())
    return frozenset(found)
