from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.lines import line_name
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.report_pb2 import Capture, Comparison, LineChange, LinesChange
from tb_dataplugin.units import percent
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

Frame = tuple[str, str, int]
MASKING = "transform::RandomMask"
FEW = "too few stack samples, 200 before and 60 after: each run needs 100, one has 60"
FILE = "/home/me/train.py"
HOT: Frame = ("RandomMask.dilate", FILE, 41)
WARM: Frame = ("RandomMask.crop", FILE, 52)
COOL: Frame = ("RandomMask.pad", FILE, 60)
SOURCES = {(FILE, 41): "mask = dilate(mask)", (FILE, 45): "mask = dilate(mask)", (FILE, 52): "mask = crop(mask)"}


def capture(stacks: Sequence[tuple[Frame, int]], name: str = "run_1.1") -> Capture:
    """A step that waits for one transform; each of these lines has so many samples."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, 8000, "wait::DataLoader")
    builder.stage("sample::Pets", 0, 8000).stage(MASKING, 0, 8000)
    each = [(("timed", "/annotate/hooks/stand_ins.py", 1), frame) for frame, count in stacks for _ in range(count)]
    times = [8000 / len(each) * (number + 0.5) for number in range(len(each))]
    found = capture_of(builder.stacks(times, each, sources=SOURCES))
    found.name = found.file = name
    return found


def masking(comparison: Comparison) -> LinesChange:
    return next(part for part in comparison.lines if part.name == MASKING)


def line(part: LinesChange, place: str) -> LineChange:
    return next(row for row in part.lines if place in (row.place_before, row.place_after))


def test_a_function_and_its_line_that_take_less_are_named_with_an_interval() -> None:
    part = masking(compare([capture([(HOT, 160), (WARM, 40)])], [capture([(HOT, 40), (WARM, 160)], "run_2.1")]))
    row = line(part, "train.py:41")
    assert row.outcome == "less"
    assert row.before == pytest.approx(0.8, abs=0.01)
    assert row.after == pytest.approx(0.2, abs=0.01)
    assert row.low < -0.6 < row.high < -0.5
    assert {one.name: one.outcome for one in part.functions} == {"RandomMask.dilate": "less", "RandomMask.crop": "more"}
    assert (part.samples_before, part.samples_after) == (200, 200)
    assert row.text.endswith("points) *")


def test_a_function_with_several_lines_is_at_none_of_them() -> None:
    other = (HOT[0], FILE, 43)
    part = masking(compare([capture([(HOT, 120), (other, 80)])], [capture([(other, 200)], "run_2.1")]))
    (row,) = part.functions
    assert (row.place_before, row.place_after) == ("train.py", "train.py:43")


def test_a_line_that_moved_is_the_same_line() -> None:
    moved = (HOT[0], FILE, 45)
    part = masking(compare([capture([(HOT, 100), (WARM, 100)])], [capture([(moved, 102), (WARM, 98)], "run_2.1")]))
    row = line(part, "train.py:45")
    assert (row.place_before, row.outcome) == ("train.py:41", "not_significant")


def test_lines_that_came_and_went_are_said() -> None:
    part = masking(compare([capture([(HOT, 100), (WARM, 100)])], [capture([(COOL, 100), (WARM, 100)], "run_2.1")]))
    assert line(part, "train.py:60").outcome == "new"
    assert line(part, "train.py:41").outcome == "gone"


def test_too_few_samples_are_said_and_not_compared() -> None:
    comparison = compare([capture([(HOT, 160), (WARM, 40)])], [capture([(HOT, 30), (WARM, 30)], "run_2.1")])
    part = masking(comparison)
    assert part.text == FEW
    assert not part.lines
    assert f"{MASKING}: {FEW}" in " ".join(compare_text(comparison).split())


def test_a_side_that_names_one_line_of_few_samples_has_not_lost_the_others() -> None:
    few = masking(compare([capture([(HOT, 160), (WARM, 40)])], [capture([(HOT, 58), (WARM, 2)], "run_2.1")]))
    assert few.text == FEW and not few.lines


def test_the_difference_of_equal_runs_is_not_significant() -> None:
    part = masking(compare([capture([(HOT, 110), (WARM, 90)])], [capture([(HOT, 98), (WARM, 102)], "run_2.1")]))
    assert {row.outcome for row in (*part.lines, *part.functions)} == {"not_significant"}


def test_runs_that_differ_among_themselves_widen_the_interval() -> None:
    hot, cold = [(HOT, 160), (WARM, 40)], [(HOT, 60), (WARM, 140)]
    one = masking(compare([capture(hot)], [capture(cold, "run_9.1")]))
    runs = [capture(side, f"run_{number}.1") for number, side in enumerate((hot, cold))]
    several = masking(compare(runs, [capture(cold, f"run_{number}.1") for number in (7, 8)]))
    widths = [row.high - row.low for row in (line(several, "train.py:41"), line(one, "train.py:41"))]
    assert widths[0] > 2 * widths[1]


def test_captures_without_samples_have_no_lines() -> None:
    plain = capture_of(TraceBuilder().step(0, 10_000).wait(0, 8000))
    assert not compare([plain], [plain]).lines
    assert "Functions and lines" not in compare_text(compare([plain], [plain]))


def test_the_terminal_has_the_change_of_each_line() -> None:
    comparison = compare([capture([(HOT, 160), (WARM, 40)])], [capture([(HOT, 40), (WARM, 160)], "run_2.1")])
    text = " ".join(compare_text(comparison).split())
    assert "`mask = dilate(mask)` in RandomMask.dilate at train.py:41: 80" in text
    assert "*: significant" in text


def test_what_a_line_calls_has_its_share_over_all_runs_in_whatever_order() -> None:
    """Not that of the capture that was read last."""

    def line(time_us: float, share: float) -> pb.Line:
        text = f"`step()` in main at train.py:39 (torch.Tensor.backward {percent(share)})"
        callee = pb.Callee(name="torch.Tensor.backward", share=share)
        return pb.Line(function="main", time_us=time_us, text=text, callees=[callee])

    lines = [line(300, 0.6), line(100, 0.8)]
    assert line_name(lines) == line_name(lines[::-1]) == "`step()` in main at train.py:39 (torch.Tensor.backward 65.0%)"
