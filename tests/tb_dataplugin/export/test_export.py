from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.export.as_json import as_dict, as_json
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.export.terminal import ASCII, Style
from tb_dataplugin.export.width import WIDEST
from tb_dataplugin.pipeline import analyse, analyse_file, as_report
from tb_dataplugin.report.report_pb2 import Report
from tests.conftest import GOLDEN
from tests.trace_builder import TraceBuilder, training_run

ALL = sorted(GOLDEN.glob("*.gz"))

UNCUT = re.compile(r" {6}\S.*[(=]|      --(from|logdir) |    python -m ")
"""What is to be copied."""


def report_of(path: Path) -> Report:
    return as_report([analyse_file(path).capture])


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name.split(".")[0])
def test_text_fits_and_is_free_of_escapes(path: Path) -> None:
    lines = as_text(report_of(path)).splitlines()
    assert max(len(line) for line in lines if not UNCUT.match(line)) <= WIDEST
    assert "\x1b" not in "".join(lines)
    assert not any(line.endswith(" ") for line in lines)


@pytest.mark.parametrize("columns", [40, 60, 80, 90])
def test_text_is_as_wide_as_the_terminal(columns: int) -> None:
    for name in ("v100_resnet50_workers4", "annotate_workers2"):
        text = as_text(report_of(GOLDEN / f"{name}.pt.trace.json.gz"), Style(width=columns))
        lines = [line for line in text.splitlines() if not UNCUT.match(line)]
        assert columns - 20 < max(map(len, lines)) <= columns
        assert not any(line.endswith(" ") for line in lines)


def test_names_of_stages_are_whole_where_other_columns_can_be_left_out() -> None:
    """Two that are cut off may look alike; the heading names the columns that are there."""
    report = report_of(GOLDEN / "annotate_workers2.pt.trace.json.gz")
    named = [stage.path[-1] for stage in report.captures[0].stages]
    text = as_text(report, Style(width=60))
    assert all(f" {name} " in text for name in named)
    assert "\nStages   self in ms\n" in text
    assert text.partition("\nStages")[2].splitlines()[1].split() == ["count", "self", "wait"]


def test_several_captures_begin_with_one_line_each_worst_first() -> None:
    calm, busy = training_run().step(1000, 100), training_run().wait(1000, 5000).step(1000, 5000)
    paths = (Path("runs/calm/h_1.1795381160725890216.pt.trace.json"), Path("runs/busy/h_2.pt.trace.json"))
    captures = []
    for builder, path in zip((calm, busy), paths, strict=True):
        capture = analyse(builder.trace()).capture
        capture.file, capture.name = str(path), path.name.removesuffix(".pt.trace.json")
        captures.append(capture)
    report = as_report(captures)
    text, summary = as_text(report), as_text(report, only_summary=True)
    heading, _, *rows, _ = summary.strip().splitlines()
    first, second = (row for row in rows if row[2] != " ")
    assert heading.startswith("2 captures, worst first")
    assert [first.split()[0], second.split()[0]] == ["busy", "calm"]
    assert text.startswith(summary)
    assert text.index("busy/h_2") < text.index("calm/h_1")
    assert "worst first" not in as_text(as_report(captures[:1]))


def test_captures_of_one_folder_are_named_as_shortly_as_they_can_be_told_apart() -> None:
    def names(*stems: str) -> list[str]:
        captures = [analyse(training_run().trace()).capture for _ in stems]
        for capture, stem in zip(captures, stems, strict=True):
            capture.file, capture.name = f"runs/exp1/{stem}.pt.trace.json", stem
        rows = as_text(as_report(captures), only_summary=True).splitlines()[2:]
        return [row.split()[0] for row in rows if row.startswith("  h_")]

    assert names("h_1.1795381160725890216", "h_2.1795381160725890217") == ["h_1", "h_2"]
    assert names("h_1.1795381160725890216", "h_1.1795381160725890217") == ["h_1..890216", "h_1..890217"]


def test_text_can_be_plain_ascii() -> None:
    text = as_text(as_report([analyse(training_run().trace()).capture]), ASCII)
    text.encode("ascii")


def test_colour_is_there_when_asked_for() -> None:
    assert "\x1b[1m" in as_text(as_report([analyse(training_run().trace()).capture]), Style(color=True))


def step_bars(text: str) -> tuple[str, list[str]]:
    """The legend of the step chart, and its bars."""
    lines = text.splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("Steps ("))
    rows = [line for line in lines[begin + 1 :] if line.startswith("  step ")]
    return lines[begin].split("   ")[-1], [row[23:63].strip() for row in rows]


