"""Starts of epochs and another loader's waits are none of the training loop's as it goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotate.trace_format import Stage
from tb_dataplugin.findings.apart_signals import ApartSignals, OtherLoaderSignals
from tb_dataplugin.findings.of_decoded import times_before
from tb_dataplugin.findings.stage_signals import StageWait
from tb_dataplugin.findings.verdict import judge_run
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.options import StepRange
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.report.rows import row_of
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, results_of, signals_of
from tests.trace_builder import TraceBuilder

STEP = 10_000
TRAIN = {"name": "DataLoader", "dataset": "Clicks", "num_workers": 0, "batch_size": 4, "iterated": 1}
EVALUATION = {**TRAIN, "batch_size": 16}


def built_here(builder: TraceBuilder, at: int, samples: int, each: int = 1_000) -> int:
    """The training thread builds a batch; when it has it."""
    builder.wait(at, samples * each, "wait::DataLoader")
    for sample in range(samples):
        builder.stage("sample::Clicks", at + sample * each, each)
    return at + samples * each


def with_evaluation(
    steps: int = 24, every: int = 8, batches: int = 3, samples: int = 4, work: int = 1_000
) -> TraceBuilder:
    """Steps of 10 ms that build 4 `samples` for 4 ms; one in `every` iterates another loader, 3 batches of 16, each
    with `work` after it.
    """
    builder, at = TraceBuilder().annotated(loaders=[EVALUATION, TRAIN], host={"cores": 8}), 0
    for number in range(1, steps + 1):
        begin, at = at, built_here(builder, at, samples) + 6_000
        if number % every == 0:
            for _ in range(batches):
                at = built_here(builder, at, 16) + work
            builder.wait(at, 100, "wait::DataLoader")  # the end of its epoch
            at += 1_000
        builder.step(begin, at - begin)
    return builder


def test_the_loader_of_most_steps_is_the_training_loops() -> None:
    """The evaluation's waits are longer (144 ms of 240), and it gives more samples (144 of 240)."""
    capture = capture_of(with_evaluation())
    assert (capture.loader.batch_size, capture.throughput.samples) == (4, 96)
    assert capture.throughput.prepare_per_s == pytest.approx(1_000)
    single = next(finding for finding in capture.findings if finding.rule == "single_process_loading")
    assert single.title.startswith("The DataLoader of Clicks (batches of 4) has no workers")
    assert single.gain_us_per_step <= 4_000


def test_a_bound_of_workers_has_that_they_build_ahead_in_an_evaluation() -> None:
    """Two workers build a batch in 10 ms, and the evaluations take 6 ms per step: more than 16 of 20 ms of data
    wait may go, which is all that they could save without these. Receiving a batch is taken to need 0.7 ms.
    """
    builder = with_evaluation(samples=20)
    builder.top_level["dataPipeline"]["host"]["cores"] = 2
    (single,) = (found for found in capture_of(builder).findings if found.rule == "single_process_loading")
    assert "num_workers=2" in single.code
    assert 17_000 < single.gain_us_per_step < 20_000 - 700


def test_which_loader_trains_is_no_matter_of_the_steps_that_are_chosen() -> None:
    """Of steps 7 and 8 half take batches of the evaluation's, which are more samples."""
    some = capture_of(with_evaluation(), StepRange(7, 8))
    assert some.loader.batch_size == 4 and some.loader.apart.sentence.startswith("Another DataLoader of Clicks")
    assert not any("batches of 16) has no workers" in finding.title for finding in some.findings)
    one = capture_of(with_evaluation(), StepRange(8, 8))
    assert one.loader.batch_size == 4 and one.throughput.samples == 4


def test_another_loaders_waits_are_said_once_with_their_steps() -> None:
    capture = capture_of(with_evaluation())
    apart = capture.loader.apart
    assert apart.wait_us == 3 * (3 * 16_000 + 100)
    assert apart.sentence == (
        "Another DataLoader of Clicks (batches of 16, num_workers=0), iterated in steps 8, 16 and 24 (an evaluation?), "
        "has 60.0% of the data wait (144 ms of 240 ms); the work for it takes 9.00 ms more."
    )
    assert apart.between_us == 3 * 3 * 1_000
    assert [step.between_us for step in capture.steps.items if step.apart_us] == [3_000] * 3
    assert [step.number for step in capture.steps.items if step.apart_us] == [8, 16, 24]
    assert capture.verdict.sentence.startswith(
        f"{apart.sentence} The training thread waits for data for 39.6% of the rest of the window"
    )
    stage = next(finding for finding in capture.findings if finding.stage == "sample::Clicks")
    assert "96.0 ms of 96.0 ms of data wait of the loop" in evidence_of(stage)
    assert stage.gain_us_per_step == pytest.approx(4_000)


