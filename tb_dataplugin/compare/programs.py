"""Whether both sides are the same program, and whether they are the same captures.

A comparison is of one program before and after a change, so little may speak for "different programs", and nothing
against it: the operators of the training step, the stages of the loader, and the dataset are asked one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb

LEAST_OPERATORS: Final = 5
LEAST_STAGES: Final = 3
"""From which a set of names characterises a program."""

ALIKE: Final = 0.5
"""Share of the names in common from which two sets are of the same program. One loop recorded by torch 1.8 and 2.13 has
0.54 of its operators in common, releases next to each other 0.67 to 1; unlike models had 0.03 to 0.48."""

COMPILED: Final = ("Torch-Compiled", "CompiledFunction", "## Call CompiledFxGraph")
"""In names of operators that stand for any others: torch.compile was in use."""

GENERAL_KINDS: Final = frozenset({"wait", "sampler", "wrapper", "transfer", "h2d", "read", "collate"})
"""Stages that unlike programs have in common."""

Names = frozenset[str]


def why_not_comparable(before: Sequence[Run], after: Sequence[Run]) -> str:
    """What makes the sides different programs, in words; "" where they may well be the same."""
    replays = [{run.mode == "replay" for run in side} for side in (before, after)]
    if replays[0] != replays[1]:
        return "one side is a replay, which has no training step"
    opinions = list(_opinions([_captures(side) for side in (before, after)]))
    if opinions and all(opinions):
        return f"different programs ({', '.join(opinions)})"
    return ""


def are_same_program(one: pb.Capture, other: pb.Capture) -> bool:
    """Whether the strongest evidence that both have speaks for one program; without any nothing is known."""
    if (one.mode == "replay") != (other.mode == "replay"):
        return False
    return next(_opinions([[one], [other]]), "nothing to go by") == ""


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
    datasets = [{capture.loader.dataset for capture in side} - {""} for side in sides]
    if datasets[0] & datasets[1]:
        yield ""


def _stages(capture: pb.Capture) -> Iterator[str]:
    return (f"{stage.kind}::{stage.label}" for stage in capture.stages if stage.kind not in GENERAL_KINDS)


def _common(sides: Sequence[Names]) -> tuple[int, int]:
    return len(sides[0] & sides[1]), len(sides[0] | sides[1])
