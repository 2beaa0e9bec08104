"""The hottest lines of a stage, in the terminal and in findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.analyses.hot_lines import PartLines as PartOf
from tb_dataplugin.analyses.line_rows import LineRow
from tb_dataplugin.analyses.spread_lines import spread, spread_in_step
from tb_dataplugin.export.lines_text import line_lines
from tb_dataplugin.findings.line_signals import hottest
from tb_dataplugin.findings.line_texts import left_out_text, lines_text, part_sentence
from tb_dataplugin.report.build_lines import hot_place
from tb_dataplugin.report.report_pb2 import Capture, PartLines

TRAIN = "/home/me/train.py"


def line(function: str, number: int, share: float, calls: str = "", source: str = "") -> LineRow:
    time_ns = round(share * 1e9)
    return LineRow(
        Place(function, TRAIN, number, source), True, 100, time_ns, share, 0.05, None, None, calls, float(bool(calls))
    )


LOOP = [line("mel", number, share) for number, share in ((17, 0.10), (19, 0.09), (16, 0.05))]


def said(*rows: LineRow) -> list[str]:
    capture = Capture()
    part = PartLines(name="sample::Speech", time_us=1e6, hottest=map(hot_place, spread(rows)))
    part.lines.add()
    capture.lines.stages.append(part)
    return [row.strip() for row in line_lines(capture)][1:]


def test_a_loop_of_plain_python_is_one_function_whose_lines_are_all_colder() -> None:
    rows = said(line("load", 35, 0.4), line("logmel", 31, 0.2), line("logmel", 29, 0.13), *LOOP)
    assert rows == [
        "40.0%  load at train.py:35",
        "24.0%  mel at train.py:16 to 19, over 3 lines, the hottest line 17",
        "20.0%  logmel at train.py:31",
    ]


def test_lines_of_a_library_name_the_line_that_calls_them() -> None:
    callers = [Place("Pairs.load", TRAIN, number, "tar.extractfile(name)") for number in (67, 67, 67, 68)]
    one = tuple(replace(row, called_from=callers[0]) for row in LOOP)
    assert lines_text(one).endswith("line 17, called from `tar.extractfile(name)` in Pairs.load at train.py:67")
    several = tuple(replace(row, called_from=caller) for row, caller in zip(LOOP, callers[1:], strict=True))
    assert lines_text(several).endswith("the hottest line 17")


def test_a_line_with_most_of_its_function_is_said_itself() -> None:
    assert said(line("load", 35, 0.4), line("load", 36, 0.1), line("crop", 50, 0.01)) == [
        "40.0%  load at train.py:35",
        "10.0%  load at train.py:36",
    ]


def test_no_line_is_called_the_hottest_where_another_may_be() -> None:
    rows = [line("load", 35, 0.40), line("crop", 50, 0.34), line("blur", 70, 0.26)]  # each +-5 points
    part = PartOf(100, 10**9, 0, (), 0, None)
    assert part_sentence(spread(rows), "the stages", part) == (
        "Of the stages (1.00 s by stack samples), no single line is certainly the hottest: load at train.py:35 has "
        "40.0% (95% interval: 35.0% to 45.0%); crop at train.py:50 (34.0%) is about as hot."
    )
    alike = [*rows[:2], line("blur", 70, 0.33)]
    assert part_sentence(spread(alike), "the stages", part).endswith("(34.0%) and 1 other are about as hot.")
    clear = [rows[0], rows[2]]
    assert "the hottest line has 40.0%" in part_sentence(spread(clear), "the stages", part)


@pytest.mark.parametrize(("own_ms", "matters"), [(0, False), (50, False), (400, True)])
def test_what_the_recorders_own_code_has_is_said_where_shares_of_all_time_differ(own_ms: int, matters: bool) -> None:
    rows = (line("load", 35, 0.9), line("crop", 50, 0.1))  # each +-5 points
    part = PartOf(100, 10**9, own_ms * 10**6, rows, 0, None)
    ((_, hot),) = hottest([("sample::Speech", part)])
    less = "not counting 400 ms in annotate's own code, waiting for a CPU included"
    assert (less in part_sentence(spread(rows), "the stages", part)) == matters
    assert left_out_text(part, spread(rows)) == less * matters
    of_it = " (not counting 28.6% in annotate's own code, waiting for a CPU included)" * matters
    assert hot.share_of("it") == f"90.0% of it{of_it}"


def test_the_terminal_says_it_at_the_stage() -> None:
    capture = Capture()
    part = PartLines(name="sample::Speech", time_us=1e6, left_out_text="not counting 400 ms in annotate's own code")
    part.lines.add()
    capture.lines.stages.append(part)
    assert next(line_lines(capture)).strip() == "sample::Speech, not counting 400 ms in annotate's own code"


def test_lines_far_apart_in_one_function_are_about_different_things() -> None:
    found = spread([line("main", 20, 0.3), line("main", 40, 0.3), line("main", 90, 0.3)])
    assert [[row.place.line for row in group] for group in found] == [[20], [40], [90]]


def test_a_cold_line_beside_a_loop_does_not_widen_it() -> None:
    (loop, beside) = spread([*LOOP, line("mel", 13, 0.001)])
    assert (lines_text(loop).partition(",")[0], beside[0].place.line) == ("mel at train.py:16 to 19", 13)


def test_a_loop_is_as_sure_as_one_line_with_its_share() -> None:
    place = hot_place(spread([line("mel", 1, 0.25), line("mel", 2, 0.25), line("mel", 3, 0.25), line("a", 9, 0.25)])[0])
    assert round(place.share, 3) == 0.75
    assert round(place.error, 3) == 0.05  # 0.75 spreads as 0.25 does


def test_in_the_step_a_line_that_calls_something_stands_alone() -> None:
    rows = [
        line("train", 50, 0.3, calls="torch.Tensor.backward"),
        line("train", 51, 0.3, source="total += loss.item()"),
        line("train", 53, 0.2, source="for token in tokens:"),
        line("train", 54, 0.19, source="counts[token] += 1"),
        line("train", 55, 0.1, source="seen.add(token)"),
    ]
    assert [[row.place.line for row in group] for group in spread_in_step(rows)] == [[53, 54, 55], [50], [51]]
