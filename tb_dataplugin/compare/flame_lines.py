"""Which line stands beside a function that both sides have: one that is true of both, or the one whose time changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.compare.flame_trees import JoinedNode, LineAmount, LineKey, Sampled
from tb_dataplugin.units import duration

MOST: Final = 0.5
"""Of a function's change, from which a line has most of it."""

_NONE: Final = LineAmount()


class ShownLine(NamedTuple):
    """`place`: file and line, short, or the file alone; `source`: the line's text; `change`: how much of the function's
    change is in it, "" where the line is the only one.
    """

    place: str
    source: str = ""
    change: str = ""


def shown_line(node: JoinedNode, error: Callable[[Sampled, Sampled], float], *, is_changed: bool) -> ShownLine:
    """Of a function with several lines, the one with most of its change, if any has. `error`: of a line's change."""
    if not node.function.file:
        return ShownLine("")
    keys = dict.fromkeys((*node.before.lines, *node.after.lines))
    if len(keys) == 1:
        return _shown(node, next(iter(keys)))
    line = _with_most(node, list(keys), error) if is_changed and _are_known(node) else None
    if line is None:
        return ShownLine(_place(node, 0))
    before, after = (side.lines.get(line) for side in (node.before, node.after))
    times = f"{_time(before)} before, {_time(after)} after"
    return _shown(node, line)._replace(change=f"most of the change is in this line: {times}")


def _are_known(node: JoinedNode) -> bool:
    """Numbers without text may be of other lines on the other side."""
    lines = node.before.lines, node.after.lines
    return not all(lines) or all(isinstance(key, str) for side in lines for key in side)


def _with_most(node: JoinedNode, keys: list[LineKey], error: Callable[[Sampled, Sampled], float]) -> LineKey | None:
    whole = node.after.total - node.before.total
    sides = {key: (node.before.lines.get(key, _NONE), node.after.lines.get(key, _NONE)) for key in keys}
    shares = {key: (after.total - before.total) / whole for key, (before, after) in sides.items()}
    line = max(keys, key=lambda key: shares[key])
    is_clear = shares[line] * abs(whole) > error(*sides[line])
    return line if is_clear and shares[line] > MOST else None


def _shown(node: JoinedNode, key: LineKey) -> ShownLine:
    """With its number after, else before; without one where several lines have the same text."""
    after = node.after.lines.get(key)
    numbers = (after or node.before.lines[key]).numbers
    number = next(iter(numbers)) if len(numbers) == 1 else 0
    source = key if isinstance(key, str) else ""
    if number and not after:
        return ShownLine(f"{Place(node.was.name, node.was.file, number).short} (before)", source)
    return ShownLine(_place(node, number), source)


def _place(node: JoinedNode, number: int) -> str:
    return Place(node.function.name, node.function.file, number).short


def _time(line: LineAmount | None) -> str:
    """What a side lacks may have been too little for its tree."""
    return duration(line.total) if line else "too little to list"
