"""The hottest lines of a stage, in the terminal."""

from __future__ import annotations

from tb_dataplugin.export.lines_text import line_lines
from tb_dataplugin.report.report_pb2 import Capture, Line, PartLines

TRAIN = "/home/me/train.py"


def line(function: str, number: int, share: float) -> Line:
    return Line(function=function, file=TRAIN, line=number, share=share, text=f"line {number}")


def said(*lines: Line) -> list[str]:
    capture = Capture()
    capture.lines.stages.append(PartLines(name="sample::Speech", time_us=1e6, lines=lines))
    return [row.strip() for row in line_lines(capture)][1:]


def test_a_loop_of_plain_python_is_one_function_whose_lines_are_all_colder() -> None:
    loop = [line("mel_filterbank", number, share) for number, share in ((17, 0.10), (19, 0.09), (16, 0.05))]
    rows = said(line("load", 35, 0.4), line("logmel", 31, 0.2), line("logmel", 29, 0.13), *loop)
    assert rows == [
        "40.0%  line 35",
        "24.0%  mel_filterbank at train.py:16 to 19, over 3 lines, most in line 17",
        "20.0%  line 31",
    ]


def test_a_line_with_most_of_its_function_is_said_itself() -> None:
    assert said(line("load", 35, 0.4), line("load", 36, 0.1), line("crop", 50, 0.01)) == [
        "40.0%  line 35",
        "10.0%  line 36",
    ]
