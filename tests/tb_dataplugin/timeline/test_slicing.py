"""Pictures of slices: what is in them, and how large they may get."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import json_format

from tb_dataplugin.export.as_json import as_compact_json
from tb_dataplugin.model.beside_events import CounterSeries
from tb_dataplugin.model.intervals import Window, int64
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.reader import read_trace
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_timeline import slice_timeline
from tb_dataplugin.timeline import slicing
from tb_dataplugin.timeline.counters import CounterLine, counter_charts, slice_line
from tb_dataplugin.timeline.lanes import Label, LaneSource, TimelineSource
from tb_dataplugin.timeline.pyramid import build_row
from tests.trace_builder import TraceBuilder, training_run


def dense_source(rows: int = 20, spans: int = 20_000, name: str = "kernel", every_ns: int = 1000) -> TimelineSource:
    """Rows in which spans of 600 ns begin every microsecond, each with a name of its own modulo 50."""
    start = np.arange(spans, dtype=np.int64) * every_ns
    label = (np.arange(spans) % 50).astype(np.int32)
    lanes = tuple(
        LaneSource(f"device:{n}", "device", f"Device {n}", (build_row(start, start + 600, label),)) for n in range(rows)
    )
    labels = tuple(Label(f"{name} {n}", "kernel") for n in range(50))
    return TimelineSource(Window(0, spans * every_ns), lanes, labels, (0,) * 50)


def test_a_slice_tells_names_colours_and_exact_times() -> None:
    timeline = slice_timeline(analyse(training_run().trace()).timeline, 100, 200, 1000)
    stages = timeline.lanes[1]
    assert list(stages.boxes) == [1, 1, 1, 1]
    assert [timeline.names[name] for name in stages.name] == [
        "wait::DataLoader", "sample::Pets", "transform::RandomCrop", "decode::PIL.Image",
    ]  # fmt: skip
    assert [timeline.colors[name] for name in stages.name] == ["wait", "sample", "transform", "decode"]
    assert list(stages.start_ns) == [0, 1000, 2000, 3000]
    assert list(stages.duration_ns) == [40_000, 38_000, 36_000, 30_000]
    assert not stages.merged and not stages.covered and not stages.index


def test_a_box_for_several_says_how_many_and_how_much_of_it_they_cover() -> None:
    timeline = slice_timeline(dense_source(rows=1), 0, 20_000, 100)
    (lane,) = timeline.lanes
    assert sum(lane.merged) == 20_000
    assert set(lane.covered) == {60}
    assert max(lane.merged) > 1


@pytest.mark.parametrize("rows", [1, 20, 150])
@pytest.mark.parametrize("width", [100, 1000, 8000])
@pytest.mark.parametrize("share", [1.0, 0.3, 0.01, 0.0001])
def test_no_picture_is_larger_than_allowed(rows: int, width: int, share: float) -> None:
    source = dense_source(
        rows, spans=5000, name="void at::native::vectorized_elementwise_kernel<4, at::native::Add>" * 4
    )
    end_us = source.window.end_ns / 1e3
    assert len(as_compact_json(slice_timeline(source, 0, end_us * share, width))) <= 300_000


def test_where_there_is_room_a_box_is_at_most_two_pixels_of_several() -> None:
    (lane,) = slice_timeline(dense_source(rows=1), 0, 20_000, 1000).lanes
    pixel_ns = 20_000
    joined = [length for length, merged in zip(lane.duration_ns, lane.merged, strict=True) if merged > 1]
    assert max(joined) <= 2 * 2 * pixel_ns


def test_the_compact_json_is_the_messages_own() -> None:
    timeline = slice_timeline(analyse(training_run().trace()).timeline, 0, 400, 500)
    assert json_format.Parse(as_compact_json(timeline), pb.Timeline()) == timeline
    assert b".0" not in as_compact_json(timeline)


def test_long_names_are_cut() -> None:
    source = dense_source(1, 10, name="x" * 400)
    assert {len(name) for name in slice_timeline(source, 0, 10, 1000).names} == {slicing.MAX_NAME}


def test_a_slice_beside_everything_is_empty() -> None:
    timeline = slice_timeline(dense_source(2), 1e9, 2e9, 1000)
    assert [list(lane.boxes) for lane in timeline.lanes] == [[0], [0]]
    json.loads(as_compact_json(timeline))


def test_steps_without_time_are_shown() -> None:
    source = analyse(TraceBuilder().step(0, 0).step(50, 10).trace()).timeline
    (steps,) = slice_timeline(source, 0, 60, 600).lanes
    assert list(steps.duration_ns) == [0, 10_000]


def test_gaps_have_the_colour_that_the_report_names_as_their_cause(golden: Path) -> None:
    found = analyse(read_trace(golden / "v100_resnet50_workers0.pt.trace.json.gz"))
    end_us = found.timeline.window.end_ns / 1e3
    timeline = slice_timeline(replace(found.timeline, lanes=found.timeline.lanes[-1:]), 0, end_us, 8_000_000)
    (lane,) = timeline.lanes
    drawn = dict(zip(np.cumsum(lane.start_ns).tolist(), (timeline.colors[name] for name in lane.name), strict=True))
    said = {round(gap.start_us * 1e3): f"idle:{gap.cause}" for gap in found.capture.devices[0].gaps}
    assert len(said) > 100 and len(set(said.values())) > 2
    assert said.items() <= drawn.items()


def series(counter: str, name: str, values: list[float], every_ns: int = 1_000_000) -> CounterSeries:
    return CounterSeries(counter, name, int64(range(len(values))) * every_ns, np.array(values))


def test_cores_share_one_line_with_their_spread() -> None:
    (chart,) = counter_charts([series("host::cpu", "core 0", [10, 20]), series("host::cpu", "core 1", [30, 100])])
    assert (chart.title, chart.unit, chart.top, len(chart.lines)) == ("CPU", "%", 100, 1)
    points = slice_line(chart.lines[0], Window(0, 2_000_000))
    assert (points.mean.tolist(), points.low.tolist(), points.high.tolist()) == ([20, 60], [10, 20], [30, 100])


def test_charts_stand_in_a_fixed_order_and_counters_of_others_behind_them() -> None:
    charts = counter_charts(
        [series("odd", "x", [1]), series("host::network", "sent_bytes_per_s", [5]), series("host::cpu", "core 0", [1])]
    )
    assert [chart.title for chart in charts] == ["CPU", "Network", "odd"]
    assert [line.name for line in charts[1].lines] == ["sent"]


def test_a_counter_without_a_usable_value_has_no_lane() -> None:
    assert counter_charts([series("host::disk", "read_bytes_per_s", [float("nan"), float("inf")])]) == []


def test_a_line_reaches_over_the_edges_of_the_slice() -> None:
    (chart,) = counter_charts([series("host::disk", "read_bytes_per_s", [1, 2, 3, 4, 5])])
    points = slice_line(chart.lines[0], Window(1_500_000, 2_500_000))
    assert points.mean.tolist() == [2, 3, 4]
    late = slice_line(chart.lines[0], Window(10_000_000, 11_000_000))
    assert late.mean.tolist()[-1] == 5 and len(late.mean) == 2, "how long the last one holds the one before it shows"


def test_many_samples_become_few_points_that_keep_the_extremes() -> None:
    values = [0.0] * 100_000
    values[777] = 42.0
    (chart,) = counter_charts([series("host::disk", "read_bytes_per_s", values)])
    points = slice_line(chart.lines[0], Window(0, 100_000 * 1_000_000))
    assert len(points.mean) < 300
    assert points.high.max() == 42 and points.low.min() == 0


def test_a_point_stands_where_its_first_value_begins_and_has_the_mean_over_the_time_for_which_they_hold() -> None:
    line = CounterLine("x", np.array([0, 10, 100, 200]), np.array([5.0, 1.0, 2.0, 7.0]))
    points = slice_line(line, Window(0, 300), points=3)
    assert points.time_ns.tolist() == [0, 100, 200]
    assert points.mean.tolist() == [(10 * 5 + 90 * 1) / 100, 2, 7]


def test_counters_stand_between_workers_and_devices() -> None:
    trace = replace(training_run().trace(), counters=(series("host::cpu", "core 0", [1, 2, 3], 100_000),))
    timeline = slice_timeline(analyse(trace).timeline, 0, 400, 1000)
    assert [lane.kind for lane in timeline.lanes] == ["steps", "stages", "calls", "counter", "device", "gaps"]
    (line,) = timeline.lanes[3].lines
    assert (list(line.time_ns), list(line.mean), list(line.low)) == ([0, 100_000, 100_000], [1, 2, 3], [])


@pytest.mark.parametrize("value", [4_924_964_864.0, 4_925_035_137.0, 99.9999999])
def test_the_axis_of_a_counter_reaches_its_largest_value_in_the_digits_that_are_said(value: float) -> None:
    counters = (series("device::memory", "used", [value, value], 100_000),)
    timeline = slice_timeline(analyse(replace(training_run().trace(), counters=counters)).timeline, 0, 400, 1000)
    (lane,) = (lane for lane in timeline.lanes if lane.kind == "counter")
    assert list(lane.lines[0].mean) == [lane.top] * 2
    assert f"{lane.top:.3g}" == f"{value:.3g}"


def test_a_share_of_more_than_all_is_on_its_axis() -> None:
    (chart,) = counter_charts([series("host::disk_busy", "vda", [120.0])])
    assert (chart.unit, chart.top) == ("%", 120)


def test_the_lane_of_a_worker_shows_where_its_processes_change() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 100)
    builder.worker(0, started=5, pid=200, ended=40).batch(0, 0, 2, 10, 30, 35, {"sample::Pets": (10, 20)})
    builder.epoch += 1
    builder.worker(0, started=55, pid=300).batch(0, 0, 50, 60, 80, 85, {"sample::Pets": (60, 20)})
    timeline = slice_timeline(analyse(builder.trace()).timeline, 0, 100, 1000)
    (lane,) = (lane for lane in timeline.lanes if lane.worker == 0 and lane.kind == "worker")
    rows = np.repeat(np.arange(len(lane.boxes)), list(lane.boxes))
    names = [timeline.names[name] for name in lane.name]
    assert [name for row, name in zip(rows, names, strict=True) if row == 0] == ["batch 0"] * 2, "all that a fold shows"
    assert [name for row, name in zip(rows, names, strict=True) if row == rows[-1]] == ["process 200", "process 300"]
    assert [timeline.colors[name] for name in lane.name][-2:] == ["process"] * 2
    assert list(lane.start_ns)[-2:] == [2_000, 50_000 - 2_000], "each from the one before it"


def test_steps_that_only_the_recorder_saw_have_their_lane() -> None:
    builder = TraceBuilder().annotated(steps={"source": "optimizer", "boundaries_us": [0, 40, 100]}).wait(5, 10)
    steps = slice_timeline(analyse(builder.trace()).timeline, 0, 100_000, 1000).lanes[0]
    assert steps.kind == "steps"
