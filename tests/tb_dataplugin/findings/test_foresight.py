"""What a finding promises, beside what `whatif` predicts of the change that it advises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annotate.trace_format import Stage
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.findings.foresight import LONGER_IN_WORKERS, Foresight, Promise, _Step, _words
from tb_dataplugin.findings.rules.single_process_loading import NOT_SHORTER
from tb_dataplugin.options import AnalysisOptions, StepRange
from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.whatif import Change, fit_loop, predict, soonest_us
from tb_dataplugin.whatif.loop import Loop, Timed
from tests.conftest import GOLDEN
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, results_of
from tests.trace_builder import TraceBuilder

STEPS = 12


def crowded(step_us: float, wait_us: float, other: float = 100.0) -> TraceBuilder:
    """A loop without workers that computes all the time, on one of two CPUs; another program has so much of the other
    one (%).
    """
    host, whole = {"cores": 2}, STEPS * step_us
    thread = {"cpu_us": round(whole), "run_delay_us": 0, "process_cpu_us": round(whole)}
    loaders = [{"name": "DataLoader", "num_workers": 0, "batch_size": 1}]
    builder = TraceBuilder().annotated(loaders=loaders, host=host, training_thread=thread)
    for number in range(STEPS):
        start = number * step_us
        builder.step(start, step_us).add("user_annotation", "wait::DataLoader", start, wait_us, cpu_us=wait_us)
        builder.add("user_annotation", "sample::Pets", start + 1, wait_us - 2, index=number, cpu_us=wait_us - 2)
        builder.counter("host::cpu", start + step_us / 2, **{"core 0": 100.0, "core 1": other})
    return builder


def loop_of(builder: TraceBuilder) -> Loop:
    loop = fit_loop(results_of(builder))
    assert not isinstance(loop, Unavailable)
    return loop


def test_workers_that_no_cpu_is_free_for_save_no_more_than_what_if_leaves() -> None:
    builder = crowded(10_000, 6000)
    said, made = finding_in(builder, "single_process_loading"), predict(loop_of(builder), Change(workers=2))
    assert made.crowded and "num_workers=2" in said.code
    assert 0 < said.gain_us_per_step == pytest.approx(10_000 - made.least_us)
    assert any("`tb-dataplugin whatif` predicts no less than" in text for text in evidence_of(said))
    assert any("while other processes stay: 2 CPUs are not enough" in text for text in evidence_of(said))


def test_workers_for_which_cpus_are_short_are_placed_by_what_is_likely() -> None:
    """Their bound takes for granted that the training step gives way."""
    builder = crowded(10_000, 6000, other=60.0)
    made = predict(loop_of(builder), Change(workers=2))
    assert made.short_of_cpus and not made.crowded
    first, second, *_ = capture_of(builder).findings
    assert (first.rule, second.rule) == ("leading_stage", "single_process_loading")
    (likely,) = (one for one in second.evidence if one.kind == "short_of_cpus")
    assert likely.value == pytest.approx(made.step_us.value)
    assert " or more: " in likely.text  # what workers take of caches and memory, the capture has nothing of
    assert "2 CPUs are not enough for these DataLoader workers and the training step" in likely.text


def of_large_samples(size: int, wait_us: float, cores: int) -> TraceBuilder:
    """A loop without workers that computes one sample per step of 10 ms, with a result of so many bytes."""
    loaders = [{"name": "DataLoader", "num_workers": 0, "batch_size": 1}]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": cores})
    for number in range(STEPS):
        start, cpu_us = number * 10_000.0, round(wait_us - 2)
        builder.step(start, 10_000).add("user_annotation", "wait::DataLoader", start, wait_us, cpu_us=wait_us)
        builder.add("user_annotation", "sample::Tiles", start + 1, cpu_us, index=number, cpu_us=cpu_us, bytes=size)
    return builder


@pytest.mark.parametrize(
    ("size", "wait_us", "cores", "may_worsen"),
    [(3_200_000, 9000, 8, False), (3_200_000, 9000, 2, True), (1000, 9000, 2, None)],
)
def test_workers_in_which_the_same_code_may_take_longer_are_advised_with_that(
    size: int, wait_us: float, cores: int, may_worsen: bool | None
) -> None:
    builder = of_large_samples(size, wait_us, cores)
    said = finding_in(builder, "single_process_loading")
    change = Change(workers=int(said.code.split("num_workers=")[1].split(",")[0]))
    facts = [fact for fact in said.evidence if fact.kind == LONGER_IN_WORKERS]
    assert bool(facts) is (may_worsen is not None)
    for fact in facts:
        assert fact.value == pytest.approx(predict(loop_of(builder), change).step_us.high)
        assert "sample::Tiles has results of 3.20 MB" in fact.text
        assert ("a step may even get longer than the 10.0 ms of now" in fact.text) is may_worsen
    assert (said.confidence == "possible") is bool(may_worsen)
    assert ("may even get longer" in said.confidence_reason) is bool(may_worsen)


def test_workers_that_would_bring_nothing_stand_last_and_say_why() -> None:
    builder = crowded(1000, 600)  # sending and receiving a batch takes longer than building it
    assert predict(loop_of(builder), Change(workers=2)).least_us >= 1000
    last = capture_of(builder).findings[-1]
    assert last.rule == "single_process_loading" and last.gain_text == "nothing to gain"
    assert "`tb-dataplugin whatif` predicts no less than" in last.advice and "it takes 1.00 ms now" in last.advice
    assert not last.code


def chunked(own_us: float = 5000, has_index: bool = True) -> TraceBuilder:
    """Every eighth batch unpacks a chunk for 28 ms, of which the samples after it are taken."""
    loaders = [{"name": "DataLoader", "num_workers": 0, "batch_size": 1}]
    builder, start = TraceBuilder().annotated(loaders=loaders, host={"cores": 8}), 0.0
    for number in range(24):
        wait = 29_000.0 if number % 8 == 3 else 1000.0
        facts = {"index": number if has_index else -1}
        builder.step(start, wait + own_us).wait(start, wait, "wait::DataLoader")
        builder.add("user_annotation", "sample::Spectra", start + 50, wait - 100, **facts)
        if wait > 1000:
            builder.add("user_annotation", "decode::numpy.NpzFile", start + 100, 28_000, **facts)
            builder.add("user_annotation", "read::file", start + 200, 1000, **facts)
        start += wait + own_us
    return builder


def test_workers_that_would_each_unpack_every_chunk_are_promised_nothing() -> None:
    findings = capture_of(chunked()).findings
    last = findings[-1]
    assert last.rule == "single_process_loading" and last.gain_text == "gain unknown" and last.severity == "low"
    assert "each of which would call it again" in last.advice and not last.code
    assert "3 calls of decode::numpy.NpzFile in 24 batches" in evidence_of(last)
    assert findings[0].stage == "decode::numpy.NpzFile" and "slow_samples" not in {each.rule for each in findings}


def test_parts_of_an_iterable_dataset_are_no_cache_that_lives_on_order() -> None:
    assert finding_in(chunked(has_index=False), "single_process_loading").HasField("gain_us_per_step")


def test_calls_for_every_batch_are_made_no_more_often_by_workers() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}], host={"cores": 8})
    for number in range(12):
        start = number * 10_000.0
        builder.step(start, 10_000).wait(start, 8000, "wait::DataLoader")
        for name in ("sample::Pets", "decode::PIL.Image"):
            builder.add("user_annotation", name, start + 100, 7000, index=number)
    said = finding_in(builder, "single_process_loading")
    assert said.gain_us_per_step > 0 and "Start with num_workers" in said.advice


def test_what_if_has_each_worker_make_the_rare_calls_again() -> None:
    loop = loop_of(chunked(own_us=1000))
    assert loop.kept is not None and loop.kept.calls == 3 and len(loop.kept.paths) == 1
    one, two, many = (predict(loop, Change(workers=workers)) for workers in (1, 2, 8))
    assert not one.notes or "is called for few batches" not in " ".join(one.notes)
    assert "decode::numpy.NpzFile is called for few batches (3 times in 24)" in " ".join(two.notes)
    without = predict(loop, Change(workers=2, stages=(("decode::numpy.NpzFile", 0.0),)))
    assert "is called for few batches" not in " ".join(without.notes)
    assert min(two.step_us.value, many.step_us.value) >= 28_000 / 8  # all unpack it, at the same time
    on_one_cpu = (predict(replace(loop, cpus=1.0, kept=kept), Change(workers=2)) for kept in (loop.kept, None))
    twice, once = (made.step_us.value for made in on_one_cpu)
    assert twice > 1.2 * once


def blurred(wait_us: float = 4000.0) -> Results:
    """Two workers that compute all the time, almost all of it in one stage, and hold up a step of 10 ms."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 2}], host={"cores": 8})
    builder.worker(0).worker(1)
    for number in range(STEPS + 2):
        start = (number - 2) * 10_000.0 + wait_us - 50
        spans = {"sample::Pets": (start, 19_900, 9950), "transform::Blur": (start, 19_900, 9950)}
        consumed = number * 10_000.0 + wait_us if number < STEPS else None
        builder.batch(number, number % 2, start - 50, start, start + 19_900, consumed, spans, process_cpu_us=9950)
    for number in range(STEPS):
        builder.step(10_000.0 * number, 10_000.0).wait(10_000.0 * number, wait_us, "wait::DataLoader")
    return results_of(builder)


