from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from annotate.trace_format import Stage
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.taken_cpus import check
from tb_dataplugin.findings.saving import Saving, saved_without
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.whatif import Change, Range, fit_loop, predict
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of, results_of, signals_of
from tests.trace_builder import TraceBuilder

STEP = 10_000.0
STEPS = 10


def crowded(
    *,
    wait: float = 400.0,
    delayed: float = 0.5,
    threads: float = 2.0,
    busy: float = 100.0,
    stage: float = 1.0,
    runs: float = 0.5,
) -> TraceBuilder:
    """Two workers compute all the time, and a training step of so many threads waits for their CPUs.

    `delayed`: the share of its own time in which the training thread waits; `stage`: Blur's share of the build time;
    `runs`: the part of it in which the workers have a CPU.
    """
    own = STEPS * (STEP - wait)
    cpu = own * (1 - delayed)
    spent: dict[str, Any] = {"cpu_us": cpu, "run_delay_us": own * delayed, "process_cpu_us": cpu * threads}
    host = {"cores": 2, "torch_threads": 2}
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 2}], host=host, training_thread=spent)
    builder.worker(0).worker(1)
    wall = 2 * STEP - 100
    for number in range(STEPS + 2):
        start = (number - 2) * STEP + wait - 50
        spans = {
            "sample::Pets": (start, wall, wall * runs),
            "transform::Blur": (start, wall * stage, wall * stage * runs),
        }
        consumed = (number * STEP + wait) if number < STEPS else None
        times = (start - 50, start, start + wall)
        builder.batch(number, number % 2, *times, consumed, spans, process_cpu_us=wall * runs, run_delay_us=wall / 2)
    for number in range(STEPS):
        builder.step(STEP * number, STEP).wait(STEP * number, wait, "wait::DataLoader")
        builder.counter("host::cpu", STEP * number + 5, **{"core 0": busy, "core 1": busy})
    return builder


def test_cpus_that_workers_take_from_the_step_are_a_finding_where_batches_come_in_time() -> None:
    finding = finding_in(crowded(), "taken_cpus")
    assert finding.stage == "transform::Blur"
    assert finding.title.startswith("DataLoader workers hold the CPUs that the training step waits for, 50.0%")
    assert 0.5 * 9600 < finding.gain_us_per_step <= 0.75 * 9600


def test_the_step_gets_them_back_as_well_where_a_thread_takes_the_batches_for_it() -> None:
    """``prof.steps`` iterates a generator of the thread's queue, which has no DataLoader workers itself."""
    plain, fed = crowded(wait=2000), crowded(wait=2000)
    fed.top_level["dataPipeline"]["loaders"].append({"name": "generator", "stepped": True, "iterated": 0})
    for row in fed.events:
        row["name"] = "wait::batches" if row["name"] == "wait::DataLoader" else row["name"]
    blur = "transform::Blur"
    bounds = [
        saved_without(signals, [row for row in signals.stages if row.stage.name == blur])
        for signals in map(signals_of, (plain, fed))
    ]
    assert bounds[0].of_step_us == pytest.approx(bounds[1].of_step_us)
    assert bounds[1].of_step_us > 0


def test_the_verdict_does_not_acquit_a_loader_that_takes_the_cpus() -> None:
    sentence = capture_of(crowded()).verdict.sentence
    assert "the DataLoader is not the bottleneck" not in sentence
    assert "batches come in time, but the DataLoader workers hold CPUs that the training step waits for" in sentence


def test_nobody_waits_longer_for_cpus_of_workers_than_they_ran() -> None:
    """A step of more threads than CPUs, beside workers that hardly run."""
    builder = crowded(busy=67, runs=0.01)
    assert finding_of(builder, "taken_cpus") is None
    assert "the DataLoader is not the bottleneck" in capture_of(builder).verdict.sentence


