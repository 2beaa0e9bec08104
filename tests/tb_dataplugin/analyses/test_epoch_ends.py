"""The end of an epoch that is the first thing in a window: the workers that ended in it left nothing there."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.report.report_pb2 import Capture
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in
from tests.trace_builder import TraceBuilder

WAIT = "wait::DataLoader"
STEP, STEPS, ENDING, START = 10_000, 4, 25_000, 20_000
LOADER = {"dataset": "Tiles", "num_workers": 1, "batch_size": 4, "persistent_workers": False, "iterated_in_window": 3}


def epochs(*, other: bool = False, here: bool = False, first: int = 1, **loader: Any) -> TraceBuilder:
    """From the end of an epoch on, three of four steps. `other`: a DataLoader beside it that left no batches; `here`:
    one without workers.
    """
    loaders = [LOADER | loader, *([{"num_workers": 1, "iterated_in_window": 1}] if other else [])]
    loaders += [{"num_workers": 0, "iterated_in_window": 1}] if here else []
    builder, at = TraceBuilder().annotated(loaders=loaders, host={"cores": 8}), 0
    for epoch in range(first, first + 3):
        builder.epoch, begin = epoch, at
        builder.wait(at, ENDING, WAIT)
        at += ENDING + 5_000
        builder.worker(0, at + 5_000, pid=100 + epoch, ended=at + START + STEPS * STEP + 20_000 - 1_000)
        for number in range(STEPS):
            wait = START if not number else 1_000
            builder.batch(number, 0, at - 100, at + wait - 900, at + wait - 200, at + wait - 50).wait(at, wait, WAIT)
            at += wait + STEP - 1_000
            builder.step(begin, at - begin)
            begin = at
    return builder


def ends(builder: TraceBuilder) -> tuple[Capture, float, float]:
    capture = capture_of(builder)
    stages = capture.loader.wait_by_stage_us
    return capture, stages.get("shutdown", 0), stages.get("unrecorded", 0)


def test_a_wait_without_a_batch_before_workers_that_start_anew_is_an_epochs_end() -> None:
    capture, shutdown, unrecorded = ends(epochs())
    assert (shutdown, unrecorded) == (3 * ENDING, 0)
    assert capture.verdict.sentence.startswith(
        "The starts of 3 epochs and the ends of 3 epochs (steps 1, 5 and 9) have "
    )
    said = evidence_of(finding_in(epochs(), "slow_first_batch"))
    assert any("25.0 ms before that to stop the DataLoader workers" in text for text in said)


@pytest.mark.parametrize(
    "builder",
    [
        epochs(persistent_workers=True),  # they would live on
        epochs(other=True),  # it may have waited for that one's batch
        epochs(first=0),  # no epoch was before it
    ],
)
def test_else_it_is_not_recorded_whose_it_is(builder: TraceBuilder) -> None:
    _, shutdown, unrecorded = ends(builder)
    assert (shutdown, unrecorded) == (2 * ENDING, ENDING)


def test_one_end_takes_as_long_however_many_starts_the_window_has() -> None:
    """The window closes at an end: there is one more of them than starts."""
    builder = epochs()
    at = max(event["ts"] + event["dur"] for event in builder.events if "dur" in event)
    builder.wait(at, ENDING, WAIT).step(at, ENDING + STEP)
    builder.workers[-1]["ended_us"] = at + ENDING - 1_000
    said = evidence_of(finding_in(builder, "slow_first_batch"))
    assert any("25.0 ms before that to stop the DataLoader workers" in text for text in said)


def test_a_loader_without_workers_beside_it_makes_no_end_doubtful() -> None:
    assert ends(epochs(here=True))[1:] == (3 * ENDING, 0)
