from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.model.events import Category
from tb_dataplugin.reader import read_trace
from tb_dataplugin.reader.kineto import trace_from_json
from tests.trace_builder import TraceBuilder, training_run

CPU_TRACES = ["torch1_8", "torch1_12", "torch2_4", "torch2_13"]


def codes(trace: object) -> list[str]:
    return [one.code for one in trace.diagnostics]  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", CPU_TRACES)
@pytest.mark.parametrize("workers", [0, 2])
def test_every_torch_version_gives_steps_and_waits(golden: Path, version: str, workers: int) -> None:
    trace = read_trace(golden / f"{version}_cpu_workers{workers}.pt.trace.json.gz")
    assert len(trace.steps.row) == 3
    assert trace.stage_spans.is_kind("wait").sum() == 3
    assert trace.info.single_process_loader == (workers == 0)


@pytest.mark.parametrize("version", CPU_TRACES)
def test_markers_of_others_in_a_wait_are_user_stages(golden: Path, version: str) -> None:
    trace = read_trace(golden / f"{version}_cpu_workers0.pt.trace.json.gz")
    labels = {stage.label for stage in trace.stage_spans.stages if stage.kind == "user"}
    assert labels == {"load", "collate", "transform#0::t_slow", "transform#1::t_mul"}


@pytest.mark.parametrize("version", CPU_TRACES)
def test_operators_in_a_wait_are_no_markers(golden: Path, version: str) -> None:
    trace = read_trace(golden / f"{version}_cpu_workers2.pt.trace.json.gz")
    assert {stage.kind for stage in trace.stage_spans.stages} == {"wait"}


def test_only_devices_that_did_something_count(golden: Path) -> None:
    trace = read_trace(golden / "mi250_minitoy.pt.trace.json.gz")
    assert len(trace.info.devices) == 4
    assert trace.device_ids() == [2]


def test_the_device_copy_of_a_step_is_no_step(golden: Path) -> None:
    assert read_trace(golden / "mi250_minitoy.pt.trace.json.gz").steps.number.tolist() == [1, 2]


def test_rank_and_world_size_are_read(golden: Path) -> None:
    info = read_trace(golden / "cpu_only_rank34.pt.trace.json.gz").info
    assert (info.rank, info.world_size) == (34, 300)


def test_times_start_at_the_first_event() -> None:
    trace = TraceBuilder().operator("1695835542514261.123", "0.002").operator("1695835542514262.125", 1).trace()
    assert trace.events.start_ns.tolist() == [0, 1002]
    assert trace.events.end_ns.tolist() == [2, 2002]


def test_old_and_new_category_names_are_the_same_thing() -> None:
    old = TraceBuilder().kernel(0, 1, cat="Kernel").trace()
    new = TraceBuilder().kernel(0, 1, cat="kernel").trace()
    assert old.events.category.tolist() == new.events.category.tolist() == [Category.KERNEL]


def test_a_hexadecimal_stream_and_text_ids_are_read() -> None:
    trace = TraceBuilder().add("kernel", "k", 0, 1, pid=0, tid="stream 7", device="2", correlation="0x10").trace()
    assert trace.events.device.tolist() == [2]
    assert trace.events.correlation.tolist() == [16]


def test_events_without_a_time_are_left_out_and_counted() -> None:
    trace = TraceBuilder().operator(1, 1).operator("soon", 1).operator(5, "long").operator(5, -1).trace()
    assert trace.events.start_ns.tolist() == [0]
    assert codes(trace) == ["event_without_start", "event_without_duration"]


def test_a_bare_list_of_events_is_a_trace() -> None:
    events = json.dumps(TraceBuilder().operator(0, 1).events).encode()
    assert len(trace_from_json(events, Path("list.json")).events) == 1


def test_control_characters_and_nan_do_not_stop_a_load() -> None:
    text = (
        TraceBuilder()
        .operator(0, 1, name="tab?")
        .json()
        .replace(b"?", b"\t")
        .replace(b'"schemaVersion": 1', b'"x": NaN')
    )
    assert trace_from_json(text, Path("odd.json")).names == ("tab ",)


def test_events_of_any_type_in_any_field_do_not_stop_a_load() -> None:
    odd: dict[str, Any] = {"ph": "X", "cat": "kernel", "name": None, "pid": {}, "tid": [1], "ts": 1, "dur": 1}
    events = [odd, odd | {"cat": 3}, odd | {"args": {"device": {"a": 1}}}, odd | {"args": 3}, odd | {"name": {}}]
    trace = trace_from_json(json.dumps({"traceEvents": events}).encode(), Path("odd.json"))
    assert len(trace.events) == 4


def test_a_wait_inside_a_wait_counts_once() -> None:
    trace = TraceBuilder().step(0, 100).wait(0, 50, "wait::DataLoader").wait(1, 48).trace()
    assert trace.stage_spans.is_kind("wait").sum() == 1


def test_metadata_of_annotate_is_read() -> None:
    info = training_run().trace().info
    assert info.mode == "train"
    assert info.pipeline is not None
    assert info.pipeline.loaders[0].batch_size == 2


def test_metadata_that_cannot_be_understood_is_said_and_survived() -> None:
    trace = TraceBuilder().annotated(mode="dance").operator(0, 1).trace()
    assert trace.info.pipeline is None
    assert codes(trace) == ["bad_metadata"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"hello", "it is not JSON"),
        (b'{"traceEvents": [{"ph": "X"', "damaged or truncated"),
        (b'{"other": 1}', "no `traceEvents`"),
        (b'{"traceEvents": 3}', "no `traceEvents`"),
        (b"\x1f\x8b\x08\x00" + b"\xff" * 40, "gzip data are"),
        (
            gzip.compress(b'{"traceEvents": [{"ph": "X", "name": "' + bytes(range(99)), mtime=0)[:40],
            "damaged or truncated",
        ),
    ],
)
def test_what_is_no_trace_gets_one_line_with_file_reason_and_remedy(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "bad.pt.trace.json.gz"
    path.write_bytes(content)
    with pytest.raises(UnreadableTrace) as caught:
        read_trace(path)
    message = str(caught.value)
    assert str(path) in message and reason in message and "\n" not in message


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTrace, match="there is no such file"):
        read_trace(tmp_path / "none.json")
    with pytest.raises(UnreadableTrace, match="it is a folder"):
        read_trace(tmp_path)
