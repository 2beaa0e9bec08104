from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.foresight import Foresight, Promise
from tb_dataplugin.findings.read_signals import read_signals
from tb_dataplugin.findings.rules.too_few_workers import check
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.units import duration
from tb_dataplugin.whatif import Change, fit_loop, predict, usual_changes
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import (
    abstentions,
    capture_of,
    evidence_of,
    finding_in,
    finding_of,
    input_bound,
    results_of,
    signals_of,
)
from tests.trace_builder import TraceBuilder


def test_busy_workers_and_free_cores_are_too_few_workers() -> None:
    said = finding_in(input_bound(), "too_few_workers")
    assert "num_workers=8" in said.code and said.confidence == "likely"
    assert 0 < said.gain_us_per_step <= 8000


def test_of_several_loaders_it_says_whose_workers_are_too_few() -> None:
    signals = signals_of(input_bound())
    loader = LoaderInfo(dataset="Unlabelled", batch_size=8, num_workers=2)
    said = check(replace(signals, loader=loader, has_several_loaders=True))
    assert isinstance(said, Finding)
    assert said.title.startswith("2 DataLoader workers of the DataLoader of Unlabelled (batches of 8) cannot build")
    assert said.evidence[0].text.startswith("its DataLoader workers are busy")


def test_the_gain_of_more_workers_is_bounded_by_how_fast_they_make_batches() -> None:
    # 2 workers make a batch in 20 ms each; 3 make 1.5 times as many: the step cannot fall below 6.67 ms.
    said = finding_in(input_bound(cores=3), "too_few_workers")
    assert said.gain_us_per_step == pytest.approx(10_000 - 10_000 * 2 / 3, rel=0.06)


def test_time_in_which_workers_build_nothing_is_no_reserve_of_more_of_them() -> None:
    """They build for 85% of the time: one and a half times as many make steps of two thirds, not of 57%."""
    said = finding_in(input_bound(cores=3, busy=0.85), "too_few_workers")
    assert said.gain_us_per_step == pytest.approx(10_000 - 10_000 * 2 / 3, rel=0.01)
    assert "at most 1.5x as fast" in said.advice and "1.5x as fast" in said.gain_text


def test_batches_come_as_fast_as_the_steps_that_are_promised_where_whatif_expects_more() -> None:
    class Expecting(Foresight):
        def promise(self, change: Change, most_us: float | None, wait_us: float) -> Promise:
            return Promise(min(7_500.0, wait_us))

    results = results_of(input_bound(cores=3))
    said = check(replace(read_signals(results), foresight=Expecting(results)))
    assert isinstance(said, Finding) and said.gain_us_per_step == pytest.approx(7_500)
    assert "builds batches at most 4.0x as fast" in said.advice


@pytest.mark.parametrize("expects", [True, False])
def test_workers_that_are_late_with_some_batches_are_too_few_where_the_model_expects_so(expects: bool) -> None:
    """A stranger's reads of 1 ms, some of 60: two workers were busy for 71 to 81%, and with five a step took half."""

    class Expecting(Foresight):
        def expects_gain(self, change: Change, least: float = 0.0) -> bool:
            return expects

    results = results_of(input_bound(busy=0.7))
    said = check(replace(read_signals(results), foresight=Expecting(results)))
    assert (said is not None) is expects
    assert not isinstance(said, Finding) or said.title.startswith("2 DataLoader workers are late with some batches")


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


def one_in(period: int, quick: float = 4000.0, slow: float = 32_000.0, train: float = 3000.0) -> TraceBuilder:
    """Two workers on four CPUs, and a slow batch in every so many: the other worker builds none of them where that is
    even.
    """
    loader = {"num_workers": 2, "batch_size": 4, "prefetch_factor": 2}
    builder = TraceBuilder().annotated(loaders=[loader], host={"cores": 4}).worker(0).worker(1)
    free, taken, now, count = [0.0, 0.0], [0.0] * 64, 0.0, 64
    for number in range(count):
        drawn = taken[number - 4] if number >= 4 else 0.0
        begin, took = max(free[number % 2], drawn), quick if number % period else slow
        free[number % 2] = end = begin + took
        taken[number] = consumed = max(now, end) + 20
        spans = {"sample::Pets": (begin, took, took)}
        builder.batch(number, number % 2, drawn, begin, end, consumed - 5, spans, process_cpu_us=took, run_delay_us=0)
        builder.step(now, consumed + train - now).wait(now, consumed - now, "wait::DataLoader")
        now = consumed + train
    return builder


def loop_of(builder: TraceBuilder) -> Loop:
    loop = fit_loop(results_of(builder))
    assert isinstance(loop, Loop)
    return loop


def test_workers_are_as_many_as_whatif_predicts_the_shortest_steps_with() -> None:
    """Every fourth batch was slow: of four workers, as of two, one builds all of these. The mean says four."""
    builder = one_in(4)
    said, loop = finding_in(builder, "too_few_workers"), loop_of(builder)
    three, four = (predict(loop, Change(workers=number)).step_us for number in (3, 4))
    assert three.value < 0.9 * four.value
    assert (
        "num_workers=3" in said.code
        and "Use num_workers=3, the fewest with which `tb-dataplugin whatif`" in said.advice
    )
    within = f"(90% interval {duration(three.low)} to {duration(three.high)})"
    expected = f"{duration(three.value)} per step with num_workers=3 {within}"
    assert any(expected in text for text in evidence_of(said))
    now = loop.measured_step_ns / 1e3
    assert now - three.value <= said.gain_us_per_step * 1.001 and said.gain_us_per_step <= (now - three.low) * 1.001
    assert Change(workers=3) in usual_changes(loop)


def test_workers_are_as_many_as_keep_up_where_all_batches_are_alike() -> None:
    said = finding_in(one_in(1), "too_few_workers")
    assert said.advice.startswith("Use num_workers=4 and measure again.") and "num_workers=4" in said.code
