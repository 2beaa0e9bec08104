"""Whether both sides are the same program, and whether they are the same captures.

A comparison is of one program before and after a change, so little may speak for "different programs", and nothing
against it: the operators of the training step, the stages of the loader, and the dataset are asked one by one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Final

from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import listed

LEAST_OPERATORS: Final = 5
LEAST_STAGES: Final = 3
"""From which a set of names characterises a program."""

ALIKE: Final = 0.5
"""Share of the names in common from which two sets are of the same program. One loop recorded by torch 1.8 and 2.13 has
0.54 of its operators in common, releases next to each other 0.67 to 1; unlike models had 0.03 to 0.48."""

SAME: Final = 0.9
"""Share of the operators in common, from which nothing else is asked: a new dataset leaves the training step as it is.
Below it small models have most operators in common whatever they are for: nine unlike programs had up to
0.79."""

COMPILED: Final = ("Torch-Compiled", "CompiledFunction", "## Call CompiledFxGraph")
"""In names of operators that stand for any others: torch.compile was in use."""

GENERAL_KINDS: Final = frozenset({"wait", "sampler", "wrapper", "transfer", "h2d", "read", "collate"})
"""Stages that unlike programs have in common."""

GENERAL_DATASETS: Final = ("TensorDataset", "ConcatDataset", "ChainDataset", "StackDataset", "Subset")
"""Classes of torch's own, which unlike programs have in common."""

CONTAINERS: Final = frozenset({"transform::Compose", "transform::Sequential"})
"""Stages that hold others, whatever these do."""

ANY_SCRIPTS: Final = frozenset({"main", "<module>", "<lambda>"})
"""Functions that any script has, and stages that are called as these: they mark none."""

EVALUATION: Final = "evaluation"
"""Doubt of a capture whose window lies in an evaluation, or may."""

Names = frozenset[str]


def why_not_comparable(before: Sequence[Run], after: Sequence[Run]) -> str:
    """What makes the sides different programs, in words; "" where they may well be the same."""
    replays = [{run.mode == "replay" for run in side} for side in (before, after)]
    if replays[0] != replays[1]:
        return "one side is a replay, which has no training step"
    evaluations = [_is_evaluation(side) for side in (before, after)]
    if any(evaluations) and not all(evaluations):
        when, other = ("before", "after") if evaluations[0] else ("after", "before")
        return f"most windows {when} lie in an evaluation, or may, by their reports, and those {other} do not"
    return _why_different([_captures(side) for side in (before, after)])


def _is_evaluation(side: Sequence[Run]) -> bool:
    captures = _captures(side)
    found = sum(any(doubt.code == EVALUATION for doubt in capture.doubts) for capture in captures)
    return 2 * found > len(captures)


def _why_different(sides: Sequence[Sequence[pb.Capture]]) -> str:
    opinions = list(_opinions(sides))
    if opinions and all(opinions):
        return f"different programs ({', '.join(opinions)})"
    if _common_operators(sides) >= SAME or not _have_unlike_data(sides):
        return ""
    names = (" and ".join(sorted({capture.loader.dataset for capture in side})) for side in sides)
    return f"different programs (datasets {' and '.join(names)}, no stage in common)"


def _have_unlike_data(sides: Sequence[Sequence[pb.Capture]]) -> bool:
    """Datasets of other names, and not one stage of their own in common."""
    datasets = [{capture.loader.dataset for capture in side} for side in sides]
    stages = [
        {name for capture in side for name in _stages(capture) if not name.startswith("decode::")} for side in sides
    ]
    is_known = all(stages) and all(name for side in datasets for name in side)
    return is_known and not datasets[0] & datasets[1] and not stages[0] & stages[1]


def _common_operators(sides: Sequence[Sequence[pb.Capture]]) -> float:
    shared, known = _common([frozenset(name for capture in side for name in capture.operators) for side in sides])
    return shared / known if known else 0.0


def other_script(before: Sequence[Run], after: Sequence[Run]) -> tuple[str, str] | None:
    """The scripts whose training loop each side has, where they have other names, by stack samples of the training
    thread. That is no other program: it may be a copy that has the change in it.
    """
    first, second = scripts_of(before), scripts_of(after)
    if not first or not second or first & second:
        return None
    return listed(sorted(first)), listed(sorted(second))


def scripts_of(side: Sequence[Run]) -> frozenset[str]:
    """Of its training loop; empty where the training thread was not sampled."""
    return frozenset(filter(None, map(_script, _captures(side))))