def test_it_is_not_urgent_where_the_data_wait_is_next_to_nothing() -> None:
    assert finding_in(crowded(wait=100), "taken_cpus").severity == "low"
    assert finding_in(crowded(wait=400), "taken_cpus").severity == "high"


def test_a_step_that_gets_its_cpus_has_no_such_finding() -> None:
    assert finding_of(crowded(delayed=0.02), "taken_cpus") is None
    assert "the DataLoader is not the bottleneck" in capture_of(crowded(delayed=0.02)).verdict.sentence


def test_a_thread_that_sleeps_has_not_waited_for_a_cpu_meanwhile() -> None:
    builder = crowded()
    own = STEPS * (STEP - 400.0)
    builder.top_level["dataPipeline"]["training_thread"] |= {"cpu_us": 0.05 * own, "run_delay_us": 0.1 * own}
    taken = signals_of(builder).taken
    assert taken is not None and taken.delayed == pytest.approx(0.1)  # of 15% in which it had something to do


def test_cpus_that_other_programs_have_may_be_given_to_them_in_place_of_the_workers() -> None:
    """A session or container with a share of its own: what the workers leave goes to the step, or else to others."""
    builder = beside(14, threads=1.0)
    finding, taken = finding_in(builder, "taken_cpus"), signals_of(builder).taken
    assert taken is not None and taken.by_workers < 0.1 and taken.at_most == 1
    assert finding.confidence == "possible"
    assert finding.gain_us_per_step == pytest.approx(0.5 * 9600, rel=0.05) == taken.saved_us(1.0) / STEPS
    fact = next(fact for fact in evidence_of(finding) if "of the CPU time of all other processes they have" in fact)
    assert "Where others take their part of what is set free, the step gets up to" in fact
    assert taken.shared_us < 0.2 * taken.saved_us(1.0)


def test_workers_that_hardly_run_are_not_blamed_for_other_programs() -> None:
    assert finding_of(beside(14, threads=1.0, runs=0.01), "taken_cpus") is None


def beside(others: int, **options: float) -> TraceBuilder:
    """As many CPUs more, all of them busy with other programs."""
    builder = crowded(**options)
    builder.top_level["dataPipeline"]["host"]["cores"] = 2 + others
    for number in range(STEPS):
        builder.counter("host::cpu", STEP * number + 5, **{f"core {core}": 100.0 for core in range(2, 2 + others)})
    return builder


def test_with_more_of_other_programs_the_bound_stays_and_what_is_sure_of_it_shrinks() -> None:
    found = [finding_in(beside(others), "taken_cpus") for others in range(4)]
    taken = [signals_of(beside(others)).taken for others in range(4)]
    gains = [finding.gain_us_per_step for finding in found]
    shared = [each.shared_us for each in taken if each is not None]
    assert gains == sorted(gains)
    assert shared == sorted(shared, reverse=True) and shared[3] < 0.6 * shared[0]
    assert [finding.confidence for finding in found] == ["likely", "possible", "possible", "possible"]
    assert found[3].title.startswith("DataLoader workers and other programs hold the CPUs that the training step waits")
    assert any("of the CPU time of all other processes they have" in fact for fact in evidence_of(found[3]))


def test_without_other_programs_nothing_is_left_to_chance() -> None:
    alone, other = signals_of(beside(0)).taken, signals_of(beside(1)).taken
    assert alone is not None and not alone.others_compete and alone.at_most == alone.by_workers
    assert alone.returned_us(10.0) == 10.0 * alone.by_workers
    assert other is not None and other.others_compete and other.returned_us(10.0) > 10.0  # others run for less, too


@pytest.mark.parametrize("others", [0, 1, 2, 3])
def test_no_less_is_promised_than_what_if_expects_and_no_more_than_it_allows(others: int) -> None:
    loop = fit_loop(results_of(beside(others)))
    assert not isinstance(loop, Unavailable)
    own = tuple((path, 0.0) for path in loop.build.parts if path and path[-1].name == "transform::Blur")
    step_us = predict(loop, Change(own=own)).step_us
    gain = finding_in(beside(others), "taken_cpus").gain_us_per_step
    assert 0.98 * (STEP - step_us.value) <= gain <= STEP - step_us.low


