from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import finding_in, finding_of
from tests.trace_builder import TraceBuilder


def alone(workers: int, cores: int = 4) -> TraceBuilder:
    """A step of 100 ms that waits for 60 of them."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": workers}], host={"cores": cores})
    return builder.step(0, 100_000).wait(0, 60_000, "wait::DataLoader")


def test_without_workers_there_is_advice_to_start_some() -> None:
    said = finding_in(alone(0), "single_process_loading")
    assert (
        "num_workers=2 (as many as keep up with the rest of the step)" in said.advice and "num_workers=2" in said.code
    )
    assert said.gain_text == "saves up to 60.0 ms per step (60.0% of it, 2.5x as fast)"


def test_sending_batches_may_take_what_building_them_did() -> None:
    """A stranger's table of 28 columns, 1 ms per batch: 6.8 ms per step without workers, 15 ms with one."""
    for wait, severity, is_said in ((1_000, "low", True), (5_000, "medium", True), (20_000, "high", False)):
        builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}], host={"cores": 4}).step(0, 2 * wait)
        said = finding_in(builder.wait(0, wait, "wait::DataLoader"), "single_process_loading")
        assert (said.severity, said.confidence) == (severity, "possible" if is_said else "likely")
        assert ("1.20 ms to send a batch of two tensors" in said.confidence_reason) is is_said


def test_the_gain_is_limited_by_how_fast_those_workers_build_batches() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}], host={"cores": 2}).step(0, 100)
    said = finding_in(builder.wait(0, 90), "single_process_loading")
    assert "num_workers=2 (as many as there are CPUs)" in said.advice
    assert said.gain_us_per_step == pytest.approx(100 - 90 / 2)


def test_whatif_is_named_only_where_it_can_predict() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}], host={"cores": 4})
    for number in range(4):
        assert "whatif" not in finding_in(builder, "single_process_loading").advice if number else True
        start = 100_000 * number
        builder.step(start, 100_000).wait(start, 60_000, "wait::DataLoader")
        builder.stage("sample::Pets", start + 1, 50_000)
    assert "`tb-dataplugin whatif` predicts other numbers" in finding_in(builder, "single_process_loading").advice


def test_a_loader_with_workers_has_some() -> None:
    assert finding_of(alone(2), "single_process_loading") is None


def test_what_stays_in_the_training_thread_is_no_gain_of_workers() -> None:
    said = finding_in(alone(0).stage("sampler::ByLoss", 0, 50_000), "single_process_loading")
    assert said.gain_us_per_step == pytest.approx(10_000)
    assert any("50.0 ms of it is drawing indices" in fact.text for fact in said.evidence)
    assert finding_of(alone(0).stage("sampler::ByLoss", 0, 60_000), "single_process_loading") is None


def crowded(blocked: float) -> TraceBuilder:
    """Both CPUs are busy all the time; of the 60 ms that a batch takes, its thread is blocked for that share."""
    builder = alone(0, cores=2).counter("host::cpu", 5, **{"core 0": 99.0, "core 1": 98.0})
    builder.top_level["dataPipeline"]["training_thread"] = {"cpu_us": 40_000, "run_delay_us": 0}
    return builder.add("user_annotation", "transform::Remote", 0, 60_000, cpu_us=60_000 * (1 - blocked))


def test_where_no_cpu_is_free_that_is_said_first() -> None:
    said = finding_in(crowded(blocked=0.1), "single_process_loading")
    assert said.advice.startswith("No CPU was free in this capture") and said.severity == "low"
    assert any("CPUs are 98.5% busy" in fact.text for fact in said.evidence)
    assert said.confidence == "possible"


def test_a_cpu_that_the_program_s_own_threads_have_can_be_free() -> None:
    """A stranger's spectrograms: 112 ms per step, with one thread of NumPy's each 108, and 60 with two workers; with
    two workers alone 149. What is not the program's own is other programs': workers get a share of it.
    """
    builder = crowded(blocked=0.1)
    thread = builder.top_level["dataPipeline"]["training_thread"]
    for process_us, is_own in ((140_000, True), (60_000, False)):
        thread["process_cpu_us"] = process_us
        said = finding_in(builder, "single_process_loading")
        assert ("threads of libraries in its process" in said.advice) is is_own
        assert ("OPENBLAS_NUM_THREADS" in said.code) is is_own
        assert said.severity != "low" and said.confidence == "possible"
        assert said.advice.startswith("Other programs used 1.37 of 2 CPUs in this capture") is not is_own


