"""Trees of functions of two sides: captures of one side added up, both sides joined by function and file, wherever the
file lies: sides are often recorded in two checkouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.report import report_pb2 as pb


class Function(NamedTuple):
    name: str
    file: str
    origin: str

    def key(self, renamed: Mapping[str, str]) -> tuple[str, str, str]:
        """What frames are joined by: lines move and are edited between two versions, and a folder is another's."""
        file = Place(self.name, self.file, 0).short if self.file else ""
        return self.name, renamed.get(file, file), self.origin


ROOT: Final = Function("", "", "")


LineKey = str | int
"""A line's text, or its number where that was not recorded: a line that moved is the same line."""


@dataclass(slots=True)
class Sampled:
    """Microseconds per unit, with what is called, and the samples that they stand for."""

    total: float = 0.0
    samples: int = 0


@dataclass(slots=True)
class LineAmount(Sampled):
    """One line of a function; of several with the same text, all their numbers."""

    numbers: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Amount(Sampled):
    """A function: also without what it calls, and by line."""

    own: float = 0.0
    lines: dict[LineKey, LineAmount] = field(default_factory=dict)


@dataclass(slots=True)
class SideTree:
    """A function and what it calls, by key; the root has no function."""

    function: Function = ROOT
    amount: Amount = field(default_factory=Amount)
    below: dict[tuple[str, str, str], SideTree] = field(default_factory=dict)

    def add(self, tree: pb.LineTree, per: Callable[[str], float], renamed: Mapping[str, str]) -> None:
        """Adds a capture's tree, its times over how many units the times of its outermost function are `per`.
        `renamed`: by file, the name that the other side has it under.
        """
        above: list[SideTree] = [self]
        units = 1.0
        for row, depth in enumerate(tree.depth):
            del above[depth + 1 :]
            function = Function(tree.names[tree.label[row]], tree.names[tree.file[row]], tree.origin[row])
            units = units if depth else per(function.name)
            node = above[-1].below.setdefault(function.key(renamed), SideTree(function))
            line = node.amount.lines.setdefault(_line_key(tree, row), LineAmount())
            line.numbers.add(tree.line[row])
            for sampled in (node.amount, line):
                sampled.total += tree.total_us[row] / units
                sampled.samples += tree.samples[row]
            node.amount.own += tree.self_us[row] / units
            above.append(node)


def _line_key(tree: pb.LineTree, row: int) -> LineKey:
    source = tree.source[row] if row < len(tree.source) else -1
    return (tree.names[source] if source >= 0 else "") or tree.line[row]


@dataclass(slots=True)
class JoinedNode:
    """A function on both sides; one that a side lacks has nothing there."""

    function: Function
    before: Amount
    after: Amount
    below: list[JoinedNode] = field(default_factory=list)
    was: Function = ROOT
    """The function before, whose file may have had another name; the root where that side lacks it."""

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
            child = JoinedNode(known.function, sides[0].amount, sides[1].amount, was=sides[0].function)
            node.below.append(child)
            waiting.append((child, *sides))
    return root
