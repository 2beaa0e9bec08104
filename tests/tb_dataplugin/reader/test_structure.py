"""Traces of hostile structure: what each limit leaves, and what every shape may cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin import limits
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.export.as_json import as_compact_json, as_json
from tb_dataplugin.pipeline import AnalysedCapture, analyse, as_report
from tb_dataplugin.reader import recovery
from tb_dataplugin.reader.kineto import trace_from_json
from tb_dataplugin.report.build_timeline import slice_timeline
from tests.fuzz import shapes
from tests.fuzz.shapes import SHAPES
from tests.fuzz.structure import measure


def analysed(text: bytes) -> AnalysedCapture:
    return analyse(trace_from_json(text, Path("shape.pt.trace.json")))


def told(found: AnalysedCapture) -> dict[str, Any]:
    return json.loads(as_json(as_report([found.capture])))["captures"][0]  # type: ignore[no-any-return]


def counts(capture: dict[str, Any]) -> dict[str, int]:
    return {one["code"]: one["count"] for one in capture["diagnostics"] if one["code"].startswith("limit_")}


@pytest.mark.one_of(2)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_report_holds_is_bounded_whatever_the_structure(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "MOST_JUNK", 500)
    try:
        found = analysed(SHAPES[shape](2500))
    except UnreadableTrace as error:
        assert "shape.pt.trace.json" in str(error) and "\n" not in str(error)
        return
    capture = told(found)
    assert len(capture["devices"]) <= limits.MOST_DEVICES
    assert sum(len(device["gaps"]) for device in capture["devices"]) <= limits.ALL_GAPS
    assert len(capture["stages"]) <= 2 * limits.MOST_STAGES
    assert max((len(stage["path"]) for stage in capture["stages"]), default=0) <= limits.MOST_DEPTH + 1
    assert len(capture.get("workers", ())) <= limits.MOST_WORKERS
    rows = sum(len(lane.rows) for lane in found.timeline.lanes)
    assert rows <= 2 * limits.MOST_ROWS + 3 * limits.MOST_THREADS + limits.MOST_DEVICES * (limits.MOST_STREAMS + 3)
    start, length = capture["window_start_us"], capture["window_us"]
    assert len(as_compact_json(slice_timeline(found.timeline, start, start + length, 2000))) < 600_000


@pytest.mark.one_of(2)
@pytest.mark.parametrize(
    ("shape", "code"),
    [
        ("nested", "limit_depth"),
        ("one_interval", "limit_depth"),
        ("labels", "limit_stages"),
        ("devices", "limit_devices"),
        ("streams", "limit_streams"),
        ("stage_threads", "limit_threads"),
        ("launching_threads", "limit_threads"),
        ("series", "limit_series"),
        ("workers", "limit_workers"),
        ("settings", "limit_notes"),
    ],
)
def test_a_limit_that_was_hit_is_said_in_one_line(shape: str, code: str) -> None:
    capture = told(analysed(SHAPES[shape](3000)))
    message = next(one["message"] for one in capture["diagnostics"] if one["code"] == code)
    assert counts(capture)[code] > 0 and "\n" not in message


@pytest.mark.parametrize("shape", ["nested", "labels", "devices", "streams", "stage_threads", "series"])
def test_a_trace_within_the_limits_says_nothing_of_them(shape: str) -> None:
    assert counts(told(analysed(SHAPES[shape](30)))) == {}


def test_stages_too_deep_count_for_the_stage_around_them() -> None:
    spans = [shapes.mark("transform::Crop", n, 1000 - 2 * n) for n in range(limits.MOST_DEPTH + 10)]
    capture = told(analysed(shapes.around(spans, 2000)))
    assert counts(capture) == {"limit_depth": 11}  # the wait around them is the first level
    assert sum(stage["self_us"] for stage in capture["stages"]) == 1000


def test_stages_beyond_the_limit_are_counted_together() -> None:
    size = limits.MOST_STAGES + 500
    capture = told(analysed(shapes.around([shapes.mark(f"read::{n}", 10 * n, 8) for n in range(size)], 20 * size)))
    further = [stage for stage in capture["stages"] if stage["label"] == "(further stages)"]
    assert sum(stage["count"] for stage in further) == counts(capture)["limit_stages"] > 0
    assert sum(stage["count"] for stage in capture["stages"] if stage["kind"] != "wait") == size


def test_the_devices_and_threads_with_most_events_are_kept() -> None:
    busy = [one for n in range(20) for one in shapes.launched(10_000 + 10 * n, device=500, tid=9000)]
    others = [one for n in range(3000) for one in shapes.launched(10 * n, device=n % 400, tid=n)]
    capture = told(analysed(shapes.around([*others, *busy], 40_000)))
    assert 500 in [device["id"] for device in capture["devices"]]
    chains = [gap.get("chain", {}) for device in capture["devices"] if device["id"] == 500 for gap in device["gaps"]]
    assert any("launch" in chain for chain in chains)


def test_streams_that_share_a_row_change_no_figure() -> None:
    few = [one for n in range(600) for one in shapes.launched(10 * n, stream=n % 2)]
    many = [one for n in range(600) for one in shapes.launched(10 * n, stream=n)]
    left, right = (told(analysed(shapes.around(events, 6000))) for events in (few, many))
    for capture in (left, right):
        for gap in capture["devices"][0]["gaps"]:
            gap.pop("chain", None)  # names lanes by their number
    assert left["devices"] == right["devices"]


def test_junk_without_end_stops_the_reading_and_keeps_what_stood_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "MOST_JUNK", 500)
    good = b'{"ph":"X","cat":"cpu_op","name":"good","pid":1,"tid":1,"ts":%d,"dur":1},'
    text = b'{"traceEvents":[' + b"".join(good % n for n in range(50)) + b"x y," * 5000 + good % 99
    trace = trace_from_json(text, Path("x.json"))
    assert len(trace.events) == 50
    assert "limit_junk" in {one.code for one in trace.diagnostics}


def test_damage_here_and_there_never_stops_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "MOST_JUNK", 50)
    good = b'{"ph":"X","cat":"cpu_op","name":"good","pid":1,"tid":1,"ts":%d,"dur":1},'
    text = b'{"traceEvents":[' + b"".join(good % n + (b"{]," if n % 20 == 0 else b"") for n in range(4000)) + b"{}]}"
    trace = trace_from_json(text, Path("x.json"))
    assert len(trace.events) == 4000


@pytest.mark.one_of(2)
@pytest.mark.parametrize("shape", ["nested", "one_interval", "labels", "devices", "stage_threads", "junk_events"])
def test_time_and_memory_are_in_proportion_to_the_file(shape: str) -> None:
    """Each of these took more than a minute; the limits are ten times what they take now."""
    cost = measure(SHAPES[shape](30_000))
    assert cost.excess() == [], cost