def test_an_evaluations_own_work_is_no_part_of_the_loop() -> None:
    """A stranger's window waited for 54% of its time without the evaluation, and the report said 42."""
    short, long = (capture_of(with_evaluation(work=work)) for work in (1_000, 40_000))
    assert long.loader.apart.between_us == 40 * short.loader.apart.between_us
    assert "39.6% of the rest of the window" in long.verdict.sentence and "39.6%" in short.verdict.sentence
    gains = [[finding.gain_us_per_step for finding in capture.findings] for capture in (short, long)]
    assert gains[0] == pytest.approx(gains[1])


def test_loaders_that_are_in_each_step_are_both_the_loops() -> None:
    builder = TraceBuilder().annotated(loaders=[TRAIN, {**EVALUATION, "dataset": "Unlabelled"}], host={"cores": 8})
    for number in range(12):
        begin = number * 2 * STEP
        built_here(builder, begin, 4)
        builder.wait(begin + 5_000, 3_000, "wait::DataLoader").stage("sample::Unlabelled", begin + 5_000, 3_000)
        builder.step(begin, 2 * STEP)
    assert not capture_of(builder).loader.HasField("apart")


def with_late_worker(ready: int, drawn: int) -> TraceBuilder:
    """An epoch of 12 steps begins with a wait of 400 ms. Its second worker is `ready` for the second batch and builds
    it as fast as any, in 9 ms, once its indices are `drawn`.
    """
    builder = TraceBuilder().annotated(loaders=[PICKLED], host={"cores": 8})
    builder.worker(0, started=391_000).worker(1, started=ready)
    at = 0
    for number in range(12):
        begun = {0: 391_000, 1: max(ready, drawn) + 100}.get(number, at - 8_000)
        done = begun + 9_000
        at_once = {0: 0, 1: drawn}.get(number, begun - 100)
        builder.batch(number, number % 2, at_once, begun, done, done + 50, {"sample::Pets": (0, 9_000)})
        name = "wait::DataLoader" if number else "wait::DataLoader (first batch)"
        builder.wait(at, done + 100 - at, name).step(at, done + 100 - at + STEP)
        at = done + 100 + STEP
    return builder


def test_a_worker_that_still_starts_when_its_batch_is_asked_for_is_the_epochs_start() -> None:
    """A stranger's verdict had "the largest part for startup" of the rest, right behind the epoch's start."""
    late = capture_of(with_late_worker(ready=480_000, drawn=0))
    assert late.loader.apart.wait_us == pytest.approx(400_100 + 489_200 - 410_100)
    assert "startup" not in late.verdict.sentence
    assert "An epoch's start (steps 1 and 2) has" in late.verdict.sentence
    assert [step.number for step in late.steps.items if step.apart_us] == [1, 2]
    given_late = capture_of(with_late_worker(ready=391_000, drawn=430_000))
    assert "An epoch's start (step 1) has" in given_late.verdict.sentence
    assert given_late.loader.apart.wait_us == pytest.approx(400_100), "it was there, without indices"


PICKLED = {"num_workers": 2, "batch_size": 2, "persistent_workers": False, "start_method": "fork"}


