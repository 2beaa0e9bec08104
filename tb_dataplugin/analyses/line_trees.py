"""The stacks of a stage as a tree of functions and lines, with the time of each: what a flame graph draws."""

from __future__ import annotations

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
"""Of the tree of the whole pipeline, which has those of all stages in it."""


@dataclass(frozen=True, slots=True)
class LineTree:
    """Columns, parents before children, the largest first among siblings. `depth` counts callers.

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
    __slots__ = ("below", "frame", "idle", "own", "samples", "total", "waited")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.below: dict[Frame, _Node] = {}
        self.total = self.own = self.waited = self.idle = self.samples = 0.0


_ROOT: Final = Frame("", "", 0, 0, "recorder")


def stage_frame(stage: Stage) -> Frame:
    """What stands for a stage in a tree of frames."""
    return Frame(stage.name, "", 0, 0, "stage")


def grow(hits: Hits, stacks: list[list[Frame]], place: npt.NDArray[np.intp], most: int = MOST_NODES) -> LineTree:
    """`stacks`: distinct ones, outermost frame first; `place`: per sample, which of them; `most`: nodes."""
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
    return _columns(root, most)


def _count(node: _Node, weight: float, waited: float, idle: float, samples: int) -> None:
    node.total, node.waited, node.idle = node.total + weight, node.waited + waited, node.idle + idle
    node.samples += samples


def _columns(root: _Node, most: int) -> LineTree:
    """Depth first. A node that takes too little goes, with what it calls; its time is then its caller's own."""
    everything = _all(root)
    largest = sorted(everything, key=lambda node: -node.total)[:most]
    kept = {id(node) for node in largest if node.total >= LEAST_SHARE * root.total}
    rows: list[tuple[_Node, int, float]] = []
    waiting = [(node, 0) for node in _largest_last(root) if id(node) in kept]
    left_out = [node for node in root.below.values() if id(node) not in kept]
    while waiting:
        node, depth = waiting.pop()
        gone = [child for child in node.below.values() if id(child) not in kept]
        left_out += gone
        rows.append((node, depth, node.own + sum(child.total for child in gone)))
        waiting.extend((child, depth + 1) for child in _largest_last(node) if id(child) in kept)
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


def _largest_last(node: _Node) -> list[_Node]:
    return sorted(node.below.values(), key=lambda child: child.total)


def _all(root: _Node) -> list[_Node]:
    """Callers before what they call: of equal times the caller is kept."""
    found, waiting = [], list(root.below.values())
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(node.below.values())
    return found
