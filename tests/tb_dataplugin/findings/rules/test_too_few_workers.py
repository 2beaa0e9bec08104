from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import abstentions, capture_of, finding_in, finding_of, input_bound


def test_busy_workers_and_free_cores_are_too_few_workers() -> None:
    said = finding_in(input_bound(), "too_few_workers")
    assert "num_workers=8" in said.code and said.confidence == "likely"
    assert 0 < said.gain_us_per_step <= 8000


def test_the_gain_of_more_workers_is_bounded_by_how_fast_they_make_batches() -> None:
    # 2 workers make a batch in 20 ms each; 3 make 1.5 times as many: the step cannot fall below 6.67 ms.
    said = finding_in(input_bound(cores=3), "too_few_workers")
    assert said.gain_us_per_step == pytest.approx(10_000 - 10_000 * 2 / 3, rel=0.06)


def test_whether_cpus_are_free_is_not_guessed() -> None:
    builder = input_bound(run_delay=None)
    assert "CPU was free" in abstentions(builder)["too_few_workers"]
    assert not {"too_few_workers", "more_workers_will_not_help"} & {said.rule for said in capture_of(builder).findings}


def test_workers_that_are_not_busy_are_not_too_few() -> None:
    assert finding_of(input_bound(busy=0.3), "too_few_workers") is None


def test_an_iterable_dataset_is_divided_before_it_gets_more_workers() -> None:
    said = finding_in(input_bound(loader={"iterable": True, "divided": False, "drawn": False}), "too_few_workers")
    assert said.advice.startswith("First divide the data, by get_worker_info()")
    assert "every item 8 times. Use num_workers=8" in said.advice and "get_worker_info()" in said.code
    divided = finding_in(input_bound(loader={"iterable": True, "divided": True}), "too_few_workers")
    assert divided.advice.startswith("Use num_workers=8") and "get_worker_info" not in divided.code
