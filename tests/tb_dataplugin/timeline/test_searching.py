"""Spans by their name: every call, also those that no picture has room for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.build_timeline import slice_timeline
from tb_dataplugin.timeline import lanes
from tb_dataplugin.timeline.lanes import TimelineSource
from tb_dataplugin.timeline.searching import Found, Place, Scope, search_spans
from tests.tb_dataplugin.timeline.test_slicing import dense_source
from tests.trace_builder import TraceBuilder, training_run

EVERYWHERE = Scope()


def search(source: TimelineSource, text: str, place: Place | None = None, scope: Scope = EVERYWHERE) -> Found:
    return search_spans(source, text.split(), scope, place)


def test_calls_that_a_picture_joins_are_found_one_by_one() -> None:
    source = dense_source(rows=2, spans=1000)
    (first, _) = slice_timeline(source, 0, 1000, 100).lanes
    assert len(first.start_ns) < 100
    found = search(source, "KERNEL 49", Place(number=0))
    assert found.count == 2 * 20
    assert found.span is not None
    assert (found.span.lane, found.span.start_ns, found.span.duration_ns) == ("device:0", 49_000, 600)


def test_there_are_as_many_as_the_stage_has_calls_in_the_window() -> None:
    builder = training_run().stage("transform::Late", -20, 30).stage("transform::Late", 399, 5)
    analysed = analyse(builder.trace())
    counted: Counter[str] = Counter()
    for stage in analysed.capture.stages:
        counted[f"{stage.kind}::{stage.label}"] += stage.count
    assert counted["transform::RandomCrop"] == 4
    assert counted["transform::Late"] == 1
    for name, count in counted.items():
        assert search(analysed.timeline, name).count == count


def test_operators_inside_others_are_counted_as_not_drawn() -> None:
    builder = TraceBuilder().step(0, 100).operator(10, 30, "aten::linear").operator(12, 20, "aten::addmm")
    source = analyse(builder.operator(60, 20, "aten::addmm").trace()).timeline
    assert search(source, "aten::addmm") == Found(1, 1, None)
    assert search(source, "aten") == Found(2, 1, None)


def test_stages_too_deep_to_be_drawn_are_counted_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST_ROWS", 2)
    source = analyse(training_run().trace()).timeline
    assert search(source, "decode::PIL.Image") == Found(0, 4, None)


@pytest.mark.parametrize(
    ("place", "number", "start_us"),
    [
        (Place(number=1), 1, 102), (Place(number=4), 0, 2), (Place(number=-1), 3, 302),
        (Place(from_ns=102_000), 1, 102), (Place(from_ns=102_001), 2, 202), (Place(from_ns=350_000), 0, 2),
        (Place(before_ns=102_000), 0, 2), (Place(before_ns=102_001), 1, 102), (Place(before_ns=0), 3, 302),
    ],
)  # fmt: skip
def test_goes_to_a_place_among_them_and_on_from_either_end(place: Place, number: int, start_us: int) -> None:
    span = search(analyse(training_run().trace()).timeline, "transform random", place).span
    assert span is not None
    assert (span.number, span.start_ns, span.name) == (number, start_us * 1000, "transform::RandomCrop")
    (lane,) = (one for one in analyse(training_run().trace()).timeline.lanes if one.id == span.lane)
    assert span.start_ns in lane.rows[span.depth].spans.start_ns and span.depth > 0


def test_only_the_lanes_of_one_device_or_loader_are_searched_and_those_of_neither() -> None:
    source = dense_source(rows=2, spans=50)
    owned = [replace(lane, owner=lanes.LaneOwner(device=number)) for number, lane in enumerate(source.lanes)]
    apart = replace(source, lanes=(*owned, replace(source.lanes[0], id="main")))
    assert search(apart, "kernel").count == 150
    assert search(apart, "kernel", scope=Scope(device=1)).count == 100
    assert search(apart, "kernel", scope=Scope(loader=3)).count == 150
