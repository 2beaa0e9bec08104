"""Which line stands beside a function in the flame graph of the difference."""

from __future__ import annotations

from typing import NamedTuple

from tb_dataplugin.compare.build import compare
from tb_dataplugin.report import report_pb2 as pb
from tests.lines_run import lines_run
from tests.tb_dataplugin.findings.cases import capture_of

RUN = capture_of(lines_run())
SLEEP, RETURN, COPY = "if not fast: sleep(0.005)", "return x + noise", "x = x.copy()"


class Shown(NamedTuple):
    place: str
    source: str
    change: str


def side(*lines: tuple[int, str, int]) -> pb.Capture:
    """One function, whose lines have a number, a text, and so many samples of 1 ms."""
    found = pb.Capture()
    found.CopyFrom(RUN)
    tree = found.lines.pipeline.tree
    tree.Clear()
    tree.names.extend(["Noise.__call__", "/me/train.py", *(text for _, text, _ in lines)])
    for row, (number, text, samples) in enumerate(lines):
        tree.label.append(0)
        tree.function.append(0)
        tree.file.append(1)
        tree.line.append(number)
        tree.source.append(row + 2 if text else -1)
        tree.depth.append(0)
        tree.origin.append("user")
        tree.samples.append(samples)
        tree.total_us.append(1000 * samples)
        tree.self_us.append(1000 * samples)
    found.lines.pipeline.samples = sum(tree.samples)
    found.lines.pipeline.time_us = sum(tree.total_us)
    return found


def shown(before: pb.Capture, after: pb.Capture) -> Shown:
    flame = compare([before], [after]).flames[0]
    assert len(flame.depth) == 1
    return Shown(*(flame.names[column[0]] for column in (flame.place, flame.source, flame.line_change)))


def test_the_line_that_no_longer_takes_time_is_named_and_not_the_one_that_is_left() -> None:
    found = shown(side((18, SLEEP, 5000), (19, RETURN, 100)), side((19, RETURN, 110)))
    assert found.place == "train.py:18 (before)"
    assert found.source == SLEEP
    assert found.change.startswith("most of the change is in this line:")
    assert "too little to list after" in found.change


def test_a_line_that_is_new_is_named_by_its_number_after() -> None:
    found = shown(side((18, RETURN, 100)), side((18, SLEEP, 5000), (19, RETURN, 110)))
    assert found[:2] == ("train.py:18", SLEEP)
    assert "too little to list before" in found.change


def test_a_line_that_moved_is_the_same_line() -> None:
    found = shown(
        side((18, SLEEP, 5000), (19, RETURN, 900)), side((19, COPY, 80), (25, SLEEP, 1000), (26, RETURN, 900))
    )
    assert found[:2] == ("train.py:25", SLEEP)


def test_the_only_line_stands_beside_its_function_wherever_it_moved() -> None:
    assert shown(side((18, SLEEP, 5000)), side((25, SLEEP, 1000))) == ("train.py:25", SLEEP, "")


def test_no_line_is_named_where_none_has_most_of_the_change() -> None:
    lines = (COPY, SLEEP, RETURN)
    before, after = ([(18 + at, text, count) for at, text in enumerate(lines)] for count in (3000, 1000))
    assert shown(side(*before), side(*after)) == ("train.py", "", "")


def test_no_line_is_named_of_a_function_that_did_not_change() -> None:
    before, after = side((18, SLEEP, 2000), (19, RETURN, 900)), side((18, COPY, 2000), (19, RETURN, 900))
    assert shown(before, before) == ("train.py", "", "")
    assert shown(before, after) == ("train.py", "", "")


def test_numbers_without_text_join_no_lines() -> None:
    before, after = side((18, "", 5000), (19, "", 100)), side((25, "", 1000), (26, "", 100))
    assert shown(before, after) == ("train.py", "", "")
    assert shown(side((18, "", 5000)), side((18, "", 1000))) == ("train.py:18", "", "")


def test_several_lines_with_one_text_have_no_number() -> None:
    before = side((18, SLEEP, 3000), (19, RETURN, 100), (22, SLEEP, 3000))
    found = shown(before, side((19, RETURN, 100)))
    assert found[:2] == ("train.py", SLEEP)
    assert "too little to list after" in found.change