def test_what_the_model_expects_is_promised_where_the_capture_by_itself_shows_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tb_dataplugin.findings.foresight.soonest_us", lambda *_: Range(2000.0, 1000.0, 3000.0))
    said = finding_in(beside(3), "taken_cpus")
    assert said.gain_us_per_step == pytest.approx(STEP - 2000.0)
    assert any("predicts about 2.00 ms per step without transform::Blur" in fact for fact in evidence_of(said))


@pytest.mark.parametrize("others", [0, 1, 2, 3])
def test_the_verdict_acquits_no_loader_that_has_part_of_the_cpus(others: int) -> None:
    assert "not the bottleneck" not in capture_of(beside(others)).verdict.sentence


def by_itself(builder: TraceBuilder) -> tuple[Signals, Saving]:
    """What the capture allows to save by the leading stage, without the model's view of it."""
    signals = replace(signals_of(builder), foresight=None)
    return signals, saved_without(signals, [row for row in signals.stages if row.stage.name == "transform::Blur"])


def test_the_gain_of_a_stage_contains_the_cpu_time_that_the_step_gets_back() -> None:
    (waits, more), (gets, less) = (by_itself(crowded(wait=4000, delayed=delayed)) for delayed in (0.5, 0.0))
    assert waits.taken is not None and gets.taken is not None and gets.taken.saved_us(1.0) == 0
    assert more.us - less.us == pytest.approx(waits.taken.saved_us(1.0), rel=0.05)
    assert any(
        "all of the data wait can go (4.00 ms per step), and the step itself gets up to" in fact.text
        and "of CPU time back (estimated)" in fact.text
        for fact in more.why
    )
    said = finding_in(crowded(wait=4000), "leading_stage")
    assert said.confidence == "likely" and "what the step itself would gain is an estimate" in said.confidence_reason
    assert finding_of(crowded(wait=4000), "taken_cpus") is None  # it is said once


def test_the_sentence_about_the_workers_leaves_room_for_the_cpu_time_that_the_step_gets_back() -> None:
    for delayed, is_said in ((0.5, True), (0.0, False)):
        (summary,) = capture_of(crowded(wait=1500, delayed=delayed)).worker_summaries
        assert "faster batches save at most that" in summary.sentence
        assert ("plus the CPU time that the step gets back (see Findings)" in summary.sentence) is is_said


def test_what_threads_of_a_step_get_back_is_not_cut_to_what_the_model_knows_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tb_dataplugin.findings.foresight.soonest_us", lambda *_: Range(9000.0, 8000.0, 9900.0))
    monkeypatch.setattr("tb_dataplugin.findings.foresight.step_range", lambda *_: Range(9000.0, 8000.0, 9900.0))
    for threads, is_cut in ((1.0, True), (2.0, False)):
        builder = crowded(wait=4000, threads=threads)
        allowed = by_itself(builder)[1].us / STEPS
        assert (finding_in(builder, "leading_stage").gain_us_per_step < 0.99 * allowed) is is_cut


def test_of_cpu_time_that_is_set_free_the_step_may_get_all() -> None:
    signals, saving = by_itself(beside(14, wait=4000, threads=1.0))
    assert signals.taken is not None and signals.taken.by_workers < 0.1
    assert saving.us / STEPS - 4000 == pytest.approx(signals.taken.saved_us(1.0) / STEPS, rel=0.05)


def test_threads_that_wait_for_each_other_lose_more_and_never_more_than_all() -> None:
    taken = [signals_of(crowded(threads=threads)).taken for threads in (1.0, 2.0)]
    one, two = (replace(each, by_workers=1.0).saved_us(1.0) / each.own_us for each in taken if each is not None)
    assert one == pytest.approx(0.5, abs=0.01) and two == pytest.approx(0.75, abs=0.01)