def epochs(first: int = 400_000, length: int = 12, end: int = 0, earlier: int = 0, **settings: object) -> TraceBuilder:
    """Two epochs of 12 steps of 10 ms, with new workers. Each batch is waited for for 1 ms, an epoch's first for
    `first`, in which each worker imports for its first sample. After the first epoch its workers end for `end`. It had
    `earlier` batches before these.
    """
    loader = {**PICKLED, "sampler_length": 2 * length, **settings}
    builder, at = TraceBuilder().annotated(loaders=[loader], host={"cores": 8}), 0
    for epoch in range(2):
        for worker in range(2):
            builder.worker(worker, started=at + 10, pid=100 + 10 * epoch + worker)
        for number in range(length):
            wait, name = (first, "wait::DataLoader (first batch)") if not number else (1_000, "wait::DataLoader")
            is_first = number < 2
            begun = at - (9_000 if number else -20) - (first - 20 if number == 1 else 0)
            done = at + wait - 100
            opens = (begun, done - begun - 500) if is_first else (begun, 500)
            rest = (begun + opens[1], done - begun - opens[1])
            place = number + earlier * (epoch == 0)
            builder.batch(
                place, number % 2, begun - 10, begun, done, done + 50, {"read::open": opens, "transform::Flip": rest}
            )
            is_over = end if (epoch, number) == (0, length - 1) else 0
            builder.wait(at, wait, name).step(at, wait + STEP + is_over)
            at += wait + STEP
            if is_over:
                builder.wait(at - 1_000, end, "wait::DataLoader")
                at += end
                for each in builder.workers:
                    each["ended_us"] = at - 2_000
        builder.next_epoch()
    return builder


def of_steady_state(capture: Capture) -> float:
    return capture.loader.wait_us - capture.loader.apart.wait_us


def test_an_epochs_start_is_said_once_and_none_of_the_stages() -> None:
    capture = capture_of(epochs())
    assert capture.loader.apart.epochs == 2
    assert of_steady_state(capture) == 20 * 1_000
    assert capture.verdict.sentence.startswith(
        "The starts of 2 epochs (steps 1 and 13, and 2 more) have 97.6% of the data wait"
    ), "each new worker's first batch is waited for as well"
    assert "of the rest of the window" in capture.verdict.sentence
    titles = [finding.title for finding in capture.findings]
    assert capture.findings[0].rule == "slow_first_batch"
    assert not any("read::open" in title for title in titles)
    assert not any(finding.rule == "small_reads" for finding in capture.findings)


def test_what_each_part_sustains_is_without_first_batches() -> None:
    """10 of 12 batches per epoch read for 0.5 ms; imports for 400 ms are no reading."""
    assert capture_of(epochs()).throughput.read_per_s > 1_000


def test_its_gain_is_per_epoch_over_the_epochs_steps() -> None:
    """Each epoch of 12 steps has one start; a long epoch has as many steps to carry it, whatever the window has."""
    short, long = (
        next(finding for finding in capture_of(builder).findings if finding.rule == "slow_first_batch")
        for builder in (epochs(), epochs(earlier=3 * 12))
    )
    assert short.gain_us_per_step == pytest.approx(4 * long.gain_us_per_step)
    assert capture_rule(epochs(earlier=50_000)) is None
    assert any("can go" in text and "per epoch (once in 12 steps)" in text for text in evidence_of(short))


def capture_rule(builder: TraceBuilder) -> object:
    return next((one for one in capture_of(builder).findings if one.rule == "slow_first_batch"), None)


def test_it_names_what_new_workers_do_once() -> None:
    finding = next(one for one in capture_of(epochs()).findings if one.rule == "slow_first_batch")
    assert "read::open" in finding.advice and "before iter(loader)" in finding.advice
    assert any("build their first batch" in text for text in evidence_of(finding))
    spawned = next(one for one in capture_of(epochs(start_method="spawn")).findings if one.rule == "slow_first_batch")
    assert "before iter(loader)" not in spawned.advice


def test_a_start_as_short_as_any_wait_is_none() -> None:
    assert not results_of(epochs(first=1_000)).loop.apart.epochs


def test_only_what_is_left_out_of_epochs_is_named() -> None:
    """Starts as short as any wait, and an end of 100 ms, in a window of 364 ms; 24 waits of 1 ms are left."""
    capture = capture_of(epochs(first=1_000, end=100_000))
    apart, sentence = capture.loader.apart, capture.verdict.sentence
    assert (apart.epochs, apart.ends, apart.names) == (0, 1, "the epoch's end")
    assert sentence.startswith("The end of an epoch (step 12) has 80")
    assert "start" not in sentence
    gains = [finding.gain_text for finding in capture.findings if "epoch" in finding.gain_text]
    assert gains and all("without the epoch's end)" in text or "without the epoch's end," in text for text in gains)
    assert capture.steps.gains_of == "a step of 11.0 ms, without the epoch's end"
    assert capture.loader.steady_state.sentence.startswith(
        "Epochs start in the window, and the waits for their first batches count as any other. Without the "
        "epoch's end, data wait is 1.00 ms per step"
    )


