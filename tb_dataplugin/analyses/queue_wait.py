"""A training thread that draws its batches from a queue, which another thread of its process fills from the DataLoader.

No span says how long it waits: the data wait is unknown. But samples of its stack show it in ``queue.get``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.code_places import Place, home_of
from tb_dataplugin.analyses.fed_loop import is_fed
from tb_dataplugin.analyses.line_rows import Estimate, estimate
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.line_samples import Frame, SampledStacks
from tb_dataplugin.model.trace import Trace

LEAST_SAMPLES: Final = 30
"""Of the training thread in the window: fewer do not show whether it waits."""

_QUEUES: Final = re.compile(r"/queue\.py$")


@dataclass(frozen=True, slots=True)
class QueueWait:
    """`part`: of the window, by samples of the training thread. `place`: the line that calls the queue."""

    part: Estimate
    samples: int
    place: Place


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
    return QueueWait(estimate(weight, weight * places[place]), len(stack), place)


def _weights(thread: SampledStacks, is_outside: bool) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return thread.weight_ns(not is_outside).astype(np.float64)


def _waits_at(frames: list[Frame]) -> Place | None:
    """The user's line below which a queue's ``get`` runs."""
    at = next((at for at, frame in enumerate(frames) if _QUEUES.search(frame.file)), None)
    if at is None or frames[at].function.rpartition(".")[2] != "get":
        return None
    home = home_of(frames[:at])
    return home.place if home is not None and home.is_user else None
