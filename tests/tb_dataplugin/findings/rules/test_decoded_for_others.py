from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.trace_builder import TraceBuilder

STEP = 10_000.0


def stream(decodes: int, workers: int = 3, indexed: bool = False) -> TraceBuilder:
    """Workers that are busy all the time with samples of an iterable dataset, each with so many decoded images."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": workers, "batch_size": 1}], host={"cores": 8})
    for worker in range(workers):
        builder.worker(worker)
    wall = workers * STEP - 100
    for number in range(12 + workers):
        end = (number - workers + 1) * STEP + 0.8 * STEP
        spans = {"sample::Tar": (end - wall, wall, wall)}
        each = 0.9 * wall / decodes
        consumed = end if 0 <= end < 12 * STEP else None
        builder.batch(number, number % workers, end - wall - 50, end - wall, end, consumed, spans, run_delay_us=0)
        for image in range(decodes):
            builder.stage("decode::PIL.Image", end - wall + image * each, each - 1, tid=100 + number % workers)
            builder.events[-1]["pid"] = 100 + number % workers
    for step in range(12):
        builder.step(STEP * step, STEP).wait(STEP * step, 0.8 * STEP, "wait::DataLoader")
    if not indexed:
        for event in builder.events:
            event.get("args", {}).pop("index", None)
    return builder


def test_a_worker_that_decodes_what_the_others_yield_is_noticed() -> None:
    said = finding_in(stream(3), "decoded_for_others")
    assert said.title.startswith("decode::PIL.Image runs 3.")
    assert said.confidence == "possible" and "get_worker_info" in said.code
    assert any("calls of decode::PIL.Image for" in line for line in evidence_of(said))
    assert 0 < said.gain_us_per_step <= 8000


@pytest.mark.parametrize("decodes", [1, 2, 5])
def test_other_numbers_of_images_are_the_samples_own(decodes: int) -> None:
    assert finding_of(stream(decodes), "decoded_for_others") is None


def test_samples_with_an_index_are_not_cut_up_by_workers() -> None:
    assert finding_of(stream(3, indexed=True), "decoded_for_others") is None
