"""Trees of sampled stacks of both sides, joined by function and file: what a difference flame graph draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from tb_dataplugin.analyses.hot_lines import LEAST_SAMPLES
from tb_dataplugin.analyses.line_trees import FOR_ANOTHER_LOADER
from tb_dataplugin.compare.built import Per, PerName, Units, units_of
from tb_dataplugin.compare.flame_lines import ShownLine, shown_line
from tb_dataplugin.compare.flame_trees import JoinedNode, Sampled, SideTree, join
from tb_dataplugin.compare.renamed import renamed_files
from tb_dataplugin.compare.sides import Run, Unit
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import count, listed

LEAST_SHARE: Final = 0.002
"""Of each side: the trees of a capture leave out what takes less, so less cannot be compared."""

MOST_NODES: Final = 600
MOST_STAGES: Final = 12
"""Of which there is a tree, those with most time: the tree of the pipeline has all of them in it."""

_95: Final = 1.96

NO_STACKS: Final = "No stacks were sampled {side}: capture with lines=True, the default of annotate.profile."
NO_UNIT: Final = "Neither samples nor steps are known on both sides, so times cannot be compared."


@dataclass(frozen=True, slots=True)
class FlameRow:
    """One function, per unit. `error`: half of the 95% interval of its change, by the number of samples of stacks and
    by how well the number of units is known.
    """

    node: JoinedNode
    depth: int
    error: float
    line: ShownLine

    @property
    def is_changed(self) -> bool:
        return _is_beyond(self.node, self.error)


@dataclass(frozen=True, slots=True)
class FlameChange:
    """`text`: why there are no rows, and what to do. Rows are depth first, the largest first among siblings.
    `error`: of the whole, as in a row.
    """

    scope: str
    before: Part
    after: Part
    text: str = ""
    rows: tuple[FlameRow, ...] = ()
    left_out: int = 0
    error: float = 0.0

    @property
    def lacks(self) -> str:
        """Which runs it is of, where not of all."""
        sides = (("before", self.before.of_runs), ("after", self.after.of_runs))
        some = [f"{of_runs} runs {when}" for when, of_runs in sides if of_runs]
        return f"Of {listed(some)}: the others have too few stack samples for it." if some and self.rows else ""

    @property
    def is_changed(self) -> bool:
        return bool(self.rows) and abs(self.after.time_us - self.before.time_us) > self.error


class Part(NamedTuple):
    """The same part of all captures of a side: samples, and the time per unit that they stand for. `per`: by outermost
    function, what its time is per. `relative`: standard error of how many units there are, over all of its functions.
    """

    time_us: float
    samples: int
    tree: SideTree | None
    text: str
    per: PerName
    relative: float = 0.0
    unplaced: float = 0.0
    """Time that met the recorder's own code, over `time_us`: some function has it, and none shows it."""
    of_runs: str = ""
    """ "2 of 3": of so many of the side's runs; "" of all."""

    @property
    def whole(self) -> Sampled:
        return Sampled(self.time_us, self.samples)


_NOTHING: Final = Part(0.0, 0, None, "", lambda _: Per(1.0, 0.0))


IN_PICTURE: Final = "; the page's flame graph of the difference has them"


def is_drawn(before: Sequence[Run], after: Sequence[Run]) -> bool:
    """Whether there is a picture of the whole pipeline."""
    return all(
        any(one.lines.pipeline.HasField("tree") for run in side for one in run.captures) for side in (before, after)
    )


def compare_flames(before: Sequence[Run], after: Sequence[Run], unit: Unit) -> list[FlameChange]:
    """Empty where no side has sampled stacks."""
    captures = [[capture for run in runs for capture in run.captures] for runs in (before, after)]
    has_lines = [any(capture.lines.samples for capture in side) for side in captures]
    if not any(has_lines):
        return []
    if not all(has_lines):
        text = NO_STACKS.format(side="after" if has_lines[0] else "before")
        return [FlameChange("pipeline", _NOTHING, _NOTHING, text)]
    if not all(units_of(runs, unit) for runs in (before, after)):
        return [FlameChange("pipeline", _NOTHING, _NOTHING, NO_UNIT)]
    sides = [_parts(before, unit, {}), _parts(after, unit, renamed_files(before, after))]
    scopes = _scopes(sides[0], sides[1])
    return [_compared(scope, sides[0].get(scope, _NOTHING), sides[1].get(scope, _NOTHING)) for scope in scopes]


def _scopes(before: dict[str, Part], after: dict[str, Part]) -> list[str]:
    """The whole first, then stages of both sides, most time first."""
    stages = [name for name in before if name in after and "::" in name]
    stages.sort(key=lambda name: (-max(before[name].time_us, after[name].time_us), name))
    return [name for name in ("pipeline", "training") if name in before or name in after] + stages[:MOST_STAGES]


def _parts(runs: Sequence[Run], unit: Unit, renamed: Mapping[str, str]) -> dict[str, Part]:
    """The parts of one side by scope, all its captures together. A run with a capture whose samples are too few for a
    tree is no part of it, and its samples and steps are none that times are per.
    """
    named = [[dict(_named(capture.lines)) for capture in run.captures] for run in runs]
    found = {}
    for scope in dict.fromkeys(scope for run in named for capture in run for scope in capture):
        parts = [[capture[scope] for capture in run if scope in capture] for run in named]
        whole = [all(part.HasField("tree") for part in run) for run in parts]
        has_tree = any(is_whole and run for is_whole, run in zip(whole, parts, strict=True))
        used = [run for run, is_whole in zip(runs, whole, strict=True) if is_whole or not has_tree]
        units = units_of(used, unit, "loop")
        assert units is not None, "known of all runs"
        kept = [part for run, is_whole in zip(parts, whole, strict=True) if is_whole or not has_tree for part in run]
        found[scope] = _together(
            kept,
            _per(scope, units),
            f"{len(used)} of {len(runs)}" * (len(used) < len(runs)),
            renamed,
        )
    return found


