"""What recording took: one number with its parts, the same for the terminal and the page."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.findings.recording import recording_cost
from tb_dataplugin.options import AnalysisOptions, StepRange
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report import report_pb2 as pb
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder, training_run

# Four of the markers are spans of a decoder, which cost twice as much.
OVERHEAD = {"marker_us": 4.0, "marker_count": 5, "worker_span_us": 1.0, "worker_span_count": 80}


def run(overhead: dict[str, float] = OVERHEAD) -> TraceBuilder:
    return training_run().annotated(overhead=overhead)


def test_the_sampler_is_a_part_of_it() -> None:
    sampled = replace(results_of(run()), lines=SimpleNamespace(cost_ns=1_900_000))  # type: ignore[arg-type]
    cost = recording_cost(sampled)
    assert cost is not None and cost.us == 2016.0
    share, *parts = cost.text.split("; ")
    assert share == "504% of one CPU"
    assert parts == [
        "5 markers: 36.0 µs",
        "80 spans in DataLoader workers: 80.0 µs",
        "sampling of stacks: 1.90 ms",
    ]


def test_waiting_for_a_thread_of_ours_is_named_beside_it() -> None:
    held = SimpleNamespace(holders_ns={"annotate: host samples": 3_000_000, "logger": 5_000_000})
    cost = recording_cost(replace(results_of(run()), limits=held))  # type: ignore[arg-type]
    assert cost is not None and cost.us == 116.0
    assert cost.text.endswith("Python's lock, for which the training thread waited: 3.00 ms")


def test_what_took_nothing_is_no_part_and_where_nothing_is_known_there_is_none() -> None:
    cost = recording_cost(results_of(run({**OVERHEAD, "marker_count": 0})))
    assert cost is not None and "marker" not in cost.text
    assert recording_cost(results_of(training_run())) is None
    assert recording_cost(results_of(run({"marker_us": 0.0, "marker_count": 0}))) is None


def test_of_some_steps_it_is_not_known() -> None:
    whole = analyse(run().trace()).capture
    number = whole.steps.items[0].number
    some = analyse(run().trace(), AnalysisOptions(steps=StepRange(number, number))).capture
    assert "recording cost" in as_text(pb.Report(captures=[whole]))
    assert "recording cost" not in as_text(pb.Report(captures=[some]))
