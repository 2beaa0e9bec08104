"""The stacks of a stage as a tree of functions and lines, with the time of each: what a flame graph draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.line_hits import Hits
from tb_dataplugin.model.line_samples import Frame

LEAST_SHARE: Final = 0.002
"""Of the tree: what takes less is left out, and counts as its caller's own."""

MOST_NODES: Final = 400


@dataclass(frozen=True, slots=True)
class LineTree:
    """Columns, parents before children, the largest first among siblings. `depth` counts callers.

    `total_ns` has what a node calls in it, `self_ns` has not; `waited_ns`, `idle_ns`: the parts of `total_ns` that the
    training thread waited for, and in which a device was idle.
    """

    frame: tuple[Frame, ...]
    depth: tuple[int, ...]
    total_ns: tuple[int, ...]
    self_ns: tuple[int, ...]
    waited_ns: tuple[int, ...]
    idle_ns: tuple[int, ...]


class _Node:
    __slots__ = ("below", "frame", "idle", "own", "total", "waited")

    def __init__(self, frame: Frame | None) -> None:
        self.frame = frame
        self.below: dict[Frame, _Node] = {}
        self.total = self.own = self.waited = self.idle = 0.0


def grow(hits: Hits, stacks: list[list[Frame]], place: npt.NDArray[np.intp]) -> LineTree:
    """`stacks`: distinct ones, outermost frame first; `place`: per sample, which of them."""
    root = _Node(None)
    weights = [np.bincount(place, column, len(stacks)) for column in (hits.weight_ns, hits.waited_ns, hits.idle_ns)]
    for frames, weight, waited, idle in zip(stacks, *(column.tolist() for column in weights), strict=True):
        node = root
        for frame in (None, *frames):
            node = node if frame is None else node.below.setdefault(frame, _Node(frame))
            node.total, node.waited, node.idle = node.total + weight, node.waited + waited, node.idle + idle
        node.own += weight
    rows = _pruned(root)
    return LineTree(
        frame=tuple(node.frame for node, _, _ in rows if node.frame is not None),
        depth=tuple(depth for _, depth, _ in rows),
        total_ns=tuple(round(node.total) for node, _, _ in rows),
        self_ns=tuple(round(own) for _, _, own in rows),
        waited_ns=tuple(round(node.waited) for node, _, _ in rows),
        idle_ns=tuple(round(node.idle) for node, _, _ in rows),
    )


def _pruned(root: _Node) -> list[tuple[_Node, int, float]]:
    """Nodes that count, with their depth and own time: depth first."""
    sizes = sorted((node.total for node in _all(root)), reverse=True)
    least = max(LEAST_SHARE * root.total, sizes[MOST_NODES] if len(sizes) > MOST_NODES else 0.0)
    rows: list[tuple[_Node, int, float]] = []
    waiting = [(node, 0) for node in _largest_last(root)]
    while waiting:
        node, depth = waiting.pop()
        if node.total > least or (node.total == least and len(rows) < MOST_NODES):
            below = _largest_last(node)
            left_out = sum(child.total for child in below if child.total < least)
            rows.append((node, depth, node.own + left_out))
            waiting.extend((child, depth + 1) for child in below)
    return rows


def _largest_last(node: _Node) -> list[_Node]:
    return sorted(node.below.values(), key=lambda child: child.total)


def _all(root: _Node) -> list[_Node]:
    found, waiting = [], list(root.below.values())
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(node.below.values())
    return found