def without_blur(loop: Loop, left: float = 0.0) -> Change:
    return Change(own=tuple((path, left) for path in loop.build.parts if path and path[-1].name == "transform::Blur"))


def test_what_a_stage_saves_lies_between_what_the_model_expects_and_the_end_of_its_interval() -> None:
    results = blurred()
    loop = fit_loop(results)
    assert not isinstance(loop, Unavailable)
    change, foresight = without_blur(loop), Foresight(results)
    now, step = loop.measured_step_ns / 1e3, predict(loop, change).step_us
    expected, most = now - step.value, now - step.low
    assert 0 < expected < most
    less, between, more = (foresight.held(change, us) for us in (expected / 2, (expected + most) / 2, 2 * most))
    assert less.us_per_step == pytest.approx(expected) and "predicts about" in less.why[0].text
    assert between.us_per_step == (expected + most) / 2 and not between.why
    assert (
        more.us_per_step == pytest.approx(most) and "per step without transform::Blur, and it takes" in more.why[0].text
    )


def test_many_stages_are_few_words() -> None:
    """A finding about the CPUs of all stages named each of them, joined by "and"."""
    names = [f"Part{number}" for number in range(5)]
    paths = [(Stage("sample", "Pets"),), *((Stage("sample", "Pets"), Stage("transform", name)) for name in names)]
    loop = loop_of(crowded(10_000, 6000))
    ns = np.array([[1.0, *range(10, 60, 10), 0.0]])
    loop = replace(loop, build=Timed((*paths, ()), ns), receive=Timed(((),), np.zeros((1, 1))))

    def said(chosen: list[Path], left: float = 0.0) -> str:
        return _words(Change(own=tuple((path, left) for path in chosen)), loop)

    assert said(paths[1:4]) == "without transform::Part0, transform::Part1 and transform::Part2"
    assert said(paths[1:]) == "without transform::Part4, transform::Part3 and 3 more stages"
    assert said(paths[1:], 0.2) == "with 20.0% of transform::Part4, transform::Part3 and 3 more stages"
    assert said(paths) == "without any stage that builds batches"
    assert said(paths, 0.2) == "with 20.0% of all stages that build batches"