def test_steps_show_the_data_wait_and_the_largest_other_cause() -> None:
    report = report_of(GOLDEN / "v100_resnet50_workers4.pt.trace.json.gz")
    legend, bars = step_bars(as_text(report))
    assert legend == "█ device busy  ▓ idle: data wait  ▒ idle: launch  ░ idle: other"
    steps = report.captures[0].steps.items
    longest = max(step.duration_us for step in steps)
    for bar, step in zip(bars, steps, strict=True):
        told = step.idle_by_cause_us
        for glyph, time in (("█", step.device_busy_us), ("▓", told.data_wait), ("▒", told.launch)):
            assert bar.count(glyph) == pytest.approx(time / longest * 40, abs=1)
        assert len(bar) == pytest.approx(step.duration_us / longest * 40, abs=1)


def test_a_cause_that_never_was_has_no_glyph() -> None:
    legend, _ = step_bars(as_text(report_of(GOLDEN / "sampled_rank0.pt.trace.json.gz")))
    assert "data wait" not in legend and legend.startswith("█ device busy  ▒ idle: ")


def test_steps_have_a_legend_where_neither_a_device_nor_a_loader_was_recorded() -> None:
    legend, bars = step_bars(as_text(report_of(GOLDEN / "cpu_only_rank34.pt.trace.json.gz")))
    assert legend == "░ whole step" and set(bars[0]) == {"░"}
    legend, _ = step_bars(as_text(report_of(GOLDEN / "torch2_4_cpu_workers2.pt.trace.json.gz")))
    assert legend == "▓ data wait  ░ rest of the step"


def test_starts_of_gaps_say_from_where_they_count() -> None:
    """The profiler's own span begins before anything is recorded, by 853 ms there."""
    text = as_text(report_of(GOLDEN / "sampled_rank0.pt.trace.json.gz"))
    assert "Longest idle gaps of device 0 (ms; start: from the first event besides the profiler's span)" in text


def test_a_gap_names_the_runtime_call_that_most_of_it_passed_in() -> None:
    text = " ".join(as_text(report_of(GOLDEN / "alexnet_no_steps.pt.trace.json.gz")).split())
    assert "host in aten::to for 98.4% of the gap (29.9 s in all), runtime call cudaDeviceGetStreamPriority" in text
    assert "runtime call cudaFree for 59.9% of the gap (6.01 s in all)" in text


def test_of_an_operator_that_a_short_gap_lies_in_the_gap_says_its_part_of_the_gap() -> None:
    """The same call of 10.8 s, in a gap of 0.824 s."""
    text = " ".join(as_text(report_of(GOLDEN / "alexnet_no_steps.pt.trace.json.gz")).split())
    assert "30.5 0.824 – launch 99.4%, host in aten::conv2d for 97.9% of the gap (10.8 s in all)," in text


def test_bars_are_painted_by_cause() -> None:
    text = as_text(report_of(GOLDEN / "v100_resnet50_workers0.pt.trace.json.gz"), Style(color=True))
    assert "\x1b[38;5;103m█" in text and "\x1b[38;5;167m▓" in text and "\x1b[38;5;178m▒" in text


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name.split(".")[0])
def test_json_has_no_nan_and_snake_case_names(path: Path) -> None:
    text = as_json(report_of(path))

    def check(value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                check(inner)
                assert "::" in key or key == key.lower() or key.isupper()
        elif isinstance(value, list):
            for inner in value:
                check(inner)
        elif isinstance(value, float):
            assert math.isfinite(value)

    check(json.loads(text))


def test_json_has_the_fixed_points_of_the_contract() -> None:
    found = as_dict(as_report([analyse(training_run().trace()).capture]))
    assert found["schema_version"] == 2
    capture = found["captures"][0]
    assert {"name", "mode", "window_us", "steps", "devices", "loader", "stages", "workers", "throughput"} <= set(
        capture
    )
    assert {"verdict", "findings", "diagnostics", "host", "torch_version"} <= set(capture)
    assert set(capture["steps"]["items"][0]) >= {"number", "start_us", "duration_us", "data_wait_us"}
    assert set(capture["devices"][0]["gaps"][0]) >= {"start_us", "duration_us", "cause", "stage", "step"}
    assert set(capture["verdict"]) == {"bound", "sentence", "evidence"}


def test_zero_is_written_and_unknown_is_absent() -> None:
    capture = as_dict(analyse(training_run(steps=1).trace()).capture)
    assert capture["diagnostics"] != []
    assert capture["workers"] == []
    assert "rank" not in capture
    assert "read_per_s" not in capture["throughput"]


def test_of_the_threads_that_had_the_lock_the_recorders_is_said_to_be_that() -> None:
    times = [50.0 + 100 * number for number in range(100)]
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, 1000, "wait::DataLoader")
    builder.sampled(times, [3, 3, 3, 4] * 25, holders=["metrics", "annotate: host samples"])
    said = " ".join(as_text(as_report([analyse(builder.trace()).capture])).split())
    assert re.search(r"metrics [\d.]+ ms, annotate: host samples [\d.]+ ms \(the recorder, which no finding", said)
