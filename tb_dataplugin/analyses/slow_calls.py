"""The slowest calls of a stage: who ran each, for which batch and sample, and in which line it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import THREAD_STATES
from tb_dataplugin.analyses.code_places import Home, Place, home_of, inside_stage, place_of
from tb_dataplugin.analyses.hot_lines import HotLines
from tb_dataplugin.analyses.line_waits import WaitedFor, waited_for
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.model.beside_events import SpanFacts
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.model.line_samples import Frame
from tb_dataplugin.model.trace import Trace, WorkerProcess

MOST: Final = 10
_BLOCKED: Final = THREAD_STATES.index("blocked")
LEAST_SAMPLES: Final = 5
"""In a call: with fewer, the line that most of them are in is chance."""


@dataclass(frozen=True, slots=True)
class SlowCall:
    """None: not recorded. `worker` ran it; without one `is_training` says whether it was the training thread.

    `files`: that the sample it is in was read from; the recorder keeps those of the slowest samples. `samples` counts
    the stacks that were sampled in it, `place_samples` those in the line that most of them were in.
    """

    start_ns: int
    duration_ns: int
    """Without readings of CPU time that waited for a CPU (`cpu_readings`), which `span_ns` has."""
    span_ns: int
    self_ns: int
    worker: WorkerProcess | None
    is_training: bool
    epoch: int | None
    batch: int | None
    index: int | None
    samples: int
    place: Place | None
    place_samples: int
    blocked: int = 0
    """Of `samples`: it waited, for whatever `words.BLOCKED_BY` lists."""
    files: tuple[str, ...] = ()


class Calls:
    """All calls of all stages, and what was sampled in them."""

    def __init__(self, trace: Trace, tree: StageTree, lines: HotLines | None) -> None:
        self.trace, self.tree = trace, tree
        self.facts: SpanFacts = trace.span_facts
        self.tracks = trace.worker_tracks()
        self._hits = lines.hits if lines else None
        pipeline = trace.info.pipeline
        self._stacks = pipeline.lines.stacks if lines and pipeline and pipeline.lines else None

    def loaders(self, calls: npt.NDArray[np.intp]) -> Int64Array:
        """Number of the loader of each call's DataLoader worker; -1 for other threads."""
        known = {track: process.loader for track, process in self.tracks.items()}
        return int64([known.get(track, -1) for track in self.tree.track[calls].tolist()])

    def inherited(self, call: int, column: Int64Array) -> int | None:
        """The value of a call, else of the innermost span around it that has one."""
        while call >= 0:
            if column[call] >= 0:
                return int(column[call])
            call = int(self.tree.parent[call])
        return None

    def files(self, call: int) -> tuple[str, ...]:
        """Of the innermost sample around a call, itself included."""
        while call >= 0:
            if call in self.facts.files:
                return self.facts.files[call]
            call = int(self.tree.parent[call])
        return ()

    def places(self, call: int) -> tuple[int, int, Counter[Place]]:
        """Stacks sampled in a call, how many of them were blocked, and how many in which line."""
        stacks, states = self._sampled(call)
        return len(stacks), int((states == _BLOCKED).sum()), self._places(stacks)

    def blocked_at(self, call: int) -> tuple[Place | None, WaitedFor | None]:
        """The line in which a call was blocked most, and what for; None where that was not seen, or is not known."""
        stacks, states = self._sampled(call)
        stacks = stacks[states == _BLOCKED]
        places = self._places(stacks)
        if not places:
            return None, None
        place = places.most_common(1)[0][0]
        below = [frames for home, frames in self._homes(stacks) if home.place == place]
        reasons = Counter(waited_for(place.source, frames) for frames in below)
        return place, reasons.most_common(1)[0][0]

    def _sampled(self, call: int) -> tuple[Int64Array, Int64Array]:
        """Stacks in a call, and states of its thread."""
        hits, tree = self._hits, self.tree
        if hits is None:
            return int64([]), int64([])
        rows = hits.track == tree.track[call]
        rows &= (hits.time_ns >= tree.start_ns[call]) & (hits.time_ns < tree.end_ns[call])
        return hits.stack[rows], hits.state[rows]

    def _places(self, sampled: Int64Array) -> Counter[Place]:
        return Counter(home.place for home, _ in self._homes(sampled))

    def _homes(self, sampled: Int64Array) -> Iterator[tuple[Home, list[Frame]]]:
        """Each with the library's frames from it on, outermost first."""
        if self._stacks is None:
            return
        for stack in sampled.tolist():
            frames = inside_stage(self._stacks.inwards(stack))
            home = home_of(frames)
            if home is not None:
                at = max(at for at, frame in enumerate(frames) if place_of(frame) == home.place)
                yield home, [frame for frame in frames[at:] if frame.origin == "library"]


def describe_calls(calls: Calls, here: npt.NDArray[np.intp]) -> Iterator[SlowCall]:
    """The slowest of `here`, the longest first."""
    tree = calls.tree
    start, took = tree.start_ns[here], tree.took_ns
    for call in here[np.lexsort((start, -took[here]))[:MOST]].tolist():
        samples, blocked, places = calls.places(call)
        place, count = places.most_common(1)[0] if places and samples >= LEAST_SAMPLES else (None, 0)
        yield SlowCall(
            start_ns=int(tree.start_ns[call]),
            duration_ns=int(took[call]),
            span_ns=int(tree.end_ns[call] - tree.start_ns[call]),
            self_ns=int(tree.self_ns[call] - tree.own_reading_ns[call]),
            worker=calls.tracks.get(int(tree.track[call])),
            is_training=int(tree.track[call]) == calls.trace.training_track,
            epoch=calls.inherited(call, calls.facts.epoch),
            batch=calls.inherited(call, calls.facts.batch),
            index=calls.inherited(call, calls.facts.index),
            samples=samples,
            place=place,
            place_samples=count,
            blocked=blocked,
            files=calls.files(call),
        )