def test_a_setting_saves_no_less_than_the_model_expects_but_no_more_than_all_data_wait() -> None:
    results = blurred()
    loop = fit_loop(results)
    assert not isinstance(loop, Unavailable)
    change, foresight = Change(workers=3), Foresight(results)
    expected = loop.measured_step_ns / 1e3 - predict(loop, change).step_us.value
    assert expected > 100
    less, all_of_it = (foresight.promise(change, expected / 2, wait) for wait in (4000.0, 0.75 * expected))
    assert less.us_per_step == pytest.approx(expected) and "about" in less.why[0].text
    assert all_of_it.us_per_step == pytest.approx(0.75 * expected)
    assert foresight.promise(change, expected, 4000.0).us_per_step == expected


def test_a_part_of_a_stage_saves_less_than_all_of_it() -> None:
    results = blurred()
    loop = fit_loop(results)
    assert not isinstance(loop, Unavailable)
    whole, part = (predict(loop, without_blur(loop, left)).step_us.value for left in (0.0, 0.8))
    assert whole < part < loop.measured_step_ns / 1e3
    said = Foresight(results).held(without_blur(loop, 0.8), 9999.0).why[0].text
    assert "with 80.0% of transform::Blur" in said


def test_the_steps_of_what_if_say_that_they_have_no_start_of_an_epoch() -> None:
    results = blurred()
    loop = fit_loop(results)
    assert not isinstance(loop, Unavailable)
    (plain,), (without,) = (
        Foresight(results, names).held(without_blur(loop), 9999.0).why for names in ("", "the epoch's start")
    )
    assert without.text == f"{plain.text}, both without the epoch's start"


