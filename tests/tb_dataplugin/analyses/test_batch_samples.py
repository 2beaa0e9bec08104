"""Samples of batches: an epoch's last one has fewer than `batch_size`."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.whatif.fitting import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder

FULL, LAST, STEPS = 16, 4, 12
STEP_US = 1_000


def epochs(*, spans: bool, drawn: bool, **settings: Any) -> TraceBuilder:
    """Epochs of two batches, 16 samples and 4; each batch is taken in a step of 1 ms."""
    loader = {"name": "DataLoader", "dataset": "Pets", "batch_size": FULL, "num_workers": 1, **settings}
    builder = TraceBuilder().annotated(loaders=[loader], host={"cores": 8}).worker(0)
    sizes = []
    for number in range(STEPS):
        begin, size = STEP_US * (number + 1), LAST if number % 2 else FULL
        if not number % 2:
            builder.next_epoch()
        builder.step(begin, STEP_US).wait(begin, 500, "wait::DataLoader")
        builder.batch(number % 2, 0, begin - 20, begin + 10, begin + 300, begin + 450)
        for sample in range(size if spans else 0):
            builder.add("user_annotation", "sample::Pets", begin + 20 + 10 * sample, 9, pid=100, tid=100)
        sizes.append(size if drawn else None)
    builder.batches["samples"] = sizes
    return builder


def notes_of(capture: Capture) -> str:
    return " ".join(note.message for note in capture.diagnostics)


@pytest.mark.parametrize(
    "builder",
    [
        epochs(spans=False, drawn=True),
        epochs(spans=True, drawn=False, iterable=True),
        epochs(spans=False, drawn=False, sampler="RandomSampler", sampler_length=FULL + LAST),
    ],
    ids=["indices", "spans", "number in the epoch"],
)
def test_the_last_batch_has_fewer_samples(builder: TraceBuilder) -> None:
    capture = capture_of(builder)
    assert capture.throughput.samples == STEPS / 2 * (FULL + LAST)
    assert capture.throughput.samples_per_batch == (FULL + LAST) / 2
    assert "was not recorded. Each counts as a full one" not in notes_of(capture)


def test_where_nothing_tells_the_batches_count_as_full_and_a_note_says_so() -> None:
    capture = capture_of(epochs(spans=False, drawn=False))
    assert capture.throughput.samples == STEPS * FULL
    assert f"How many samples {STEPS} batches had was not recorded. Each counts as a full one" in notes_of(capture)


def test_a_batch_begun_before_the_recording_is_not_counted_by_its_spans() -> None:
    """Its first samples have none."""
    builder = epochs(spans=True, drawn=False, iterable=True)
    builder.batches["started_us"][0] = -5_000
    builder.events.remove(next(event for event in builder.events if event["name"] == "sample::Pets"))
    assert capture_of(builder).throughput.samples == STEPS / 2 * (FULL + LAST)


def test_a_prediction_has_the_samples_that_the_report_has() -> None:
    loop = fit_loop(results_of(epochs(spans=True, drawn=True)))
    assert isinstance(loop, Loop)
    assert loop.samples_per_step == (FULL + LAST) / 2