def test_what_is_mostly_blocked_needs_no_free_cpu() -> None:
    said = finding_in(crowded(blocked=0.9), "single_process_loading")
    assert said.advice.startswith("Start with num_workers=2 (as many as keep up") and said.severity == "high"


def test_what_is_mostly_blocked_may_have_more_workers_than_cpus() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}], host={"cores": 2}).step(0, 100)
    builder.wait(0, 98, "wait::DataLoader")
    builder.top_level["dataPipeline"]["training_thread"] = {"cpu_us": 22, "run_delay_us": 0}
    builder.add("user_annotation", "transform::Remote", 0, 98, cpu_us=98 * 0.2)
    said = finding_in(builder, "single_process_loading")
    assert "num_workers=10 (they mostly wait, so 2 CPUs carry more)" in said.advice


def streamed(**settings: object) -> TraceBuilder:
    """A step of 100 us that waits for 60 of them, for items of an iterable dataset."""
    loaders = [{"num_workers": 0, "dataset": "Clicks", "iterable": True, **settings}]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": 4})
    return builder.step(0, 100).wait(0, 60, "wait::DataLoader")


def test_an_iterable_dataset_is_divided_before_it_gets_workers() -> None:
    undivided = finding_in(streamed(divided=False, drawn=False), "single_process_loading")
    assert undivided.advice.startswith("First divide the data, by get_worker_info() in Clicks.__iter__: nothing in its")
    assert "an epoch would have every item 2 times. Start with num_workers=2" in undivided.advice
    assert undivided.code.index("get_worker_info()") < undivided.code.index("num_workers=2, persistent_workers=True")
    assert undivided.gain_us_per_step == pytest.approx(60)
    unknown = finding_in(streamed(drawn=False), "single_process_loading")
    assert unknown.advice.startswith(
        "First see that Clicks.__iter__ divides the data, by get_worker_info(): if it does"
    )
    divided = finding_in(streamed(divided=True), "single_process_loading")
    assert divided.advice.startswith("Count an epoch's batches before and after: its code asks get_worker_info()")
    assert "Start with num_workers=2" in divided.advice and "get_worker_info" not in divided.code


def test_workers_of_a_dataset_that_draws_without_an_end_work_on_copies() -> None:
    drawn = finding_in(streamed(divided=False, drawn=True), "single_process_loading")
    assert drawn.advice.startswith("If Clicks draws its items at random, without an end, there is nothing")
    assert "each DataLoader worker works on a copy" in drawn.advice and "every item" not in drawn.advice
    assert "info.seed" in drawn.code and "num_workers=2, persistent_workers=True" in drawn.code
    single = TraceBuilder().annotated(loaders=[{"num_workers": 0, "iterable": True, "drawn": True}], host={"cores": 1})
    asking = finding_in(streamed(divided=True, drawn=True), "single_process_loading")
    assert asking.advice.startswith("If Clicks draws") and "seed" not in asking.advice + asking.code
    only = finding_in(single.step(0, 100).wait(0, 60), "single_process_loading")
    assert "works on a copy" in only.advice and "first" not in only.code


@pytest.mark.parametrize("settings", [{"divided": False}, {}])
def test_advice_is_true_both_where_a_dataset_draws_and_where_it_does_not(settings: dict[str, object]) -> None:
    either = finding_in(streamed(**settings), "single_process_loading")
    assert either.advice.startswith("If Clicks.__iter__ goes through a fixed set of items, first see that it divides")
    assert "If it draws at random, there is nothing to divide. But each DataLoader worker works on" in either.advice
    assert "self." not in either.code  # no attribute that the dataset may not have


