from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.analyses.other_programs import OtherPrograms
from tb_dataplugin.analyses.taken_cpus import TakenCpus
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.oversubscribed import check
from tb_dataplugin.findings.saving import OF_STEP
from tests.tb_dataplugin.findings.cases import (
    abstentions,
    evidence_of,
    finding_in,
    finding_of,
    input_bound,
    signals_of,
)
from tests.trace_builder import TraceBuilder

STAGES = {"sample::Pets": (0.0, 1.0, 0.6)}


def crowded(**threads: int) -> TraceBuilder:
    """`threads`: what libraries are set to in each DataLoader worker."""
    builder = input_bound(run_delay=0.4, threads=3.0, stages=STAGES)
    for worker in builder.workers:
        worker.update(threads)
    return builder


def test_hidden_threads_that_fight_for_cores() -> None:
    """How much of the data wait goes is not known: main threads that spin for hidden ones run."""
    said, wait_us = finding_in(crowded(), "oversubscribed"), signals_of(crowded()).wait_cost_us
    assert wait_us is not None and said.gain_us_per_step == wait_us / 4
    assert any("main threads may spin" in text for text in evidence_of(said))


def test_the_step_gets_back_the_cpus_that_hidden_threads_have() -> None:
    """Of 3.0 CPUs that a DataLoader worker keeps busy, 2.4 are theirs; the training thread waits half of its time."""
    signals = signals_of(crowded())
    taken = TakenCpus(own_ns=8e6, delayed=0.5, threads=1.0, workers_ns=240e6, by_workers=1.0)
    said = check(replace(signals, taken=taken))
    assert signals.costs is not None and signals.costs.hidden == pytest.approx(0.8)
    assert isinstance(said, Finding) and said.gain_us_per_step is not None
    of_step = next(fact for fact in said.evidence if fact.kind == OF_STEP)
    assert of_step.value == pytest.approx(taken.saved_us(0.8))
    assert signals.wait_cost_us is not None
    assert said.gain_us_per_step == pytest.approx((signals.wait_cost_us + taken.saved_us(0.8)) / 4)
    assert "the step itself gets up to" in of_step.text


def test_hidden_threads_that_take_cpus_from_other_programs_may_be_worth_it() -> None:
    signals = signals_of(crowded())
    for others, is_said in ((OtherPrograms(8, 1.0, 4.0), True), (OtherPrograms(8, 1.0, 0.5), False)):
        said = check(replace(signals, other_programs=others))
        assert isinstance(said, Finding)
        assert ("they take CPUs from other programs" in said.confidence_reason) is is_said


def test_the_code_works_as_it_stands_and_names_no_library_that_has_one_thread() -> None:
    """A DataLoader worker's torch has one; numpy's threads are only known by what they use."""
    said = finding_in(crowded(torch_threads=1), "oversubscribed")
    assert "torch is set to one thread there" in "".join(evidence_of(said))
    environment: dict[str, str] = {}
    script = said.code.replace("os.environ", "environment")
    exec(script, {"environment": environment})
    assert environment == {"OPENBLAS_NUM_THREADS": "1"}
    assert "torch" not in said.code and "cv2" not in said.code


def test_the_code_sets_libraries_that_were_seen_with_more_threads() -> None:
    said = finding_in(crowded(torch_threads=1, cv2_threads=8), "oversubscribed")
    assert "cv2.setNumThreads(0)" in said.code and "torch" not in said.code
    assert "OpenCV: 8 threads" in evidence_of(said)
    compile(said.code, "advice", "exec")


def test_a_stage_that_waits_for_a_cpu_points_to_the_hidden_threads() -> None:
    pointer = "first limit the hidden threads of libraries"
    stages = {"sample::Pets": (0.0, 1.0, 0.6), "transform::Slow": (0.0, 1.0, 0.6)}
    waiting = input_bound(run_delay=0.4, threads=3.0, stages=stages)
    assert pointer in finding_in(waiting, "leading_stage").advice
    alone = input_bound(run_delay=0.4, threads=0.6, stages=stages)
    assert pointer not in finding_in(alone, "leading_stage").advice


def test_hidden_threads_on_free_cores_do_no_harm() -> None:
    assert finding_of(input_bound(run_delay=0.0, threads=3.0), "oversubscribed") is None