def test_half_of_the_stage_gives_back_less_than_all_of_it() -> None:
    taken = signals_of(crowded()).taken
    assert taken is not None
    assert 0 < taken.saved_us(0.5) < taken.saved_us(1.0) == taken.saved_us(2.0)


def test_rates_that_were_measured_without_free_cpus_say_so() -> None:
    def notes(delayed: float) -> list[str]:
        diagnostics = capture_of(crowded(delayed=delayed)).diagnostics
        return [note.message for note in diagnostics if note.code == "contended_rates"]

    (note,) = notes(0.5)
    assert "DataLoader workers waited for a CPU for 50.0% of their build time, the training thread for 50.0% of" in note
    assert "the training thread" not in notes(0.0)[0]


def test_a_thread_that_runs_outside_the_data_wait_waited_there_for_no_more_than_is_left() -> None:
    """It is woken for each batch, and waits for a CPU then, in the data wait: the counters know the sum."""
    builder = crowded(wait=5000)
    own = STEPS * 5000.0
    for wait in (event for event in builder.events if event["name"] == "wait::DataLoader"):
        wait["args"] = {**wait.get("args", {}), "cpu_us": 10.0}
    spent = {"cpu_us": 0.8 * own + 10 * STEPS, "run_delay_us": 0.8 * own}
    builder.top_level["dataPipeline"]["training_thread"] |= spent
    taken = signals_of(builder).taken
    assert taken is not None and taken.delayed == pytest.approx(0.2, abs=0.01)


def test_rates_of_one_of_several_ranks_say_what_the_training_steps_has_in_it() -> None:
    def codes(world_size: int) -> list[str]:
        builder = crowded()
        builder.top_level["distributedInfo"] = {"rank": 0, "world_size": world_size, "backend": "gloo"}
        return [note.code for note in capture_of(builder).diagnostics]

    assert "rates_with_ranks" in codes(2) and "rates_with_ranks" not in codes(1)


def test_a_single_worker_is_not_to_become_none() -> None:
    builder = crowded()
    assert "Fewer DataLoader workers leave" in finding_in(builder, "taken_cpus").advice
    builder.top_level["dataPipeline"]["loaders"][0]["num_workers"] = 1
    assert finding_in(builder, "taken_cpus").advice.endswith("move it to the device.")


def test_hidden_threads_are_named_where_batches_come_in_time() -> None:
    builder = crowded()
    assert "hidden threads" not in finding_in(builder, "taken_cpus").advice
    costs = builder.top_level["dataPipeline"]["batch_costs"]
    costs["process_cpu_us"] = [2 * spent for spent in costs["process_cpu_us"]]
    assert "first limit each to one, by OPENBLAS_NUM_THREADS=1" in finding_in(builder, "taken_cpus").advice


def test_the_bound_is_of_all_that_the_workers_do_and_says_what_one_stage_has() -> None:
    whole, half = (finding_in(crowded(stage=part), "taken_cpus") for part in (1.0, 0.5))
    assert half.gain_us_per_step == pytest.approx(whole.gain_us_per_step, rel=0.1)
    assert "transform::Blur has most of it: 99.5 ms, without which the step gets up to" in str(evidence_of(whole))
    assert "or more where one that waits for another keeps its CPU" in whole.confidence_reason


def test_it_is_said_as_well_where_a_transfer_leads_a_data_wait_that_counts() -> None:
    signals = signals_of(crowded(wait=800))
    transfer = replace(next(iter(signals.waits_by_stage or ())), name="transfer", stage=Stage("transfer", "queue"))
    said = check(replace(signals, waits_by_stage=(transfer,)))
    assert isinstance(said, Finding) and said.advice.startswith("Building batches takes more from the step than")