def test_one_worker_has_nothing_to_divide() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "iterable": True}], host={"cores": 1})
    assert "divide" not in finding_in(builder.step(0, 100).wait(0, 60), "single_process_loading").advice


def test_workers_do_not_see_what_the_loop_changes_in_the_dataset() -> None:
    """A stranger's replay buffer, which the loop fills: a worker would have drawn from a frozen copy, and no error."""
    assert (
        "Each worker has its own copy of the dataset, from when it starts"
        in finding_in(alone(0), "single_process_loading").advice
    )
    drawn = finding_in(streamed(divided=False, drawn=True), "single_process_loading").advice
    assert drawn.count("copy") == 1  # said already


def prefetched(*, busy: float = 10.0, cores: int = 4, tid: int = 2, process_us: float = 0) -> TraceBuilder:
    """Five steps of 10 ms that wait for 5 ms in an iterator of the program; a thread builds a batch for 9 of them."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0}], host={"cores": cores})
    builder.top_level["dataPipeline"]["training_thread"] = {
        "cpu_us": 15_000, "run_delay_us": 0, "process_cpu_us": process_us or 60_000,
    }  # fmt: skip
    for number in range(5):
        start = 10_000 * number
        builder.step(start, 10_000).wait(start + 10, 4_990, "wait::Prefetcher")
        builder.stage("sample::Pets", start + 20, 4_900 if tid == 1 else 8_900, tid=tid)
        builder.counter("host::cpu", start + 5, **{f"core {core}": busy for core in range(cores)})
    return builder


def test_a_thread_of_the_program_that_builds_the_batches_is_said_to() -> None:
    """A stranger's prefetch thread: one worker in its place took as long, 13.80 and 13.96 ms per step."""
    said = finding_in(prefetched(), "single_process_loading")
    assert said.title == (
        "The DataLoader has no workers: another thread of the program builds its batches, one after the other"
    )
    assert "a single one would only do what that thread does now" in said.advice and "whatif" not in said.advice
    assert "Start with num_workers=2 (as many as keep up with the rest of the step)" in said.advice
    assert said.gain_us_per_step == pytest.approx(4_980)
    assert (said.severity, said.confidence) == ("high", "likely")
    own = finding_in(prefetched(tid=1), "single_process_loading")
    assert own.title == "The DataLoader has no workers: the training thread builds every batch itself"


def test_further_processes_than_a_thread_that_builds_take_free_cpus() -> None:
    for busy in (85.0, 99.0):
        said = finding_in(prefetched(busy=busy), "single_process_loading")
        assert "Where CPUs are free for them, try num_workers=2" in said.advice
        assert (said.severity, said.confidence) == ("low", "possible")
    assert finding_of(prefetched(cores=1), "single_process_loading") is None


def test_the_cpu_of_a_thread_that_builds_is_not_that_of_libraries() -> None:
    for process_us, is_of_libraries in ((60_000, False), (180_000, True)):
        said = finding_in(prefetched(busy=99.0, cores=2, process_us=process_us), "single_process_loading")
        assert ("threads of libraries" in said.advice) is is_of_libraries
        assert ("OMP_NUM_THREADS" in said.code) is is_of_libraries


@pytest.mark.parametrize(("period", "workers"), [(1, 4), (4, 3)])
def test_workers_are_as_many_as_whatif_predicts_the_shortest_steps_with(period: int, workers: int) -> None:
    """Of four workers that take turns, one would build all of the slow batches."""
    builder, start = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}], host={"cores": 4}), 0.0
    for number in range(48):
        took = 4000.0 if number % period else 32_000.0
        builder.step(start, took + 3300).add("user_annotation", "wait::DataLoader", start, took, cpu_us=took - 10)
        builder.add("user_annotation", "sample::Pets", start + 1, took - 2, index=number, cpu_us=took - 12)
        start += took + 3300
    said = finding_in(builder, "single_process_loading")
    assert f"num_workers={workers}," in said.code
    assert ("the fewest with which `tb-dataplugin whatif` predicts" in said.advice) is (workers == 3)
    assert any("per step with num_workers=3 (90% interval" in fact.text for fact in said.evidence) is (workers == 3)
