"""The stacks of a stage as a tree of functions and lines, with the time of each: what a flame graph draws.

Left-heavy (`grow`: equal callers are one node, the largest first), or in time order (`grow_in_order`: only neighbours
are one node).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import Stage
from tb_dataplugin.analyses.line_hits import Hits
from tb_dataplugin.model.line_samples import Frame

LEAST_SHARE: Final = 0.002
"""Of the tree: what takes less is left out, and counts as its caller's own."""

MOST_NODES: Final = 400
MOST_NODES_OF_ALL: Final = 1500
MOST_IN_ORDER: Final = 300
MOST_IN_ORDER_OF_ALL: Final = 800
"""Of the tree of the whole pipeline, which has those of all stages in it."""


@dataclass(frozen=True, slots=True)
class LineTree:
    """Columns, parents before children, among siblings the largest first, or in time order. `depth` counts callers.

    `total_ns` has what a node calls in it, `self_ns` has not; `waited_ns`, `idle_ns`: the parts of `total_ns` that the
    training thread waited for, and in which a device was idle; `samples`: in `total_ns`.
    `left_out` counts the nodes that are not here, `left_out_ns` is their time.
    """

    frame: tuple[Frame, ...]
    depth: tuple[int, ...]
    total_ns: tuple[int, ...]
    self_ns: tuple[int, ...]
    waited_ns: tuple[int, ...]
    idle_ns: tuple[int, ...]
    samples: tuple[int, ...]
    left_out: int
    left_out_ns: int


class _Node:
    __slots__ = ("below", "frame", "idle", "latest", "own", "samples", "total", "waited")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.below: dict[Hashable, _Node] = {}
        self.latest: _Node | None = None
        """Of `below`, where they are in time order."""
        self.total = self.own = self.waited = self.idle = self.samples = 0.0


FOR_ANOTHER_LOADER: Final = "for another DataLoader"
"""Stands above what is for a DataLoader beside the training loop's, as an evaluation's."""

_ROOT: Final = Frame("", "", 0, 0, "recorder")


def thread_frame(name: str) -> Frame:
    """What stands for a thread in a tree of frames."""
    return Frame(name, "", 0, 0, "stage")


FOR_OTHERS: Final = thread_frame(FOR_ANOTHER_LOADER)
"""What stands above all that is for another DataLoader."""


def stage_frame(stage: Stage) -> Frame:
    """What stands for a stage in a tree of frames."""
    return Frame(stage.name, "", 0, 0, "stage")


def grow(hits: Hits, stacks: list[list[Frame]], place: npt.NDArray[np.intp], most: int | None = MOST_NODES) -> LineTree:
    """`stacks`: distinct ones, outermost frame first; `place`: per sample, which of them; `most`: nodes; None: all."""
    root = _Node(_ROOT)
    weights = [np.bincount(place, column, len(stacks)) for column in (hits.weight_ns, hits.waited_ns, hits.idle_ns)]
    columns = (*weights, np.bincount(place, minlength=len(stacks)))
    for frames, *values in zip(stacks, *(column.tolist() for column in columns), strict=True):
        node = root
        _count(node, *values)
        for frame in frames:
            node = node.below.setdefault(frame, _Node(frame))
            _count(node, *values)
        node.own += values[0]
    return _columns(root, most, 0.0 if most is None else LEAST_SHARE)


def grow_in_order(
    hits: Hits,
    stacks: list[list[Frame]],
    place: npt.NDArray[np.intp],
    names: Sequence[str],
    most: int | None = MOST_IN_ORDER,
) -> LineTree:
    """One thread after the other; what passes between two samples of a part, outside of it, is no width.

    Args:
        most: nodes; None: all.
        names: of threads, by row of the trace: where there are several, each is a node above its functions.
    """
    root, several = _Node(_ROOT), len(np.unique(hits.track)) > 1
    order = np.lexsort((hits.time_ns, hits.track))
    track, number = hits.track[order], place[order]
    first = np.flatnonzero(np.diff(track, prepend=-1) | np.diff(number, prepend=-1))  # of samples of the same stack
    weights = (hits.weight_ns, hits.waited_ns, hits.idle_ns)
    sums = [np.add.reduceat(column[order], first) if len(first) else column for column in weights]
    columns = (track[first], number[first], *sums, np.diff(first, append=len(order)))
    for thread, stack, *values in zip(*(column.tolist() for column in columns), strict=True):
        node = root
        _count(node, *values)
        for frame in (*((thread_frame(names[thread]),) if several else ()), *stacks[stack]):
            node = _next(node, frame)
            _count(node, *values)
        node.latest = None  # it runs itself: what it called has returned
        node.own += values[0]
    return _columns(root, most, 0.0, in_order=True)


def _next(node: _Node, frame: Frame) -> _Node:
    """The node of `frame` below: the latest one where it is of the same frame."""
    if node.latest is None or node.latest.frame != frame:
        node.latest = node.below[len(node.below)] = _Node(frame)
    return node.latest


def _count(node: _Node, weight: float, waited: float, idle: float, samples: int) -> None:
    node.total, node.waited, node.idle = node.total + weight, node.waited + waited, node.idle + idle
    node.samples += samples


def _columns(root: _Node, most: int | None, least_share: float, *, in_order: bool = False) -> LineTree:
    """Depth first. A node that takes too little goes, with what it calls; its time is then its caller's own."""
    everything = _all(root)
    largest = sorted(everything, key=lambda node: -node.total)[:most]
    kept = {id(node) for node in largest if node.total >= least_share * root.total}
    rows: list[tuple[_Node, int, float]] = []
    waiting = [(node, 0) for node in _last_first(root, in_order) if id(node) in kept]
    left_out = [node for node in root.below.values() if id(node) not in kept]
    while waiting:
        node, depth = waiting.pop()
        gone = [child for child in node.below.values() if id(child) not in kept]
        left_out += gone
        rows.append((node, depth, node.own + sum(child.total for child in gone)))
        waiting.extend((child, depth + 1) for child in _last_first(node, in_order) if id(child) in kept)
    return LineTree(
        frame=tuple(node.frame for node, _, _ in rows),
        depth=tuple(depth for _, depth, _ in rows),
        total_ns=tuple(round(node.total) for node, _, _ in rows),
        self_ns=tuple(round(own) for _, _, own in rows),
        waited_ns=tuple(round(node.waited) for node, _, _ in rows),
        idle_ns=tuple(round(node.idle) for node, _, _ in rows),
        samples=tuple(int(node.samples) for node, _, _ in rows),
        left_out=len(everything) - len(rows),
        left_out_ns=round(sum(node.total for node in left_out)),
    )


def _last_first(node: _Node, in_order: bool) -> list[_Node]:
    below = list(node.below.values())
    return below[::-1] if in_order else sorted(below, key=lambda child: child.total)


def _all(root: _Node) -> list[_Node]:
    """Callers before what they call: of equal times the caller is kept."""
    found, waiting = [], list(root.below.values())
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(node.below.values())
    return found