def _script(capture: pb.Capture) -> str:
    """What the user's module is in that has most of the training thread's time; "" where none was sampled. Modules that
    it imports have no more.
    """
    tree, times = capture.lines.training_thread.tree, defaultdict[str, float](float)
    for row, function in enumerate(tree.function):
        if tree.names[function] == "<module>" and tree.origin[row] == "user":
            times[PurePath(tree.names[tree.file[row]]).name] += tree.total_us[row]
    return max(times, key=lambda name: times[name], default="")


def are_same_program(one: pb.Capture, other: pb.Capture) -> bool:
    """Whether the strongest evidence that both have speaks for one program, and their stages do not speak against it;
    without any evidence nothing is known. A capture with a DataLoader and one without have too little in common.
    """
    if (one.mode == "replay") != (other.mode == "replay") or bool(one.loader.dataset) != bool(other.loader.dataset):
        return False
    sides = [[one], [other]]
    is_likely = next(_opinions(sides), "nothing to go by") == "" and not _why_different(sides)
    return is_likely and not _have_unlike_stages(one, other)


def are_other_programs(one: pb.Capture, other: pb.Capture) -> bool:
    """Whether they are not the same program by what is known of both; without any evidence nothing is known."""
    is_replayed = (one.mode == "replay") != (other.mode == "replay")
    is_known = is_replayed or any(True for _ in _opinions([[one], [other]]))
    return is_known and not are_same_program(one, other)


def _have_unlike_stages(one: pb.Capture, other: pb.Capture) -> bool:
    """Fewer than half in common: one small model may be trained by programs that prepare its data in other ways."""
    stages = [frozenset(_stages(capture)) for capture in (one, other)]
    shared, known = _common(stages)
    return min(map(len, stages)) >= LEAST_STAGES and shared < ALIKE * known


def marks_of(capture: pb.Capture) -> pb.Capture:
    """What its program is known by, and nothing else of it: as good as the capture in `are_same_program`."""
    names = dict.fromkeys((stage.kind, stage.label) for stage in capture.stages if stage.kind not in GENERAL_KINDS)
    stages = [pb.Stage(kind=kind, label=label) for kind, label in names]
    loader = pb.Loader(dataset=capture.loader.dataset)
    return pb.Capture(mode=capture.mode, operators=capture.operators, stages=stages, loader=loader)


def program_numbers(runs_and_marks: Iterable[tuple[str, pb.Capture]]) -> list[int]:
    """From 1 on, the same for captures of one run that are of the same program as the first of them."""
    firsts: list[tuple[str, pb.Capture]] = []
    numbers: list[int] = []
    for run, marks in runs_and_marks:
        same = (at for at, (of, first) in enumerate(firsts, 1) if of == run and are_same_program(first, marks))
        number = next(same, len(firsts) + 1)
        if number > len(firsts):
            firsts.append((run, marks))
        numbers.append(number)
    return numbers


def are_identical(before: Sequence[pb.Capture], after: Sequence[pb.Capture]) -> bool:
    """Whether the reports say the same, whatever their files are called: so they do of traces with the same bytes."""
    return Counter(map(_content, before)) == Counter(map(_content, after))


def _content(capture: pb.Capture) -> bytes:
    nameless = pb.Capture()
    nameless.CopyFrom(capture)
    nameless.ClearField("name")
    nameless.ClearField("file")
    return nameless.SerializeToString(deterministic=True)


def _captures(side: Sequence[Run]) -> list[pb.Capture]:
    return [capture for run in side for capture in run.captures]


def _opinions(sides: Sequence[Sequence[pb.Capture]]) -> Iterator[str]:
    """What each kind of name says: "" for the same program, else why not; nothing where it says nothing."""
    operators = [frozenset(name for capture in side for name in capture.operators) for side in sides]
    compiled = any(mark in name for names in operators for name in names for mark in COMPILED)
    if min(map(len, operators)) >= LEAST_OPERATORS and not compiled:
        shared, known = _common(operators)
        yield "" if shared >= ALIKE * known else f"{shared} of {known} operators in common"
    stages = [frozenset(name for capture in side for name in _stages(capture)) for side in sides]
    if min(map(len, stages)) >= LEAST_STAGES:
        shared, _ = _common(stages)
        if shared == 0 or shared >= ALIKE * min(map(len, stages)):
            yield "" if shared else "no stage in common"
    datasets = [{capture.loader.dataset for capture in side} - {"", *GENERAL_DATASETS} for side in sides]
    if datasets[0] & datasets[1]:
        yield ""


def _stages(capture: pb.Capture) -> Iterator[str]:
    own = (one for one in capture.stages if one.kind not in GENERAL_KINDS and one.label not in ANY_SCRIPTS)
    return (name for name in (f"{stage.kind}::{stage.label}" for stage in own) if name not in CONTAINERS)


def _common(sides: Sequence[Names]) -> tuple[int, int]:
    return len(sides[0] & sides[1]), len(sides[0] | sides[1])