def test_threads_are_not_judged_without_records() -> None:
    assert "oversubscribed" in abstentions(input_bound(run_delay=None))


def test_the_thread_that_sends_batches_is_no_hidden_one() -> None:
    costs = WorkerCosts(4, 100, 0.4, 0.6, 0.3, 0, 0, 0, 0, 0, 0.0, sending=0.25)
    assert costs.threads == 1.0
    assert replace(costs, sending=0.0).threads == pytest.approx(1.5)
    assert replace(costs, process_cpu=1.45).threads == pytest.approx(3.0)


def measured_once(process_cpu_us: float) -> TraceBuilder:
    """Steps of 10 ms that wait for two DataLoader workers. Their main threads run for 60% of their batches of 20 ms and
    wait for a CPU else. Only the first batch of each is measured (workers of short epochs build no second one in time);
    it has a CPU for all of the 20 ms.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 2}], host={"cores": 2})
    builder.worker(0).worker(1)
    for number in range(10):
        end = (number + 2) * 10_000.0
        start = end - 20_000
        is_first = number < 2
        spans = {"sample::Pets": (start, 20_000.0, 20_000.0 if is_first else 12_000.0)}
        spent = {"process_cpu_us": process_cpu_us, "run_delay_us": 0.0} if is_first else {}
        builder.batch(number, number % 2, start, start, end, end, spans, **spent)
        builder.sampled([start, end], [0, 0], 100 + number % 2, 0 if is_first else 8_000)
    for column in builder.costs.values():
        column += [None] * (10 - len(column))
    for number in range(12):
        builder.step(10_000 * number, 10_000).wait(10_000 * number, 9_000, "wait::DataLoader")
    return builder


def test_a_measured_batch_that_had_a_cpu_is_not_set_against_others_that_had_none() -> None:
    """Its process used 20.4 ms, its main thread 20 ms; the main thread of the others 12 ms."""
    costs = signals_of(measured_once(20_400)).costs
    assert costs is not None and costs.run_delay is not None and costs.cpu == pytest.approx(0.68)
    assert costs.run_delay > 0.25
    assert costs.threads == pytest.approx(1.02) and costs.process_cpu == pytest.approx(0.68 * 1.02)
    assert finding_of(measured_once(20_400), "oversubscribed") is None


def test_hidden_threads_of_the_few_measured_batches_are_found() -> None:
    said = finding_in(measured_once(50_000), "oversubscribed")
    assert "2.5x the CPU time of its main thread" in "".join(evidence_of(said))


def test_sending_counts_where_the_measured_batch_was_built_meanwhile() -> None:
    """The second batch is measured: for 150 of its 400 us the first was being sent."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).step(0, 1500).worker(0)
    for number, start in enumerate((0, 500, 1000)):
        spent = {"process_cpu_us": 550.0, "run_delay_us": 0.0} if number == 1 else {}
        builder.batch(number, 0, start, start, start + 400, start + 400, {"sample::Pets": (start, 400, 400)}, **spent)
        builder.moments(serialised_us=start + 400 + (250, 100, 100)[number])
    for column in builder.costs.values():
        column += [None] * (3 - len(column))
    builder.wait(0, 400, "wait::DataLoader").wait(500, 400, "wait::DataLoader").wait(1000, 400, "wait::DataLoader")
    costs = signals_of(builder).costs
    assert costs is not None and costs.sending == pytest.approx(150 / 400)
    assert costs.threads == pytest.approx((550 - 150) / 400)


def test_what_the_main_thread_runs_between_samples_is_no_hidden_thread() -> None:
    """A third of a batch of cheap samples was torch's loop and our markers: "another library's"."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 2}]).step(0, 1500).worker(0)
    for number, start in enumerate((0, 500, 1000)):
        spans = {"sample::Row": (start, 130, 130), "collate::default_collate": (start + 250, 130, 130)}
        spent = {"process_cpu_us": 390.0, "run_delay_us": 0.0}
        builder.batch(number, 0, start, start, start + 400, start + 400, spans, **spent)
        builder.wait(start, 400, "wait::DataLoader")
    costs = signals_of(builder).costs
    assert costs is not None and costs.threads == 1.0
