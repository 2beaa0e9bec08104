"""A training thread that draws its batches from a queue, which another thread of its process fills from the DataLoader.

No span says how long it waits: the data wait is unknown. But samples of its stack show it in ``queue.get``, and those
of the other thread what that does meanwhile: it may wait for the DataLoader, or work on its batches.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.code_places import Place, home_of
from tb_dataplugin.analyses.fed_loop import is_fed
from tb_dataplugin.analyses.line_rows import Estimate, estimate
from tb_dataplugin.analyses.onlook import LOADER
from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.model.line_samples import Frame, LineSamples, SampledStacks, Stacks
from tb_dataplugin.model.trace import Trace

Weights = np.ndarray[tuple[int], np.dtype[np.float64]]

LEAST_SAMPLES: Final = 30
"""Of the training thread in the window: fewer do not show whether it waits."""

LEAST_OF_FILLER: Final = 10
"""While the training thread waits for it."""

_QUEUES: Final = re.compile(r"/queue\.py$")


@dataclass(frozen=True, slots=True)
class OwnWork:
    """Of the thread that fills the queue, while the training thread waits for it: `part` of that in code of its own,
    not in the DataLoader's. `place`: its line with most of it, None where no line of the program was seen.
    """

    part: Estimate
    place: Place | None


@dataclass(frozen=True, slots=True)
class QueueWait:
    """`part`: of the window, by samples of the training thread. `place`: the line that calls the queue. `filler`: None
    where the thread that fills it was not seen.
    """

    part: Estimate
    samples: int
    place: Place
    filler: OwnWork | None = None


def find_queue_wait(trace: Trace, window: Window) -> QueueWait | None:
    """None where no other thread takes batches from a loader, or the training thread was not seen to wait for it. Only
    for traces in which the data wait is unknown.
    """
    pipeline = trace.info.pipeline
    samples = pipeline.lines if pipeline else None
    training = next((thread for thread in samples or () if thread.is_training), None)
    if samples is None or training is None or not is_fed(trace, window):
        return None
    rows = (training.time_ns >= window.start_ns) & (training.time_ns < window.end_ns) & (training.stack >= 0)
    if rows.sum() < LEAST_SAMPLES:
        return None
    stack, weight = training.stack[rows], _weights(training, samples.is_outside)[rows]
    places: dict[Place, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    for node in np.unique(stack).tolist():
        place = _waits_at(samples.stacks.inwards(node))
        if place is not None:
            places[place] = places.get(place, np.zeros(len(stack), dtype=np.bool_)) | (stack == node)
    if not places:
        return None
    place = max(places, key=lambda each: float(weight[places[each]].sum()))
    waits = places[place]
    filler = _filler(samples, training.pid, training.time_ns[rows][waits], weight[waits])
    return QueueWait(estimate(weight, weight * waits), len(stack), place, filler)


def _filler(samples: LineSamples, pid: int, times: Int64Array, weight: Weights) -> OwnWork | None:
    """What the thread of that process which takes batches from a DataLoader does at these times."""
    stacks = samples.stacks
    in_loader = np.array([LOADER in frame.file for frame in stacks.frames] or [False])
    takes = [thread for thread in samples.threads if thread.pid == pid and not thread.is_training]
    counts = [sum(_passes(stacks, node, in_loader) for node in thread.stack.tolist()) for thread in takes]
    if not counts or not max(counts):
        return None
    thread = takes[int(np.argmax(counts))]
    nearest = np.clip(np.searchsorted(thread.time_ns, times), 0, len(thread.time_ns) - 1)
    nodes = thread.stack[nearest]
    seen, weight = nodes[nodes >= 0], weight[nodes >= 0]
    if len(seen) < LEAST_OF_FILLER:
        return None
    own = np.array([not _passes(stacks, node, in_loader) for node in seen.tolist()])
    lines: Counter[Place] = Counter()
    for node, each in zip(seen[own].tolist(), weight[own].tolist(), strict=True):
        home = home_of(stacks.inwards(node))
        if home is not None and home.is_user:
            lines[home.place] += each
    return OwnWork(estimate(weight, weight * own), max(lines, key=lambda line: lines[line], default=None))


def _passes(stacks: Stacks, node: int, marked: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bool:
    """Whether a frame of the stack is marked."""
    while node >= 0:
        if marked[stacks.frame[node]]:
            return True
        node = int(stacks.parent[node])
    return False


def _weights(thread: SampledStacks, is_outside: bool) -> Weights:
    return thread.weight_ns(not is_outside).astype(np.float64)


def _waits_at(frames: list[Frame]) -> Place | None:
    """The user's line below which a queue's ``get`` runs."""
    at = next((at for at, frame in enumerate(frames) if _QUEUES.search(frame.file)), None)
    if at is None or frames[at].function.rpartition(".")[2] != "get":
        return None
    home = home_of(frames[:at])
    return home.place if home is not None and home.is_user else None
