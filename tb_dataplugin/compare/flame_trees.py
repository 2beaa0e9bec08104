"""Trees of functions of two sides: captures of one side added up, both sides joined by function and file, wherever the
file lies: sides are often recorded in two checkouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.report import report_pb2 as pb


class Function(NamedTuple):
    name: str
    file: str
    origin: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What frames are joined by: a line moves when code above it is edited, and a folder is another's."""
        return self.name, Place(self.name, self.file, 0).short if self.file else "", self.origin


ROOT: Final = Function("", "", "")


@dataclass(slots=True)
class Amount:
    """Microseconds per unit with and without what is called, samples, and in which lines they were."""

    total: float = 0.0
    own: float = 0.0
    samples: int = 0
    lines: dict[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class SideTree:
    """A function and what it calls, by key; the root has no function."""

    function: Function = ROOT
    amount: Amount = field(default_factory=Amount)
    below: dict[tuple[str, str, str], SideTree] = field(default_factory=dict)

    def add(self, tree: pb.LineTree, per: Callable[[str], float]) -> None:
        """Adds a capture's tree, its times over how many units the times of its outermost function are `per`."""
        above: list[SideTree] = [self]
        units = 1.0
        for row, depth in enumerate(tree.depth):
            del above[depth + 1 :]
            function = Function(tree.names[tree.label[row]], tree.names[tree.file[row]], tree.origin[row])
            units = units if depth else per(function.name)
            node = above[-1].below.setdefault(function.key, SideTree(function))
            amount = node.amount
            amount.total += tree.total_us[row] / units
            amount.own += tree.self_us[row] / units
            amount.samples += tree.samples[row]
            amount.lines[tree.line[row]] = amount.lines.get(tree.line[row], 0.0) + tree.total_us[row]
            above.append(node)


@dataclass(slots=True)
class JoinedNode:
    """A function on both sides; one that a side lacks has nothing there."""

    function: Function
    before: Amount
    after: Amount
    below: list[JoinedNode] = field(default_factory=list)

    @property
    def place(self) -> str:
        """File and line, short; the line is the one that most of its time is in afterwards, else before."""
        lines = self.after.lines or self.before.lines
        line = max(lines, key=lambda line: lines[line], default=0)
        return Place(self.function.name, self.function.file, line).short if self.function.file else ""

    @property
    def size(self) -> float:
        return max(self.before.total, self.after.total)

    def depth_first(self) -> Iterator[tuple[JoinedNode, int]]:
        """All nodes below this one, and how many callers each has; the larger first among siblings."""
        waiting = [(child, 0) for child in sorted(self.below, key=lambda child: child.size)]
        while waiting:
            node, depth = waiting.pop()
            yield node, depth
            waiting.extend((child, depth + 1) for child in sorted(node.below, key=lambda child: child.size))


def join(before: SideTree, after: SideTree) -> JoinedNode:
    """Without recursion: stacks may be deeper than Python's own."""
    root = JoinedNode(ROOT, before.amount, after.amount)
    waiting = [(root, before, after)]
    while waiting:
        node, left, right = waiting.pop()
        for key in dict.fromkeys((*left.below, *right.below)):
            known = right.below.get(key) or left.below[key]
            sides = left.below.get(key, SideTree()), right.below.get(key, SideTree())
            child = JoinedNode(known.function, sides[0].amount, sides[1].amount)
            node.below.append(child)
            waiting.append((child, *sides))
    return root
