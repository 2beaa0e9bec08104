"""Loaders that are alike are told from each other by when their iterators were made and let go."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.loader_passes import UNKNOWN, in_passes
from tb_dataplugin.model.intervals import int64
from tb_dataplugin.model.trace import LoaderInfo
from tests.tb_dataplugin.analyses.test_apart import TRAIN, built_here
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

STEPS = int64([0, 10_000, 20_000, 30_000])
"""In ns: 0 to 10, to 20, to 30 us, and on."""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0.0, 25.0), (31.0, None), 0),  # one after the other
        ((0.0, None), (21.0, 29.0), 1),  # an evaluation inside step 2
        ((0.0, None), (21.0, None), UNKNOWN),  # the program keeps the iterator
        ((0.0, None), (12.0, 29.0), UNKNOWN),  # drawn from by turns, in two steps
        ((0.0, 1.0), (30.0, None), UNKNOWN),  # neither
    ],
)
def test_whose_iterator_is_open(
    first: tuple[float, float | None], second: tuple[float, float | None], expected: int
) -> None:
    loaders = [LoaderInfo(passes_ts_us=(span,)) for span in (first, second)]
    assert in_passes(loaders, (0, 1), 24_000.0, STEPS) == expected


def trained(*, has_passes: bool) -> TraceBuilder:
    """24 steps of 10 ms, 4 of these building 4 samples; steps 8, 16 and 24 evaluate 12 batches of as many."""
    passes: list[tuple[float, float | None]] = []
    builder, at = TraceBuilder(), 0
    for number in range(1, 25):
        begin, at = at, built_here(builder, at, 4) + 6_000
        if number % 8 == 0:
            began = at
            for _ in range(12):
                at = built_here(builder, at, 4) + 1_000
            builder.wait(at, 100, "wait::DataLoader")
            at += 1_000
            passes.append((began, at - 500))
        builder.step(begin, at - begin)
    loaders = [{**TRAIN, "passes_ts_us": [(-1_000.0, None)]}, {**TRAIN, "passes_ts_us": passes}]
    return builder.annotated(loaders=loaders if has_passes else [TRAIN, TRAIN], host={"cores": 8})


def test_an_evaluation_of_the_same_dataset_with_batches_as_large_is_told_apart() -> None:
    capture = capture_of(trained(has_passes=True))
    assert "iterated in steps 8, 16 and 24 (an evaluation?)" in capture.loader.apart.sentence
    assert capture.throughput.samples == 96
    assert not any(note.code == "loaders_alike" for note in capture.diagnostics)


def test_without_passes_nobody_can_and_the_report_says_so() -> None:
    capture = capture_of(trained(has_passes=False))
    assert not capture.loader.apart.sentence
    (note,) = (note for note in capture.diagnostics if note.code == "loaders_alike")
    assert note.message.startswith(
        "Which of 2 DataLoaders of Clicks (batches of 4), without DataLoader workers, 63 waits"
    )


def ended_after_evaluation(*, is_kept: bool) -> TraceBuilder:
    """24 steps, of which 8, 16 and 24 evaluate; an epoch is 8 steps, so the next one finds that it is over. `is_kept`:
    iterators of the evaluation, whose batches are larger then, are not let go, as with persistent workers.
    """
    size = 8 if is_kept else 4
    epochs: list[tuple[float, float | None]] = [(-1_000.0, None)]
    passes: list[tuple[float, float | None]] = []
    builder, at = TraceBuilder(), 0
    for number in range(1, 25):
        begin = at
        if number % 8 == 1 and number > 1:
            builder.wait(at, 100, "wait::DataLoader")
            at += 200
            epochs = [*epochs[:-1], (epochs[-1][0], at + 10.0), (at - 50.0, None)]
        at = built_here(builder, at, 4) + 6_000
        if number % 8 == 0:
            began = at
            for _ in range(12):
                at = built_here(builder, at, size) + 1_000
            builder.wait(at, 100, "wait::DataLoader")
            at += 1_000
            passes.append((began, None if is_kept else at - 500))
        builder.step(begin, at - begin)
    loaders = [{**TRAIN, "passes_ts_us": epochs}, {**TRAIN, "batch_size": size, "passes_ts_us": passes}]
    return builder.annotated(loaders=loaders, host={"cores": 8})


@pytest.mark.parametrize("is_kept", [False, True])
def test_the_end_of_an_epoch_right_after_an_evaluation_is_the_loops_own(is_kept: bool) -> None:
    capture = capture_of(ended_after_evaluation(is_kept=is_kept))
    assert "iterated in steps 8, 16 and 24 (an evaluation?)" in capture.loader.apart.sentence


def accumulated(*, small: bool) -> TraceBuilder:
    """12 steps of 4 batches of 4, each with an evaluation of 4 batches of 8; or taking single batches of both."""
    passes: list[tuple[float, float | None]] = []
    builder, at = TraceBuilder(), 0
    for _ in range(12):
        begin = at
        for _ in range(4):
            at = built_here(builder, at, 4) + 1_000
        began = at
        for _ in range(1 if small else 4):
            at = built_here(builder, at, 8) + 1_000
        passes.append((began, at - 500))
        builder.step(begin, at - begin)
    loaders = [
        {**TRAIN, "passes_ts_us": [(-1_000.0, None)]},
        {**TRAIN, "batch_size": 8, "passes_ts_us": passes},
    ]
    return builder.annotated(loaders=loaders, host={"cores": 8})


def test_an_evaluation_in_each_step_is_not_the_training_loops_however_many_samples_it_has() -> None:
    capture = capture_of(accumulated(small=False))
    assert capture.loader.batch_size == 4 and capture.throughput.samples == 12 * 16
    assert "(an evaluation?), has 66.7% of the data wait" in capture.loader.apart.sentence
    assert not capture_of(accumulated(small=True)).loader.apart.sentence, "one batch each time is part of each step"
