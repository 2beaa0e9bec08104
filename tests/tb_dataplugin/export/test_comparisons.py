"""Which comparisons an HTML report carries, and that they are those of `compare`."""

from __future__ import annotations

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.export.comparisons import Pair, comparisons, suggested_pairs
from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.report.report_pb2 import Capture
from tests.conftest import GOLDEN


@pytest.fixture(scope="module")
def program() -> list[Capture]:
    """Two versions of one program."""
    names = ("v100_resnet50_workers0", "v100_resnet50_workers4")
    return [analyse_file(GOLDEN / f"{name}.pt.trace.json.gz", name).capture for name in names]


@pytest.fixture(scope="module")
def stranger() -> Capture:
    return analyse_file(GOLDEN / "annotate_workers2.pt.trace.json.gz", "x").capture


def named(capture: Capture, name: str) -> Capture:
    copy = Capture()
    copy.CopyFrom(capture)
    copy.name = name
    return copy


def test_what_was_taken_first_is_before(program: list[Capture]) -> None:
    assert suggested_pairs(program, [1, 2]) == [Pair((0,), (1,)), Pair((0,), (1,))]
    assert suggested_pairs(program, [2, 1]) == [Pair((1,), (0,)), Pair((1,), (0,))]


def test_nothing_is_suggested_of_another_program_or_where_nothing_is_known_of_the_time(
    program: list[Capture], stranger: Capture
) -> None:
    assert suggested_pairs([program[0], stranger], [1, 2]) == [None, None]
    assert suggested_pairs(program, []) == [None, None]


def test_each_pair_is_compared_once(program: list[Capture]) -> None:
    [one] = comparisons(program, suggested_pairs(program, [1, 2]))
    comparison = as_dict(compare([program[0]], [program[1]]))
    assert one == {"before": ["0"], "after": ["1"], "comparison": comparison}


def test_repeated_runs_are_compared_as_a_whole_first(program: list[Capture]) -> None:
    first, second = program
    captures = [named(first, "a/1"), named(second, "b/1"), named(first, "a/2"), named(second, "b/2")]
    found = list(comparisons(captures, suggested_pairs(captures, [1, 3, 2, 4])))
    assert (found[0]["before"], found[0]["after"]) == (["0", "2"], ["1", "3"])
    assert [len(side["files"]) for side in found[0]["comparison"]["before"]] == [2]
    assert all(len(one["before"]) == len(one["after"]) == 1 for one in found[1:])
