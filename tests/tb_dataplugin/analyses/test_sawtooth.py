"""The teeth of DataLoader workers that finish their batches together."""

from __future__ import annotations

from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import Sawtooth, Steps
from tests.trace_builder import TraceBuilder


def steps(waits: list[float], workers: int) -> Steps:
    """Steps of 100 us that wait as long as is said."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": workers}])
    for number, wait in enumerate(waits):
        builder.step(100 * number, 100).wait(100 * number, wait)
    return analyse(builder.trace()).capture.steps


def test_every_fourth_step_of_four_workers_stands_out() -> None:
    found = steps([60, 1, 1, 1] * 4, 4)
    assert found.HasField("sawtooth")
    assert (found.sawtooth.period, list(found.sawtooth.steps)) == (4, [1, 5, 9, 13])
    assert found.sawtooth.data_wait_us == 240 and found.sawtooth.share == 240 / 252
    assert found.sawtooth.sentence.startswith("1 step in 4 has 95.2% of the data wait: the 4 DataLoader workers finish")


def test_even_waits_few_steps_small_waits_and_unknown_workers_are_no_sawtooth() -> None:
    assert steps([20] * 16, 4).sawtooth == Sawtooth()
    assert steps([60, 1] * 2, 2).sawtooth == Sawtooth()
    assert steps([1, 0.1] * 8, 2).sawtooth == Sawtooth()
    assert steps([60, 1] * 8, 0).sawtooth == Sawtooth()


def test_with_two_workers_one_step_must_have_nearly_all() -> None:
    assert steps([70, 30] * 8, 2).sawtooth == Sawtooth()
    assert steps([90, 10] * 8, 2).sawtooth.period == 2


def test_what_first_batches_of_epochs_wait_for_is_no_part_of_the_pattern() -> None:
    def found(first: int | None) -> Steps:
        builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}])
        for number, wait in enumerate([100, 10, 10, 10, 100, 10, 10, 10, 200, 10, 10, 10, 100, 10, 10, 10]):
            builder.step(1000 * number, 1000)
            builder.wait(1000 * number, wait, f"wait::L{' (first batch)' if number == first else ''}")
        return analyse(builder.trace()).capture.steps

    assert found(None).sawtooth.period == 2
    assert found(8).sawtooth == Sawtooth(), "without it no other step stands out so much"
