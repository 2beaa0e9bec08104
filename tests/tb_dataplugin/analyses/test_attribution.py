from __future__ import annotations

from typing import Any

from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.pipeline import analyse
from tests.trace_builder import TraceBuilder, training_run


def capture_of(builder: TraceBuilder) -> dict[str, Any]:
    return as_dict(analyse(builder.trace()).capture)


def test_the_deepest_span_has_the_wait() -> None:
    blame = capture_of(training_run(steps=1))["loader"]["wait_by_stage_us"]
    assert blame == {"other": 2.0, "sample::Pets": 2.0, "transform::RandomCrop": 6.0, "decode::PIL.Image": 30.0}


def test_only_waiting_time_in_which_the_device_is_idle_is_exposed() -> None:
    builder = TraceBuilder().step(0, 100).wait(10, 40).kernel(30, 70)
    loader = capture_of(builder)["loader"]
    assert (loader["exposed_wait_us"], loader["hidden_wait_us"]) == (20, 20)


def test_a_gap_names_its_largest_cause_stage_and_step() -> None:
    gap = capture_of(training_run(steps=2))["devices"][0]["gaps"][0]
    assert (gap["cause"], gap["stage"], gap["step"]) == ("data_wait", "decode::PIL.Image", 1)


def test_without_stage_markers_the_blame_is_unknown_not_zero() -> None:
    found = capture_of(TraceBuilder().step(0, 100).wait(0, 50).kernel(60, 40))
    assert found["loader"]["wait_by_stage_us"] == {}
    assert found["devices"][0]["idle_by_stage_us"] == {}
    assert "no_stage_markers" in {one["code"] for one in found["diagnostics"]}


def test_without_loader_spans_the_data_wait_is_unknown_not_zero() -> None:
    found = capture_of(TraceBuilder().step(0, 100).kernel(60, 40))
    assert "loader" not in found
    assert "data_wait" not in found["devices"][0]["idle_by_cause_us"]


def test_stage_rows_nest_and_count_self_time() -> None:
    rows = capture_of(training_run(steps=3))["stages"]
    told = [(row["path"][-1], len(row["path"]), row["count"], row["total_us"], row["self_us"]) for row in rows]
    assert told == [
        ("wait::DataLoader", 1, 3, 120, 6),
        ("sample::Pets", 2, 3, 114, 6),
        ("transform::RandomCrop", 3, 3, 108, 18),
        ("decode::PIL.Image", 4, 3, 90, 90),
    ]
    assert rows[3]["parent"] == "transform::RandomCrop"


def test_rates_come_from_the_time_that_each_part_used() -> None:
    rates = capture_of(training_run(steps=10))["throughput"]
    assert rates["samples"] == 10
    assert rates["samples_per_s"] == 10_000
    assert round(rates["prepare_per_s"]) == round(1e6 / 38)
    assert round(rates["device_per_s"]) == round(1e6 / 60)
    assert "read_per_s" not in rates


def test_the_first_batch_is_told_apart() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 50, "wait::DataLoader (first batch)")
    builder.step(100, 100).wait(100, 10, "wait::DataLoader")
    assert capture_of(builder)["loader"]["first_batch_wait_us"] == 50
    assert capture_of(builder)["loader"]["wait_source"] == "prof.steps"
    assert "first_batch_wait_us" not in capture_of(training_run())["loader"]


def test_of_a_plain_loop_the_wait_for_an_epochs_first_batch_is_known_by_its_number() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 50).worker(0).batch(0, 0, 0, 5, 40, 45)
    builder.step(100, 100).wait(100, 10).batch(1, 0, 0, 50, 80, 105)
    loader = capture_of(builder)["loader"]
    assert loader["first_batch_wait_us"] == 50
    assert loader["wait_source"] == "DataLoader"


def test_a_stage_of_the_users_own_may_be_the_wait() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 50, "wait::queue")
    assert capture_of(builder)["loader"]["wait_source"] == "annotate.stage"
