"""What the time of a step went to, on planted steps."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.step_table import StepTable
from tests.planted import several_gaps
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder, training_run


def table_of(builder: TraceBuilder) -> StepTable:
    table = results_of(builder).steps
    assert table is not None
    return table


def test_a_step_is_busy_waits_for_data_or_is_idle_for_another_reason() -> None:
    [row] = table_of(several_gaps()).rows
    assert (row.device_busy_ns, row.idle_data_wait_ns, row.idle_other_ns) == (650_000, 100_000, 250_000)
    assert row.duration_ns == 650_000 + 100_000 + 250_000


def test_the_causes_of_a_step_sum_to_its_idle_time() -> None:
    [row] = table_of(several_gaps()).rows
    assert {cause: time for cause, time in row.idle_by_cause_ns.items() if time} == {
        "data_wait": 100_000, "h2d": 100_000, "sync": 50_000, "launch": 50_000, "host": 50_000,
    }  # fmt: skip


def test_every_step_has_its_own_part() -> None:
    rows = table_of(training_run(3)).rows
    assert [(row.number, row.start_ns, row.data_wait_ns) for row in rows] == [
        (1, 0, 40_000), (2, 100_000, 40_000), (3, 200_000, 40_000),
    ]  # fmt: skip


def test_a_wait_across_two_steps_is_divided() -> None:
    rows = table_of(TraceBuilder().annotated().step(0, 100).step(100, 100).wait(70, 50)).rows
    assert [row.data_wait_ns for row in rows] == [30_000, 20_000]


def test_without_a_device_its_times_are_not_known() -> None:
    [row] = table_of(TraceBuilder().annotated().step(0, 100).wait(0, 40)).rows
    assert row.data_wait_ns == 40_000
    assert (row.device_busy_ns, row.idle_data_wait_ns, row.idle_other_ns) == (None, None, None)


def test_without_wait_spans_the_data_wait_is_not_known_and_all_idle_time_is_other() -> None:
    [row] = table_of(TraceBuilder().step(0, 100).kernel(40, 60)).rows
    assert row.data_wait_ns is None and row.idle_data_wait_ns is None
    assert (row.device_busy_ns, row.idle_other_ns) == (60_000, 40_000)


def test_durations_are_over_all_steps() -> None:
    table = table_of(TraceBuilder().annotated().step(0, 100).step(100, 200).step(300, 600).wait(0, 40))
    assert table.mean_ns == 300_000 and table.p50_ns == 200_000
    assert table.p95_ns == pytest.approx(200_000 + 0.9 * 400_000)


def test_without_steps_there_is_no_table() -> None:
    assert results_of(TraceBuilder().annotated().wait(0, 40).kernel(50, 10)).steps is None