def test_the_quick_answer_is_that_of_what_if() -> None:
    loop = fit_loop(blurred())
    assert not isinstance(loop, Unavailable)
    quick, whole = soonest_us(loop, without_blur(loop)), predict(loop, without_blur(loop)).step_us
    assert quick.value == whole.value and quick.low >= whole.low


def test_a_stage_that_no_batch_of_the_loop_spent_time_in_keeps_its_own_bound() -> None:
    results, elsewhere = blurred(), (Stage("user", "validate"),)
    assert Foresight(results).held(Change(own=((elsewhere, 0.0),)), 1234.0).us_per_step == 1234.0
    with pytest.raises(BadRequest, match="cannot predict user::validate itself=0x"):
        predict(loop_of(crowded(10_000, 6000)), Change(own=((elsewhere, 0.0),)))


def test_the_command_is_not_named_for_what_it_does_not_print() -> None:
    """It predicts from all steps of a capture, never from chosen ones."""
    options = AnalysisOptions(steps=StepRange(17, 21))
    chosen = analyse_file(GOLDEN / "h100_resnet50_workers4.pt.trace.json.gz", options=options).capture
    texts = [text for found in chosen.findings for text in evidence_of(found)]
    assert not any("`tb-dataplugin whatif` predicts" in text for text in texts)
    assert any(text.startswith("the model of these steps alone predicts about") for text in texts)


@pytest.mark.parametrize(("expected_us", "likely_us"), [(960.0, 40.0), (1_100.0, 0.0), (600.0, None)])
def test_a_bound_far_from_what_the_model_expects_says_so(
    expected_us: float, likely_us: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    foresight = Foresight(results_of(crowded(1000, 600)))
    loop = replace(loop_of(crowded(1000, 600)), measured_step_ns=1e6)
    monkeypatch.setattr(Foresight, "_expected", lambda *_: _Step(expected_us, loop, ""))
    monkeypatch.setattr(Foresight, "_least", lambda *_: None)
    promise = foresight.promise(Change(prefetch=4), 500.0, 800.0)
    assert (promise.us_per_step, promise.likely_us) == (500.0, likely_us)
    said = [fact.text for fact in promise.why]
    assert any("predicts about" in text and "it takes 1.00 ms now" in text for text in said) == (likely_us is not None)


def test_first_workers_that_are_expected_to_bring_nothing_are_worth_a_try_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stranger's loop of 2.8 ms: 'high, 3.0x as fast', and five workers made it slower by a third."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 8}], host={"cores": 4})
    for number in range(20):
        builder.step(2800 * number, 2800).wait(2800 * number, 2300).stage("sample::Orders", 2800 * number, 2300)
    said = finding_in(builder, "single_process_loading")
    assert said.severity == "high" and NOT_SHORTER not in said.advice
    monkeypatch.setattr(Foresight, "promise", lambda *_: Promise(1870.0, likely_us=0.0))
    said = finding_in(builder, "single_process_loading")
    assert said.severity == "low" and said.confidence == "possible" and said.advice.startswith(NOT_SHORTER)


def test_what_a_change_gives_at_most_and_likely_is_one_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    foresight = Foresight(results_of(crowded(1000, 600)))
    loop = replace(loop_of(crowded(1000, 600)), measured_step_ns=1e6)
    monkeypatch.setattr(Foresight, "_expected", lambda *_: _Step(900.0, loop, ""))
    monkeypatch.setattr(Foresight, "_least", lambda *_: _Step(600.0, loop, ""))
    promise = foresight.promise(Change(prefetch=4), 500.0, 800.0)
    (said,) = (fact.text for fact in promise.why)
    assert (
        "predicts about 900 µs per step with prefetch_factor=4, no less than 600 µs, and it takes 1.00 ms now" in said
    )
