from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.analyses.taken_cpus import TakenCpus
from tb_dataplugin.findings.step_work import step_sentence
from tb_dataplugin.report.report_pb2 import Finding
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of, signals_of
from tests.tb_dataplugin.findings.step_cases import (
    CALLS,
    FORWARD,
    LOG,
    LOGGING,
    MAIN,
    MIXING,
    MODEL,
    NEXT,
    STEPPING,
    TORCH,
    TRAIN,
    Frame,
    caller,
    run,
)
from tests.trace_builder import TraceBuilder


def test_a_slow_line_of_the_step_is_named_with_its_share() -> None:
    source = {(TRAIN, 40): "rec[name] = [v.item() for v in values]"}
    builder = run([(LOGGING, 60), (MODEL, 30), (STEPPING, 10)], sources=source)
    finding = finding_in(builder, "slow_step_line")
    assert finding.severity == "high"
    assert finding.title.startswith("train.py:40 takes ")
    assert finding.evidence[0].value == pytest.approx(0.6, abs=0.02)
    assert ".tolist()" in finding.code
    (fact,) = finding.evidence
    assert "`rec[name] = [v.item() for v in values]` in log_stats at train.py:40" in fact.text
    sentence = capture_of(builder).verdict.sentence
    assert "is not the bottleneck. " in sentence
    assert "of the step goes to `rec[name] = [v.item() for v in values]` in log_stats at train.py:40" in sentence


def test_of_a_gain_it_is_said_how_much_may_be_the_profilers_own_time() -> None:
    """300 operators of up to 15.5 us in each step of 10 ms, of which the lines may have all or nothing."""
    builder = run([(LOGGING, 60), (MODEL, 40)])
    assert "profiler" not in " ".join(evidence_of(finding_in(builder, "slow_step_line")))
    builder.top_level[METADATA_KEY]["overhead"] = {"operator_us": 5.0}  # probed, which is a third of that
    for step in range(10):
        for number in range(300):
            builder.operator(10_000 * step + 500 + 30 * number, 1, "aten::item")
    finding = finding_in(builder, "slow_step_line")
    own = "up to 4.65 ms per step of this gain is torch's profiler's own time, which runs without it do not have"
    assert evidence_of(finding)[-1] == own
    assert finding.gain_us_per_step == pytest.approx(6000, rel=0.05), "the bound stays: which line has it is unknown"


def test_what_the_loop_would_wait_for_next_is_computed_and_the_line_itself_is_by_samples() -> None:
    """Its confidence speaks of no data wait, which this finding is not about."""
    builder = run([(LOGGING, 60), (MODEL, 30), (STEPPING, 10)]).worker(0)
    builder.top_level[METADATA_KEY]["loaders"] = [{"num_workers": 1}]
    for number in range(10):
        at = 10_000 * number
        builder.batch(number, 0, at, at, at + 9000, at + 9001)
    finding = finding_in(builder, "slow_step_line")
    assert "beyond that the loop waits for its DataLoader workers" in finding.evidence[-1].text
    assert finding.confidence == "likely"
    assert finding.confidence_reason == (
        "Its part of the step is in the capture; how much of it would go is computed from how long building batches "
        "took."
    )


def freeing(line: str, **loader: Any) -> TraceBuilder:
    """Of 10 samples of a step one waits for data in that line, four are at it, and five in the model."""
    builder = TraceBuilder().annotated(loaders=[loader or {"num_workers": 2}])
    stacks: list[Sequence[Frame]] = []
    for step in range(10):
        builder.step(10_000 * step, 10_000).wait(10_000 * step, 400, "wait::DataLoader")
        stacks += [(MAIN, NEXT), *[(MAIN,)] * 4, *[(CALLS, FORWARD)] * 5]
    times = [200 + 1000 * number for number in range(100)]
    return builder.stacks(times, stacks, sources={(TRAIN, 90): line})


@pytest.mark.parametrize("line", ["for batch in loader:", "batch = next(batches)"])
def test_a_line_that_takes_the_next_batch_frees_the_one_before(line: str) -> None:
    finding = finding_in(freeing(line), "slow_step_line")
    assert "Python frees the one before" in finding.advice
    assert line in finding.evidence[0].text


def test_without_a_dataloader_the_line_may_as_well_wait_for_a_lock() -> None:
    """The program's own thread makes the batches."""
    advice = finding_in(freeing("for batch in Prefetch(files):", name="Prefetch"), "slow_step_line").advice
    assert "may wait for the lock" in advice and "DataLoader worker" not in advice


def test_a_loop_that_takes_no_batches_frees_none() -> None:
    assert "frees" not in finding_in(freeing("total += sum(history)"), "slow_step_line").advice


