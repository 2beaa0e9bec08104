"""The list of idle gaps, on planted ones: see `several_gaps`."""

from __future__ import annotations

from tb_dataplugin.analyses.gaps import Gap
from tests.planted import several_gaps
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder, training_run


def gaps_of(builder: TraceBuilder) -> tuple[Gap, ...]:
    [gaps] = results_of(builder).gaps
    return gaps


def test_gaps_stand_by_length_and_those_of_one_length_by_time() -> None:
    places = [(gap.start_ns, gap.duration_ns) for gap in gaps_of(several_gaps())]
    assert places == [(0, 200_000), (400_000, 100_000), (250_000, 50_000)]
    assert [gap.start_ns for gap in gaps_of(training_run(3))] == [0, 100_000, 200_000]


def test_the_causes_of_a_gap_sum_to_it_and_the_largest_names_it() -> None:
    gaps = gaps_of(several_gaps())
    assert all(sum(gap.by_cause_ns.values()) == gap.duration_ns for gap in gaps)
    assert [gap.cause for gap in gaps] == ["data_wait", "sync", "host"]
    assert gaps[1].by_cause_ns["sync"] == 50_000 and gaps[1].by_cause_ns["launch"] == 40_000


def test_a_gap_has_the_data_wait_that_overlaps_it() -> None:
    assert [gap.exposed_wait_ns for gap in gaps_of(several_gaps())] == [100_000, 0, 0]


def test_a_gap_has_the_stage_that_caused_most_of_it() -> None:
    assert {gap.stage for gap in gaps_of(training_run())} == {"decode::PIL.Image"}


def test_a_gap_that_hardly_waits_for_data_has_the_stage_of_that_wait() -> None:
    """Its part of the gap is said beside it; every data wait has a stage."""
    builder = training_run()
    for event in builder.events:
        if event["name"] == "wait::DataLoader":
            event["dur"] = 4
    gaps = gaps_of(builder)
    assert all(0 < gap.stage_ns <= gap.by_cause_ns["data_wait"] < 0.1 * gap.duration_ns for gap in gaps)
    assert "" not in {gap.stage for gap in gaps}


def test_without_wait_spans_the_data_wait_of_a_gap_is_not_known() -> None:
    builder = TraceBuilder().step(0, 1000).call("cudaLaunchKernel", 500, 5, 7).kernel(600, 400, correlation=7)
    assert [gap.exposed_wait_ns for gap in gaps_of(builder)] == [None]


def test_a_gap_belongs_to_the_step_in_which_most_of_it_lies() -> None:
    builder = TraceBuilder().step(0, 100).kernel(0, 90).step(120, 80).kernel(150, 40)
    assert {gap.start_ns: gap.step for gap in gaps_of(builder)} == {90_000: 2, 190_000: 2}
    assert {gap.step for gap in gaps_of(TraceBuilder().kernel(0, 10).kernel(20, 10))} == {None}


def test_the_report_lists_them_in_the_same_order() -> None:
    [device] = capture_of(several_gaps()).devices
    assert [gap.start_us for gap in device.gaps] == [0, 400, 250]
