"""Steps at the end of a window: one that found the loop over; those of which a file that is cut off has no waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.report.report_pb2 import Capture
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

STEP = 10_000.0
STEPS = 6


def loop(*, batch_in_last: bool = False, operator_in_last: bool = False) -> TraceBuilder:
    """Steps of 10 ms that each wait 4 ms; in the last one, of 5 ms, the wait of 3 ms finds the loader at its end."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 2}]).worker(0)
    for number in range(STEPS + 1):
        is_last = number == STEPS
        at, wait = STEP * number, 3_000.0 if is_last else 4_000.0
        builder.step(at, 5_000 if is_last else STEP).wait(at, wait, "wait::DataLoader")
        if not is_last or batch_in_last:
            builder.batch(number, 0, at - 9000, at - 8000, at + wait - 100, at + wait, {"sample::A": (at - 8000, 9000)})
        if not is_last or operator_in_last:
            builder.operator(at + wait + 100, 500, "aten::mm")
    builder.workers[0]["ended_us"] = STEP * STEPS + 1_000
    return builder


def figures(capture: Capture) -> tuple[int, float, int]:
    return capture.steps.count, capture.steps.mean_us, capture.loader.wait_count


def test_a_last_step_that_found_the_loop_over_is_none() -> None:
    assert figures(capture_of(loop())) == (STEPS, STEP, STEPS)


@pytest.mark.parametrize("has", ["batch_in_last", "operator_in_last"])
def test_a_last_step_that_got_a_batch_or_computed_is_one(has: str) -> None:
    capture = capture_of(loop(**{has: True}))
    assert capture.steps.count == STEPS + 1
    # A wait in which the workers ended was for no batch.
    assert capture.loader.wait_count == STEPS + (has == "batch_in_last")


def test_of_a_file_without_its_end_the_steps_behind_the_last_wait_are_none(tmp_path: Path) -> None:
    """They would have no data wait: all of the step would be training."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}])
    for number in range(10):
        builder.step(STEP * number, STEP)
    for number in range(10):
        builder.wait(STEP * number, 4_000, "wait::DataLoader")
    builder.write(tmp_path / "whole.pt.trace.json")
    text = (tmp_path / "whole.pt.trace.json").read_text()
    places = [at for at in range(len(text)) if text.startswith("wait::DataLoader", at)]
    (tmp_path / "cut.pt.trace.json").write_text(text[: places[6] - 40])
    found = analyse_file(tmp_path / "cut.pt.trace.json").capture
    assert [step.number for step in found.steps.items] == [1, 2, 3, 4, 5]
    assert all(step.data_wait_us == 4_000 for step in found.steps.items)
