"""Trees of functions of two sides: captures of one side added up, both sides joined by function and file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.report import report_pb2 as pb


class Function(NamedTuple):
    """What frames are joined by: a line moves when code above it is edited."""

    name: str
    file: str
    origin: str


@dataclass(slots=True)
class Amount:
    """Microseconds per unit with and without what is called, samples, and in which lines they were."""

    total: float = 0.0
    own: float = 0.0
    samples: int = 0
    lines: dict[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class SideTree:
    """A function and what it calls; the root has no function."""

    amount: Amount = field(default_factory=Amount)
    below: dict[Function, SideTree] = field(default_factory=dict)

    def add(self, tree: pb.LineTree, units: float) -> None:
        """Adds a capture's tree, its times over `units`."""
        above: list[SideTree] = [self]
        for row, depth in enumerate(tree.depth):
            del above[depth + 1 :]
            function = Function(tree.names[tree.label[row]], tree.names[tree.file[row]], tree.origin[row])
            node = above[-1].below.setdefault(function, SideTree())
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
    root = JoinedNode(Function("", "", ""), before.amount, after.amount)
    waiting = [(root, before, after)]
    while waiting:
        node, left, right = waiting.pop()
        for function in dict.fromkeys((*left.below, *right.below)):
            sides = left.below.get(function, SideTree()), right.below.get(function, SideTree())
            child = JoinedNode(function, sides[0].amount, sides[1].amount)
            node.below.append(child)
            waiting.append((child, *sides))
    return root
