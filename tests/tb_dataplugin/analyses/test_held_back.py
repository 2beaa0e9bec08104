"""A finished batch is held back only by an earlier one of its own DataLoader and epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.options import AnalysisOptions, StepRange
from tb_dataplugin.pipeline import analyse_file
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder


def evaluated(loaders: int, **settings: object) -> TraceBuilder:
    """A step of 1000 us. Batch 1 of the training loop is finished at 100 and taken at 905: it is next in line, but from
    200 to 800 the training thread waits for an evaluation's batch.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, **settings}] * loaders).worker(0)
    builder.worker(1, loader=loaders - 1).step(0, 1000)
    for start, length in ((0, 50), (200, 600), (900, 10)):
        builder.wait(start, length, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 48, 49).batch(1, 0, 0, 50, 100, 905)
    return builder.next_epoch().batch(0, 1, 150, 160, 790, 799).of_loader(loaders - 1)


def held_back_us(builder: TraceBuilder) -> list[float]:
    workers = results_of(builder).workers
    assert workers is not None
    return [time / 1000 for time in workers.batches.head_of_line_ns.tolist()]


def flow_us(builder: TraceBuilder) -> float:
    flow = results_of(builder).flow.workers
    assert flow is not None
    return flow.head_of_line.total_ns / 1000


@pytest.mark.parametrize("loaders", [1, 2], ids=["another epoch of the same DataLoader", "another DataLoader"])
def test_a_batch_that_is_next_in_line_is_not_held_back_by_an_evaluation(loaders: int) -> None:
    builder = evaluated(loaders)
    assert held_back_us(builder) == [0, 0, 0]
    assert flow_us(builder) == 0
    assert [one.head_of_line_ns for one in results_of(builder).worker_summaries] == [0] * loaders


def out_of_turn(waits: tuple[tuple[int, int], ...], **settings: object) -> TraceBuilder:
    """Batch 1 is finished at 100, batch 0 at 600."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, **settings}]).worker(0).worker(1).step(0, 1000)
    for start, length in waits:
        builder.wait(start, length, "wait::DataLoader")
    return builder.batch(0, 0, 0, 0, 600, 710).batch(1, 1, 0, 0, 100, 805)


def test_a_batch_is_held_back_only_while_the_training_thread_asks_for_an_earlier_one() -> None:
    assert held_back_us(out_of_turn(((0, 711), (800, 10)))) == [0, 500]
    assert held_back_us(out_of_turn(((400, 311), (800, 10)))) == [0, 200]
    assert held_back_us(out_of_turn(((700, 11), (800, 10)))) == [0, 0]


def test_batches_that_are_taken_as_they_come_hold_back_none() -> None:
    """Also where one that was finished sooner takes longer to arrive."""
    assert held_back_us(out_of_turn(((0, 711), (800, 10)), in_order=False)) == [0, 0]


def test_of_chosen_steps_it_is_what_they_have_of_it(tmp_path: Path) -> None:
    """Batches 1 and 2 are held back in the first step, and taken in the second and third."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}]).worker(0).worker(1)
    for start, wait in ((0, 710), (1000, 10), (2000, 10)):
        builder.step(start, 1000).wait(start, wait, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 600, 705).batch(1, 1, 0, 0, 100, 1005).batch(2, 1, 0, 101, 200, 2005)
    path = builder.write(tmp_path / "run.json")

    def held_back(steps: StepRange | None) -> list[float]:
        capture = analyse_file(path, "run", AnalysisOptions(steps=steps)).capture
        return [loader.head_of_line_us for loader in capture.worker_summaries]

    assert held_back(None) == held_back(StepRange(1, 1)) == [500 + 400]
    assert held_back(StepRange(2, 3)) == [0]