def test_starts_and_ends_are_both_named_where_both_are_left_out() -> None:
    capture = capture_of(epochs(end=100_000))
    assert (capture.loader.apart.epochs, capture.loader.apart.ends) == (2, 1)
    assert capture.loader.apart.names == "the starts and ends of epochs"
    assert (
        "The starts of 2 epochs and the end of an epoch (steps 1 and 13, and 3 more) have" in capture.verdict.sentence
    )
    (start,) = (finding for finding in capture.findings if finding.rule == "slow_first_batch")
    assert "its part of an epoch's start and end included" in start.gain_share_text
    steady = capture.loader.steady_state.sentence
    assert steady.startswith("Epochs start in the window. Without the starts and ends of epochs, data wait is")


def test_a_row_of_all_captures_says_what_its_numbers_are_without() -> None:
    row = row_of(capture_of(epochs(first=1_000, end=100_000)))
    assert row.gains_of == "a step of 11.0 ms, without the epoch's end"
    assert row.loop_wait.endswith("% without the epoch's end")
    plain = row_of(capture_of(epochs(first=1_000)))
    assert (plain.gains_of, plain.loop_wait) == ("", "")


def test_what_has_little_of_the_data_wait_stands_behind_the_message_and_next_to_nothing_in_no_verdict() -> None:
    """The start of the epoch has a tenth of the data wait, the evaluation 0.5% of the window."""
    starts = signals_of(epochs()).apart
    assert starts is not None and starts.starts is not None and starts.leads
    little = replace(starts.starts, wait_us=9_000.0, epochs=1, steps=(1,), in_steps=(1,))
    other = OtherLoaderSignals(LoaderInfo(dataset="Clicks"), 1_000.0, (8,))
    signals = replace(signals_of(epochs()), apart=ApartSignals(90_000.0, little, (other,), 200_000.0))
    sentence = judge_run(signals).sentence
    assert sentence.startswith("The training thread")
    assert "of the window without the epoch's start" in sentence and "Clicks" not in sentence
    assert sentence.endswith("An epoch's start (step 1) has 10.0% of the data wait (9.00 ms of 90.0 ms).")


def test_the_rest_of_the_transfer_is_not_called_as_the_whole() -> None:
    parts = (
        StageWait("sample::A", Stage("sample", "A"), 60.0, 60.0, 0.6),
        StageWait("transfer::deserialise", Stage("transfer", "deserialise"), 30.0, 30.0, 0.3),
        StageWait("transfer", None, 10.0, 10.0, 0.1),
    )
    signals = replace(signals_of(with_evaluation()), apart=None, unsteady=None, waits_by_stage=parts)
    said = [fact.text for fact in judge_run(signals).evidence]
    assert any(text.startswith("the rest of transfer, while the batch was on its way: ") for text in said)
    assert not any(text.startswith("transfer: ") for text in said)


def test_parts_of_the_transfer_that_are_not_named_are_not_called_its_rest() -> None:
    parts = (
        StageWait("transfer::deserialise", Stage("transfer", "deserialise"), 50.0, 50.0, 0.5),
        StageWait("sample::A", Stage("sample", "A"), 25.0, 25.0, 0.25),
        StageWait("decode::B", Stage("decode", "B"), 12.0, 12.0, 0.12),
        StageWait("transfer::queue", Stage("transfer", "queue"), 8.0, 8.0, 0.08),
        StageWait("transfer", None, 5.0, 5.0, 0.05),
    )
    signals = replace(signals_of(with_evaluation()), apart=None, unsteady=None, waits_by_stage=parts)
    said = [fact.text for fact in judge_run(signals).evidence]
    assert any(text.startswith("other parts of transfer: 13") for text in said)
    assert not any(text.startswith("the rest of transfer") for text in said)


def test_what_stages_before_a_crop_take_says_what_it_is_without() -> None:
    """Tables of stages have the starts of epochs in them, and shares of all the data wait."""
    signals = signals_of(epochs())
    assert signals.apart and signals.stages
    (said, *_) = [fact.text for fact in times_before(signals, signals.stages[:1])]
    assert " self time without the starts of epochs, " in said and said.endswith(" of the data wait of the loop")
