"""Laws that hold for every trace, on random ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.trace_format import TRANSFER_PARTS
from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.pipeline import analyse
from tests.trace_builder import TraceBuilder

times = st.integers(0, 400)
lengths = st.integers(0, 60)
WAYS = {f"transfer::{part}" for part in TRANSFER_PARTS}
"""Have data wait, and no spans."""

STAGES = ("sample::Pets", "transform::Crop", "decode::PIL.Image", "collate::default_collate")


@st.composite
def traces(draw: st.DrawFn) -> TraceBuilder:
    builder = TraceBuilder()
    for number in range(draw(st.integers(1, 4))):
        builder.step(100 * number, 100)
        if draw(st.booleans()):
            start, end = 100 * number + 5, 100 * number + draw(st.integers(10, 60))
            builder.wait(start, end - start)
            for depth, name in enumerate(STAGES[: draw(st.integers(0, 4))], 1):
                if end - start > 2 * depth:
                    builder.stage(name, start + depth, end - start - 2 * depth)
    for _ in range(draw(st.integers(0, 8))):
        device = draw(st.integers(0, 1))
        builder.kernel(draw(times), draw(lengths), device=device, stream=draw(st.integers(7, 8)))
    for _ in range(draw(st.integers(0, 3))):
        builder.memcpy(draw(times), draw(lengths))
    return builder


@st.composite
def traces_with_workers(draw: st.DrawFn) -> TraceBuilder:
    """Workers that make batches one after the other, and a training thread that waits for some of them."""
    workers = draw(st.integers(1, 3))
    settings = {"name": "DataLoader", "num_workers": workers, "batch_size": 2, "pin_memory": draw(st.booleans())}
    crowded: dict[str, Any] = {}
    if draw(st.booleans()):
        spent = {"cpu_us": draw(st.integers(0, 50)), "run_delay_us": draw(st.integers(0, 50))}
        crowded = {"host": {"cores": draw(st.integers(1, 3))}, "training_thread": spent}
    builder = TraceBuilder().annotated(loaders=[settings], **crowded).step(0, 200).step(200, 200)
    free = {}
    for worker in range(workers):
        free[worker] = draw(st.integers(0, 30))
        builder.worker(worker, started=free[worker])
    now = 0
    for number in range(draw(st.integers(0, 6))):
        worker = number % workers
        drawn = draw(st.integers(0, now))
        started = max(drawn, free[worker]) + draw(st.integers(0, 5))
        finished = free[worker] = started + draw(st.integers(2, 60))
        asked = now + draw(st.integers(0, 40))
        consumed = max(asked, finished) + draw(st.integers(0, 4))
        now = consumed + 2
        stages = {
            "sample::Pets": (started, finished - started),
            "decode::PIL.Image": (started + 1, finished - started - 2),
        }
        packed = draw(st.booleans())
        builder.wait(asked, now - 1 - asked, "wait::Packer" if packed else "wait::DataLoader")
        if consumed > asked + 2:  # torch's own span, and what the training thread does inside and around it
            inner = draw(st.integers(asked + 1, consumed - 1))
            builder.wait(inner, consumed - inner)
            if draw(st.booleans()):
                builder.stage("wrapper::pack", asked, consumed - asked)
            if draw(st.booleans()) and consumed - inner > 2:
                builder.stage("sampler::Random", inner + 1, draw(st.integers(1, consumed - inner - 1)))
        if draw(st.integers(0, 4)):
            builder.batch(number, worker, drawn, started, finished, consumed, stages)
            if draw(st.booleans()):
                sent = sorted(finished + draw(st.integers(0, 6)) for _ in range(4))
                names = ("serialise_us", "serialised_us", "deserialise_us", "arrived_us")
                builder.moments(**dict(zip(names, sent, strict=True)))
        now += draw(st.integers(0, 30))
    for _ in range(draw(st.integers(0, 4))):
        builder.kernel(draw(times), draw(lengths))
    return builder


def capture_of(builder: TraceBuilder) -> dict[str, Any]:
    return as_dict(analyse(builder.trace()).capture)


def without_lanes(found: Any) -> Any:
    """`found` without the ids of lanes, which number the threads by their appearance in the file."""
    if isinstance(found, dict):
        return {key: without_lanes(value) for key, value in found.items() if key != "lane"}
    return [without_lanes(value) for value in found] if isinstance(found, list) else found


@given(st.one_of(traces(), traces_with_workers()))
@settings(deadline=None)
def test_busy_and_idle_fill_the_window_and_shares_sum(builder: TraceBuilder) -> None:
    found = capture_of(builder)
    for device in found["devices"]:
        assert device["busy_us"] + device["idle_us"] == pytest.approx(found["window_us"])
        assert sum(device["idle_by_cause_us"].values()) == pytest.approx(device["idle_us"])
        assert sum(gap["duration_us"] for gap in device["gaps"]) == pytest.approx(device["idle_us"])
        assert len(device["gaps"]) == device["gap_count"]
        if device["idle_by_stage_us"]:
            waited = device["idle_by_cause_us"]["data_wait"]
            assert sum(device["idle_by_stage_us"].values()) == pytest.approx(waited)
    loader = found.get("loader")
    if loader:
        if loader["wait_by_stage_us"]:
            assert sum(loader["wait_by_stage_us"].values()) == pytest.approx(loader["wait_us"])
        if found["devices"]:
            waited = found["devices"][0]["idle_by_cause_us"]["data_wait"]
            assert loader["exposed_wait_us"] == pytest.approx(
                waited
            )  # no launch is recorded: the cause is mere overlap
            assert loader["exposed_wait_us"] + loader["hidden_wait_us"] == pytest.approx(loader["wait_us"])


@given(traces())
@settings(deadline=None)
def test_steps_are_busy_waiting_or_idle_for_another_reason(builder: TraceBuilder) -> None:
    found = capture_of(builder)
    if found["devices"]:
        for step in found["steps"]["items"]:
            parts = step["device_busy_us"] + step.get("idle_data_wait_us", 0) + step["idle_other_us"]
            assert parts == pytest.approx(step["duration_us"])
            told = step["device_busy_us"] + sum(step["idle_by_cause_us"].values())
            assert told == pytest.approx(step["duration_us"])
            assert step["idle_other_us"] >= 0


@given(traces_with_workers())
@settings(deadline=None)
def test_workers_are_busy_or_idle_and_starved_only_while_idle(builder: TraceBuilder) -> None:
    found = capture_of(builder)
    for worker in found["workers"]:
        assert worker["busy_us"] + worker["idle_us"] == pytest.approx(worker["alive_us"])
        assert worker["alive_us"] <= len(worker["pids"]) * found["window_us"] + 1e-9
        assert 0 <= worker["starved_us"] + worker["startup_us"] <= worker["idle_us"] + 1e-9
    blamed = sum(row.get("blame_us", 0) for row in found["stages"])
    waits = found.get("loader", {}).get("wait_by_stage_us", {})
    stages = [time for name, time in waits.items() if "::" in name and name not in WAYS]
    assert blamed == pytest.approx(sum(stages))


@given(st.one_of(traces(), traces_with_workers()), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_events_in_the_file_does_not_matter(builder: TraceBuilder, random: Any) -> None:
    before = without_lanes(capture_of(builder))
    random.shuffle(builder.events)
    assert without_lanes(capture_of(builder)) == before


@given(st.one_of(traces(), traces_with_workers()))
@settings(deadline=None)
def test_no_finding_promises_more_than_the_window_or_is_silent_on_its_reasons(builder: TraceBuilder) -> None:
    found = capture_of(builder)
    for finding in found["findings"]:
        gain = finding.get("gain_us_per_step", 0) * found["steps"]["count"]
        assert 0 <= gain <= found["window_us"] + 1e-6, finding["rule"]
        assert finding["evidence"] and all(finding["evidence"]), finding["rule"]
        assert (finding["confidence"] == "measured") == (not finding["confidence_reason"]), finding["rule"]
    assert all(one["reason"] for one in found["abstained"])
