"""Batches that another thread took while the training thread waited for its own loader's."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.results import Results
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder

STEP = 1_000
STEPS = 12
NEXT = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
LOADERS = [
    {"name": "DataLoader", "dataset": "Exam", "num_workers": 1, "batch_size": 4, "iterated": 1},
    {"name": "DataLoader", "dataset": "Books", "num_workers": 1, "batch_size": 4, "iterated": 1},
]


def evaluating(elsewhere: bool | None, wait: str = NEXT) -> TraceBuilder:
    """Each step waits 600 us for the batch of Books, whose worker always builds. A batch of Exam is finished and taken
    in the middle of the wait, and of every third one after it.

    Args:
        elsewhere: what is recorded of Exam's; None: nothing, as in earlier captures.
        wait: name of the training thread's waits.
    """
    builder = TraceBuilder().annotated(loaders=LOADERS, host={"cores": 8})
    builder.worker(0, started=-2 * STEP).worker(1, started=-2 * STEP, loader=1)
    for number in range(STEPS):
        begin = STEP * number
        builder.step(begin, STEP).wait(begin, 600, wait)
        spans = {"sample::Books": (begin - 400.0, 900.0)}
        builder.batch(number, 1, begin - 1_400, begin - 400, begin + 590, begin + 595, spans).of_loader(1)
        taken = begin + (700 if number % 3 == 0 else 300)
        builder.batch(
            number, 0, begin - 1_000, begin - 990, taken - 250, taken, {"sample::Exam": (begin - 900.0, 50.0)}
        )
    if elsewhere is not None:
        columns = builder.batches
        columns["elsewhere"] = [elsewhere if loader == 0 else False for loader in columns["loader"]]
    return builder


def waits(results: Results) -> list[int | None]:
    """By number of the loader."""
    return [one.wait_ns for one in sorted(results.worker_summaries, key=lambda one: one.loader)]


@pytest.mark.parametrize("recorded", [True, None])
def test_the_training_thread_waits_for_the_loader_that_it_iterates(recorded: bool | None) -> None:
    results = results_of(evaluating(recorded))
    assert waits(results) == [None, 600_000 * STEPS]
    assert results.use.main == 1
    shares = results.attribution.wait_by_stage_ns
    assert shares is not None and shares["sample::Books"] > 0.8 * 600_000 * STEPS
    assert not any("Exam" in name or name.startswith("transfer::serialise") for name in shares)
    books, exam = (summary.sentence for summary in capture_of(evaluating(recorded)).worker_summaries)
    assert exam.endswith(", and another thread than the training one takes its batches.") and "waits" not in exam
    assert "waits 60.0% of it for its batches: it cannot keep up" in books


def test_one_that_the_training_thread_takes_by_turns_is_waited_for() -> None:
    """An evaluation in the training thread, in waits of its own."""
    builder = TraceBuilder().annotated(loaders=LOADERS, host={"cores": 8})
    builder.worker(0, started=-2 * STEP).worker(1, started=-2 * STEP, loader=1)
    for number in range(STEPS):
        begin = STEP * number
        builder.step(begin, STEP).wait(begin, 300, NEXT).wait(begin + 400, 200, NEXT)
        builder.batch(number, 1, begin - 1_400, begin - 400, begin + 290, begin + 295).of_loader(1)
        builder.batch(number, 0, begin - 1_400, begin - 400, begin + 590, begin + 595)
    assert waits(results_of(builder)) == [200_000 * STEPS, 300_000 * STEPS]


def test_batches_that_come_in_a_wait_for_another_thread_may_be_for_the_training() -> None:
    """An iterator of the program's own, around a queue: nothing shows that it waited for Books alone."""
    results = results_of(evaluating(True, "wait::Ahead"))
    table = results.workers.batches.table if results.workers else None
    assert table is not None
    assert not table.elsewhere.any()
    assert not any(summary.elsewhere for summary in results.worker_summaries)


def test_where_only_the_loader_of_the_other_thread_is_recorded_all_waits_are_for_others() -> None:
    builder = evaluating(True)
    builder.annotated(loaders=LOADERS[:1], host={"cores": 8})
    kept = [number for number, loader in enumerate(builder.batches["loader"]) if loader == 0]
    for column in builder.batches.values():
        column[:] = [column[number] for number in kept]
    builder.workers[1:] = []
    results = results_of(builder)
    assert waits(results) == [None] and results.use.certain.total_ns == 600_000 * STEPS


def test_a_thread_that_may_feed_the_training_is_not_said_to_take_its_batches() -> None:
    """Without a wait of the training thread nothing is known of what it waits for."""
    builder = TraceBuilder().annotated(loaders=LOADERS[1:]).worker(0)
    for number in range(STEPS):
        builder.step(STEP * number, STEP).batch(number, 0, STEP * number, STEP * number, STEP * number + 300, None)
        builder.batches["consumed_us"][-1] = STEP * number + 310
    builder.batches["elsewhere"] = [True] * STEPS
    (summary,) = capture_of(builder).worker_summaries
    assert "another thread" not in summary.sentence
