"""While an evaluation runs inside an epoch, the loop's DataLoader workers build on; between two epochs they can't."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.steady_state import _built_in
from tb_dataplugin.findings.read_signals import read_signals
from tb_dataplugin.report.report_pb2 import Finding
from tb_dataplugin.whatif.fitting import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.analyses.test_apart import with_evaluation
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder

TRAIN = {"name": "DataLoader", "dataset": "Clicks", "num_workers": 1, "batch_size": 4, "iterated": 2}
EVALUATION = {"name": "DataLoader", "dataset": "Views", "num_workers": 0, "batch_size": 16, "iterated": 2}


def trained(*evaluated_after: int, build: int = 8_000, samples: int = 16) -> TraceBuilder:
    """Two epochs of 6 steps of 10 ms, whose batches a worker builds for 8 ms each, two ahead; an evaluation of 32 ms:
    2 ms per sample.
    """
    builder, at, free = TraceBuilder().annotated(loaders=[TRAIN, EVALUATION], host={"cores": 8}).worker(0), 0, 0
    for epoch in range(2):
        builder.epoch, drawn = epoch, [at, at]
        for number in range(6):
            begin, started = at, max(free, drawn[number])
            free = started + build
            consumed = max(at, free) + 10
            spans = {"sample::Clicks": (started, build)}
            builder.batch(number, 0, drawn[number], started, free, consumed, spans)
            builder.wait(at, consumed - at + 10, "wait::DataLoader")
            drawn.append(consumed)
            at = consumed + 10_000
            if number in evaluated_after:
                builder.wait(at, 2_000 * samples, "wait::DataLoader")
                for sample in range(samples):
                    builder.stage("sample::Views", at + 2_000 * sample, 2_000)
                at += 2_000 * samples + 10
            builder.step(begin, at - begin)
    return builder


def ahead_ms(results: Results) -> float:
    return results.loop.apart.ahead.total_ns / 1e6


def loop_of(results: Results) -> Loop:
    loop = fit_loop(results)
    assert isinstance(loop, Loop)
    return loop


@pytest.mark.parametrize(("after", "expected"), [(2, 64), (5, 0)])
def test_an_evaluation_inside_an_epoch_and_one_between_two(after: int, expected: float) -> None:
    results = results_of(trained(after))
    assert ahead_ms(results) == pytest.approx(expected)
    assert float(loop_of(results).paused_ns.sum()) / 1e6 == pytest.approx(expected)


def test_workers_are_not_idle_where_there_is_nothing_to_build() -> None:
    """They limit, whatever the evaluations between epochs take (with these, they were busy for 67% of the window)."""
    workers = results_of(trained(5, build=20_000)).flow.workers
    assert workers is not None and workers.busy > 0.8


def test_a_share_of_the_workers_time_names_what_it_is_of() -> None:
    """A stranger read "busy 93.8% of the window" where the tile below had 54.8%, of all of their lifetimes."""
    said = capture_of(trained(5, build=20_000)).worker_summaries[0].sentence
    busy = "busy 92.3% of the rest of the window (74.1% of the whole window) and the training thread still waits 53.9%"
    assert said.startswith("Without the other DataLoader, ") and f"{busy} of the rest of the window for its" in said
    workers = read_signals(results_of(trained(5, build=20_000))).workers
    assert workers is not None and workers.of_whole == "of the window without the other DataLoader"
    plain = read_signals(results_of(trained(build=20_000))).workers
    assert plain is not None and plain.of_whole == "of the window"


def test_time_saved_in_an_evaluation_is_waited_out_in_the_loop_where_its_workers_limit() -> None:
    """Workers that need 20 ms per step build all the while; those that need 8 leave the evaluations' time free."""
    for build, is_limited in ((20_000, True), (8_000, False)):
        capture = capture_of(trained(2, build=build))
        (found,) = (each for each in capture.findings if each.rule == "other_loader_waits")
        assert ("beyond that the loop waits for its own DataLoader workers" in found.advice) is is_limited
        assert (found.severity == "high") is not is_limited


def test_a_shorter_evaluation_saves_all_of_its_waits_where_the_loops_workers_need_less_than_that() -> None:
    """They need 96 of 600 ms. A bound that left them the time of the evaluations was exceeded by a stranger's run."""
    (found,) = (each for each in capture_of(trained(2, samples=100)).findings if each.rule == "other_loader_waits")
    assert "can be gained by that" not in found.advice