def test_copies_of_the_model_are_not_its_work() -> None:
    copying = (
        MAIN,
        LOG,
        ("deepcopy", "/lib/python3.11/copy.py", 128),
        ("Parameter.__deepcopy__", f"{TORCH}/nn/parameter.py", 60),
    )
    finding = finding_in(run([(copying, 50), (MODEL, 50)]), "slow_step_line")
    assert "deepcopy walks through every object" in finding.advice
    assert finding.evidence[0].value == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(("each", "is_found"), [(10, True), (200, False)])
def test_hundreds_of_operators_of_one_line_in_a_step_are_a_loop_over_elements(each: int, is_found: bool) -> None:
    """Operators that fill the step but for a microsecond between two of them."""
    builder = run([(LOGGING, 60), (MODEL, 40)])
    for step in range(10):
        for begin in range(400, 10_000 - each, each):
            builder.operator(10_000 * step + begin, each - 1, "aten::add_")
    assert (finding_of(builder, "slow_step_line") is not None) == is_found


def says_to_remove_the_call(finding: Finding) -> bool:
    to_freeze = finding.advice.startswith("Remove the call") and "gc.freeze()" in finding.code
    return to_freeze and "another thread" not in finding.advice and "array" not in finding.advice


def test_the_users_own_collecting_of_garbage_is_to_be_removed() -> None:
    finding = finding_in(run([(LOGGING, 60), (MODEL, 40)], sources={(TRAIN, 40): "gc.collect()"}), "slow_step_line")
    assert says_to_remove_the_call(finding)


def test_the_same_around_the_loader() -> None:
    builder = run([(MIXING, 60), (MODEL, 40)], caller(), sources={(TRAIN, 12): "gc.collect()"})
    assert says_to_remove_the_call(finding_in(builder, "code_around_loader"))


def test_saving_the_model_is_saving_also_while_its_operators_copy() -> None:
    saves = (MAIN, LOG, ("_save", f"{TORCH}/serialization.py", 900))
    builder = run([(saves, 50), (MODEL, 50)])
    for step in range(10):
        builder.operator(10_000 * step + 400, 9_600, "aten::copy_")
    finding = finding_in(builder, "slow_step_line")
    assert finding.advice.startswith("Save less often")
    assert finding.evidence[0].value == pytest.approx(0.5, abs=0.02)


def test_a_line_that_calls_the_model_is_no_slow_line_for_what_it_frees() -> None:
    inside = (CALLS, FORWARD, ("Net.forward", TRAIN, 20), FORWARD)
    assert finding_of(run([((CALLS,), 30), (inside, 70)]), "slow_step_line") is None


def test_the_models_own_work_is_no_finding_and_is_said() -> None:
    capture = capture_of(run([(MODEL, 70), (STEPPING, 30)]))
    assert not [finding.rule for finding in capture.findings if finding.severity == "high"]
    assert finding_of(run([(MODEL, 70), (STEPPING, 30)]), "slow_step_line") is None
    assert capture.verdict.sentence.endswith(
        "The model's own work (forward, backward, optimizer) takes 96.0% of the window, by stack samples."
    )


def test_the_models_own_work_without_a_cpu_is_said_to_wait_for_one() -> None:
    taken = TakenCpus(own_ns=96e6, delayed=0.659, threads=1.0, workers_ns=50e6, by_workers=0.4)
    said = step_sentence(replace(signals_of(run([(MODEL, 70), (STEPPING, 30)])), taken=taken))
    assert said.endswith("; for 65.9% of the time outside the data wait its thread only waited for a CPU.")


def test_operators_that_a_line_calls_are_work_and_reading_their_values_back_is_not() -> None:
    def of(operator: str) -> TraceBuilder:
        builder = run([(LOGGING, 60), (MODEL, 40)])
        for step in range(10):
            builder.operator(10_000 * step + 400, 9_600, operator)
        return builder

    assert finding_of(of("aten::sort"), "slow_step_line") is None
    assert "one number at a time" in finding_in(of("aten::item"), "slow_step_line").advice


def test_a_loop_over_a_tensor_is_work_of_a_model_and_else_reads_back() -> None:
    loop = ("Tensor.__iter__", f"{TORCH}/_tensor.py", 1160)
    assert "one number at a time" in finding_in(run([((*LOGGING, loop), 60), (MODEL, 40)]), "slow_step_line").advice
    assert finding_of(run([((*MODEL, LOG, loop), 60), (MODEL, 40)]), "slow_step_line") is None


