"""What the training thread does may take longer in DataLoader workers, where it has large results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotate.trace_format import Stage
from tb_dataplugin.whatif import Change, Prediction, predict
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.moved_work import GIVEN_BACK, LONGER
from tb_dataplugin.whatif.prediction import SETTINGS_ERROR
from tests.tb_dataplugin.whatif.test_simulation import BLUR, SAMPLE, loop

SMALL: dict[tuple[Stage, ...], float] = {(SAMPLE, BLUR): 1000.0}
LARGE: dict[tuple[Stage, ...], float] = {(SAMPLE, BLUR): 1_228_800.0}
WORDS = "In a DataLoader worker the same code may take longer: transform::Blur has results of 1.23 MB"


def made(result_bytes: dict[tuple[Stage, ...], float], workers: int = 1, **more: object) -> Prediction:
    """Of 30 ms for a batch, 20 of them in Blur, with so many workers."""
    return predict(loop(0, result_bytes=result_bytes, **more), Change(workers=workers))  # type: ignore[arg-type]


def test_a_stage_of_large_results_may_take_longer_in_a_worker_and_not_shorter() -> None:
    small, large = made(SMALL), made(LARGE)
    assert large.step_us.value == small.step_us.value and large.step_us.low == small.step_us.low
    longest_ms = 10 + LONGER * 20
    assert large.step_us.high == pytest.approx(1e3 * longest_ms * (1 + SETTINGS_ERROR), rel=0.01)
    assert large.step_us.high > 1.2 * small.step_us.high
    assert large.data_wait_share.high > small.data_wait_share.high
    assert any(note.startswith(WORDS) for note in large.notes)
    assert not any("the same code" in note for note in small.notes)


def test_only_its_work_takes_longer_and_that_lacks_cpus_too() -> None:
    asleep = made(LARGE, on_cpu={(SAMPLE, BLUR): 0.0})
    assert asleep.step_us.high == pytest.approx(made(SMALL).step_us.high, rel=0.01)
    crowded, free = (made(LARGE, workers=4, cpus=cpus).step_us.high for cpus in (2, 64))
    assert crowded > 1.2 * free


def test_a_result_that_was_not_measured_is_as_large_as_a_sample() -> None:
    large = made({}, batch_bytes=8.0 * GIVEN_BACK, batch_size=8)
    assert any("the same code" in note for note in large.notes)
    for more in ({"batch_bytes": None}, {"batch_bytes": 7.0 * GIVEN_BACK, "batch_size": 8}):
        assert not any("the same code" in note for note in made({}, **more).notes)


def test_what_workers_did_in_the_capture_is_known() -> None:
    of_workers: Loop = loop(1, result_bytes=LARGE)
    for workers in (0, 2):
        assert not any("the same code" in note for note in predict(of_workers, Change(workers=workers)).notes)
    alone = replace(of_workers, settings=replace(of_workers.settings, workers=0))
    assert not any("the same code" in note for note in predict(alone, Change(prefetch=4)).notes)