def _per(scope: str, units: Units) -> PerName:
    """Only the tree of the pipeline has stages above its functions, of several threads. What is for another DataLoader
    is per sample that the training loop takes, as its own time is.
    """
    taken = Per(units.taken, 0.0)
    if scope == "pipeline":
        return lambda name: taken if name == FOR_ANOTHER_LOADER else units.per(name)
    whole = taken if scope == "training" else units.per(scope)
    return lambda name: taken if name == FOR_ANOTHER_LOADER else whole


def _named(lines: pb.Lines) -> Iterator[tuple[str, pb.PartLines]]:
    if lines.HasField("pipeline"):
        yield "pipeline", lines.pipeline
    if lines.HasField("training_thread"):
        yield "training", lines.training_thread
    for part in lines.stages:
        yield part.name, part


def _together(parts: Sequence[pb.PartLines], per: PerName, of_runs: str, renamed: Mapping[str, str]) -> Part:
    known = [part for part in parts if part.HasField("tree")]
    tree = None
    if known:
        tree = SideTree()
        for part in known:
            tree.add(part.tree, lambda name: per(name).units, renamed)
    text = next((part.text for part in parts if part.text), "")
    if len(parts) > 1 and not known:
        each = listed([count(part.samples) for part in parts])
        text = (
            f"a picture takes {LEAST_SAMPLES} stack samples in each capture, or a line that has most of fewer for "
            f"certain; these have {each}"
        )
    times = [time for part in known or parts for time in _times_us(part, per)]
    time = math.fsum(time for time, _ in times)
    relative = math.fsum(time * per.relative for time, per in times) / time if time else 0.0
    sampled = math.fsum(part.time_us for part in known or parts)
    unplaced = math.fsum(part.recorder_us for part in known or parts) / sampled if sampled else 0.0
    return Part(time, sum(part.samples for part in known or parts), tree, text, per, relative, unplaced, of_runs)


def _times_us(part: pb.PartLines, per: PerName) -> Iterator[tuple[float, Per]]:
    """Per unit: of its outermost functions, and of what its tree leaves out."""
    tree = part.tree
    outermost = {row: tree.total_us[row] for row, depth in enumerate(tree.depth) if not depth}
    left = part.time_us - math.fsum(outermost.values())
    yield left / per("").units, per("")
    for row, time in outermost.items():
        units = per(tree.names[tree.label[row]])
        yield time / units.units, units


def _compared(scope: str, before: Part, after: Part) -> FlameChange:
    if before.tree is None or after.tree is None:
        side, lacking = ("before", before) if before.tree is None else ("after", after)
        return FlameChange(scope, before, after, f"{side.capitalize()}: {lacking.text or 'it was not sampled'}.")
    joined = join(before.tree, after.tree).depth_first()
    rows, relative = [], (0.0, 0.0)
    for node, depth in joined:
        if not depth:
            relative = before.per(node.function.name).relative, after.per(node.function.name).relative
        rows.append(_row(node, depth, partial(_error, parts=(before, after), relative=relative)))
    large = [row for row in rows if _share(row.node, before, after) >= LEAST_SHARE]
    large.sort(key=lambda row: -row.node.size)
    kept = {id(row.node) for row in large[:MOST_NODES]}
    shown = tuple(row for row in rows if id(row.node) in kept)
    error = _error(before.whole, after.whole, (before, after), (before.relative, after.relative))
    return FlameChange(scope, before, after, "", shown, len(rows) - len(shown), error)


def _row(node: JoinedNode, depth: int, error_of: Callable[[Sampled, Sampled], float]) -> FlameRow:
    error = error_of(node.before, node.after)
    line = shown_line(node, error_of, is_changed=_is_beyond(node, error))
    return FlameRow(node, depth, error, line)


def _is_beyond(node: JoinedNode, error: float) -> bool:
    return abs(node.after.total - node.before.total) > error


def _share(node: JoinedNode, before: Part, after: Part) -> float:
    sides = ((node.before.total, before.time_us), (node.after.total, after.time_us))
    return max((part / whole for part, whole in sides if whole), default=0.0)


def _error(before: Sampled, after: Sampled, parts: tuple[Part, Part], relative: tuple[float, float]) -> float:
    """Samples are counts of chance (Poisson), and units are counted to within those at the edges of the window:
    `relative`. What a side lacks may have been too little for its tree. What met the recorder's own code may be of any
    function, in proportion.
    """
    squares, unseen = 0.0, 0.0
    for side, part, of_units in zip((before, after), parts, relative, strict=True):
        per_sample = part.time_us / max(1, part.samples)
        squares += side.total**2 / side.samples if side.samples else per_sample**2
        squares += (side.total * of_units) ** 2
        unseen += LEAST_SHARE * part.time_us if not side.samples else part.unplaced * side.total
    return _95 * math.sqrt(squares) + unseen