def test_what_a_step_alone_could_sustain_has_the_evaluations_that_the_run_has() -> None:
    inside, between = (capture_of(trained(after)) for after in (2, 5))
    assert inside.throughput.device_per_s == pytest.approx(48 / (0.12 + 0.064), rel=0.01)
    assert between.throughput.device_per_s == pytest.approx(48 / 0.12, rel=0.01)
    (note,) = (note for note in inside.diagnostics if note.code == "rates_with_others")
    assert note.message.endswith("the loop's own goes on building meanwhile")
    assert not any(note.code == "rates_with_others" for note in between.diagnostics)


def test_without_workers_nothing_is_built_in_an_evaluation_and_nothing_says_so() -> None:
    (note,) = (note for note in capture_of(with_evaluation()).diagnostics if note.code == "rates_with_others")
    assert note.message.endswith("% of the window")


def test_what_steps_iterate_inside_epochs_counts_where_it_falls_between_two_as_well() -> None:
    """A stranger evaluated every 8 steps in epochs of 16: a step "with the other DataLoader" had half of it."""
    results, inside = results_of(trained(2, 5)), results_of(trained(2))
    assert results.loop.apart.recurring.total_ns / 1e6 == pytest.approx(4 * 32)
    assert ahead_ms(results) == pytest.approx(2 * 32)
    loop = loop_of(results)
    assert loop.others_us == pytest.approx(2 * loop_of(inside).others_us, rel=0.01)
    assert capture_of(trained(2, 5)).throughput.device_per_s == pytest.approx(48 / (0.12 + 0.128), rel=0.01)
    texts = [
        one.gain_text for one in capture_of(trained(2, 5)).findings if "with the other DataLoader" in one.gain_text
    ]
    assert texts and all("of 21.3 ms with the other" in text for text in texts)


def test_of_an_evaluation_workers_use_what_fills_their_queue() -> None:
    """Two batches of 8 ms in 32 ms, at most: a stranger's loop of 37 ms per step had 22.6 "in the steady state", as if
    its workers built all through an evaluation.
    """
    results = results_of(trained(2))
    assert results.workers is not None and results.steps is not None
    used = _built_in(results.workers, results.use.in_workers, results.loop.apart.ahead, results.steps)
    assert ahead_ms(results) == pytest.approx(2 * 32)
    assert 0 < used.sum() / 1e6 <= 2 * 16


def test_until_the_evaluations_workers_have_ended_is_no_part_of_the_loop() -> None:
    """A stranger's `del iterator` took 40 ms of each evaluation, which were the training step's."""
    builder = trained(2)
    plain = capture_of(builder)
    for number, step in enumerate(step for step in plain.steps.items if step.apart_us > 30_000):
        end = step.start_us + step.duration_us
        builder.worker(number, started=end - 30_000, loader=1, pid=500 + number, ended=end - 4)
    assert plain.loader.apart.between_us == 0
    assert capture_of(builder).loader.apart.between_us == pytest.approx(2 * 6)


def test_samples_per_second_of_a_prediction_are_with_the_evaluations_that_workers_build_ahead_in() -> None:
    loop = loop_of(results_of(trained(2)))
    assert loop.others_us == pytest.approx(64_000 / 12)


def test_times_as_fast_is_of_the_step_with_the_evaluation_and_says_so() -> None:
    """2.10 ms less in steps of 12.1 is 17% of these, and 12% of the 17.4 ms that go by per step."""
    capture = capture_of(trained(2, build=13_000))
    text = next(found.gain_text for found in capture.findings if found.rule == "leading_stage")
    assert text.endswith(" the other DataLoader; 12.0% of 17.4 ms with the other DataLoader, 1.1x as fast)")


def test_a_queue_that_is_full_in_evaluations_may_be_longer() -> None:
    """Batches are all alike, so there is nothing to smooth out. Between epochs no queue is filled."""

    def found(evaluated_after: int) -> list[Finding]:
        findings = capture_of(trained(evaluated_after, build=13_000, samples=40)).findings
        return [each for each in findings if each.rule == "prefetch_too_shallow"]

    (inside,) = found(2)
    assert inside.advice.startswith("While the loop waits for another DataLoader, the queue is full")
    assert inside.code == "DataLoader(..., prefetch_factor=4)"
    assert not found(5)