def test_a_call_that_contains_the_models_work_is_no_slow_line() -> None:
    fit = ("Trainer.fit", "/lib/site-packages/trainers/trainer.py", 30)
    own = ("Trainer.hooks", "/lib/site-packages/trainers/hooks.py", 8)
    assert finding_of(run([((MAIN, fit, FORWARD), 70), ((MAIN, fit, own), 30)]), "slow_step_line") is None


@pytest.mark.parametrize(
    ("stack", "source", "advice"),
    (
        ((CALLS, ("save", f"{TORCH}/serialization.py", 900)), "torch.save(state, path)", "Save less often"),
        ((CALLS, ("Logger.info", "/lib/logging/__init__.py", 1)), "", "Write less often"),
        ((MAIN, LOG), "print(loss)", "Write less often"),
        ((MAIN, LOG), "time.sleep(0.1)", "sleeps there"),
        ((CALLS, ("Queue.get", "/lib/queue.py", 171)), "batch = q.get()", "another thread or process"),
        ((MAIN, LOG), "total += i", "array operations"),
    ),
)
def test_the_advice_fits_what_the_line_does(stack: Sequence[Frame], source: str, advice: str) -> None:
    sources = {(TRAIN, 91): source, (TRAIN, 40): source}
    assert advice in finding_in(run([(stack, 60), (MODEL, 40)], sources=sources), "slow_step_line").advice


def test_few_samples_are_not_judged() -> None:
    builder = run([(MIXING, 50), (LOGGING, 50)], caller())
    builder.top_level["dataPipeline"]["lines"]["threads"].clear()
    builder.stacks([1000.0 * number for number in range(1, 20)], [LOGGING] * 19)
    assert finding_of(builder, "slow_step_line") is None


def test_time_in_which_the_thread_waits_for_the_lock_is_no_lines_fault() -> None:
    assert finding_of(run([(LOGGING, 60), (MODEL, 40)], states=[2] * 100), "slow_step_line") is None


def sampled_once(stack: Sequence[Frame], count: int) -> TraceBuilder:
    """Ten steps; in the first one `count` of 100 samples are of this stack, all others of the model."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}])
    for step, (begin, end) in enumerate([(0, 40_000), *((40_000 + 6000 * n, 46_000 + 6000 * n) for n in range(9))]):
        builder.step(begin, end - begin).wait(begin, 10, f"wait::DataLoader{' (first batch)' if not step else ''}")
    times = [100 + 940 * number for number in range(100)]
    return builder.stacks(times, [stack if number < count else MODEL for number in range(100)])


def test_what_happens_in_one_step_only_is_no_advice_and_of_that_step() -> None:
    """A first launch, which loads a library: the other nine steps have none of it."""
    assert finding_of(sampled_once(LOGGING, 40), "slow_step_line") is None
    sentence = capture_of(sampled_once(LOGGING, 40)).verdict.sentence
    before, alone, after = sentence.partition(" alone has ")
    assert alone and "train.py:40" in after and "train.py:40" not in before


def test_what_happens_in_a_second_step_as_well_is() -> None:
    assert finding_of(sampled_once(LOGGING, 46), "slow_step_line") is not None


@pytest.mark.parametrize("is_lazy", (True, False))
def test_a_line_that_loads_in_the_step_what_the_dataset_could_is_told_where_to_load(is_lazy: bool) -> None:
    builder = run([(LOGGING, 60), (MODEL, 40)])
    for step in range(10):
        start, us = 10_000 * step + 500, 5_000 if is_lazy else 50
        builder.stage("decode::numpy.load", start, us)
    advice = finding_in(builder, "slow_step_line").advice
    assert ("The step loads data there (decode::numpy.load)" in advice) is is_lazy


def test_a_line_that_is_slow_in_some_steps_only_says_in_how_many() -> None:
    """Of 40 samples of the line, 20 in each of two long steps; spread over all steps it says nothing of that."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}])
    begin, times, stacks = 0, list[float](), list[Sequence[Frame]]()
    for step in range(10):
        length = 24_000 if step in (3, 7) else 4_000
        builder.step(begin, length).wait(begin, 400, "wait::DataLoader")
        times += [begin + 500 + 1000 * number for number in range(length // 1000)]
        stacks += [*[LOGGING] * (20 if length == 24_000 else 0), *[MODEL] * 4]
        begin += length
    finding = finding_in(builder.stacks(times, stacks), "slow_step_line")
    assert finding.evidence[0].text.endswith("40 stack samples, all of it in 2 of 10 steps")
    assert "all of it in" not in str(evidence_of(finding_in(run([(LOGGING, 60), (MODEL, 40)]), "slow_step_line")))
