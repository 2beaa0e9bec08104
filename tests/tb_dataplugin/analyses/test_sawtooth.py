"""The teeth of DataLoader workers that finish their batches together."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pytest

from tb_dataplugin.analyses.sawtooth import _chance, _fills
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import Capture, Sawtooth, Steps
from tests.trace_builder import TraceBuilder


def steps(waits: list[float], workers: int) -> Steps:
    return capture_of(waits, workers).steps


def capture_of(waits: list[float], workers: int) -> Capture:
    """Steps of 100 us that wait as long as is said."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": workers}])
    for number, wait in enumerate(waits):
        builder.step(100 * number, 100).wait(100 * number, wait)
    return analyse(builder.trace()).capture


def test_every_fourth_step_of_four_workers_stands_out() -> None:
    found = steps([60, 1, 1, 1] * 4, 4)
    assert found.HasField("sawtooth")
    assert (found.sawtooth.period, list(found.sawtooth.steps)) == (4, [1, 5, 9, 13])
    assert found.sawtooth.data_wait_us == 240 and found.sawtooth.share == 240 / 252
    said = "1 step in 4 has 95.2% of the data wait, as where the 4 DataLoader workers finish their batches at about the"
    assert found.sawtooth.sentence.startswith(said), "no batch is known"


def turns(slow: float, swap: bool = False, early: float = 0) -> str:
    """What is said of two workers that take turns in 24 steps, the second of which needs so long for a batch (the
    first 10 us), and whose batches are waited for; or the other one's. `early`: by how much sooner the first one's are
    finished.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}]).worker(0).worker(1)
    for number in range(24):
        start, is_slow = 100 * number, number % 2 == 1
        wait, takes = (60 if is_slow != swap else 1), slow if is_slow else 10.0
        builder.step(start, 100).wait(start, wait, "wait::DataLoader")
        finished = start + wait - 1 - (0 if is_slow else early)
        builder.batch(number, number % 2, start - 300, finished - takes, finished, start + wait)
    return analyse(builder.trace()).capture.steps.sawtooth.sentence


def test_it_is_the_slow_worker_s_turn_where_one_is_slow() -> None:
    assert turns(80).endswith("of the data wait: DataLoader worker 1 needs 80.0 µs for a batch, the other one 10.0 µs.")
    assert turns(10.5).endswith("the 2 DataLoader workers finish their batches at about the same time.")
    assert turns(80, swap=True).endswith("of the data wait."), "the waits are for the other one's batches"


@pytest.mark.parametrize(("early", "later"), ((120, "79.0 µs"), (150, "109 µs")))
def test_workers_that_finish_by_turns_do_not_finish_at_the_same_time(early: float, later: str) -> None:
    """A stranger's two finished a third of a round apart; two that finish evenly by turns are half a round apart."""
    assert turns(10.5, early=early).endswith(
        "of the data wait: in 11 of 11 rounds (one batch of each DataLoader worker) that of worker 1 is finished last, "
        f"a median of {later} after the other one."
    )


def slow_turns(slow: set[int]) -> str:
    """What is said of two workers whose batches wait for those of worker 0, and take 60 us longer in collate where they
    are slow.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}]).worker(0).worker(1)
    for number in range(32):
        start, collate = 100 * number, 80 if number in slow else 20
        wait, finished = (60, start + 59) if number % 2 == 0 else (1, start - 120)
        builder.step(start, 100).wait(start, wait, "wait::DataLoader")
        spans = {"sample::Docs": (finished - 130, 40), "collate::pad": (finished - collate, collate - number % 3)}
        builder.batch(number, number % 2, start - 500, finished - 130, finished, start + wait, spans)
    return analyse(builder.trace()).capture.steps.sawtooth.sentence


def test_slow_batches_that_always_come_to_one_worker_are_named_with_their_stage() -> None:
    said = slow_turns(set(range(0, 32, 4)))
    assert "that of worker 0 is finished last, a median of 79.0 µs after the other one. In each 4th batch " in said
    assert said.endswith(
        "collate::pad has a self time of 79.1 µs, in others of 19.0 µs: 4 is a multiple of the number of DataLoader "
        "workers, so worker 0 builds all of these."
    )


@pytest.mark.parametrize("slow", (range(0), (0, 3, 7, 8, 13, 18, 21, 28), range(1, 32, 4)))
def test_slow_batches_of_any_worker_and_of_the_other_one_are_no_reason(slow: Iterable[int]) -> None:
    assert slow_turns(set(slow)).endswith("after the other one.")


def test_the_steps_are_those_that_the_share_is_of() -> None:
    """Also one of them that waits for less than the mean: the picture marks what the sentence counts."""
    found = steps([*[60.0, 1.0, 1.0, 1.0] * 4, 5.0, 1.0, 1.0, 1.0], 4).sawtooth
    assert list(found.steps) == [1, 5, 9, 13, 17]
    assert found.share == 245 / 260


def test_even_waits_few_steps_small_waits_and_unknown_workers_are_no_sawtooth() -> None:
    assert steps([20] * 16, 4).sawtooth == Sawtooth()
    assert steps([60, 1] * 2, 2).sawtooth == Sawtooth()
    assert steps([1, 0.1] * 8, 2).sawtooth == Sawtooth()
    assert steps([60, 1] * 8, 0).sawtooth == Sawtooth()


def test_few_steps_that_have_most_of_it_are_not_every_second_one() -> None:
    """As those in which another DataLoader is waited for: they happen to be at the same place of all rounds."""
    waits = [60.0 if number % 12 == 0 else 1.0 for number in range(36)]
    found = steps(waits, 2).sawtooth
    assert (found.period, list(found.steps)) == (12, [1, 13, 25])
    assert "DataLoader worker" not in found.sentence


def test_with_two_workers_one_step_must_have_nearly_all() -> None:
    assert steps([70, 30] * 8, 2).sawtooth == Sawtooth()
    assert steps([90, 10] * 8, 2).sawtooth.period == 2


def test_what_first_batches_of_epochs_wait_for_is_no_part_of_the_pattern() -> None:
    def found(first: int | None) -> Steps:
        builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}])
        for number, wait in enumerate([100, 10, 10, 10, 100, 10, 10, 10, 200, 10, 10, 10, 100, 10, 10, 10]):
            builder.step(1000 * number, 1000)
            builder.wait(1000 * number, wait, f"wait::L{' (first batch)' if number == first else ''}")
        return analyse(builder.trace()).capture.steps

    assert found(None).sawtooth.period == 2
    assert found(8).sawtooth == Sawtooth(), "without it no other step stands out so much"


def test_one_long_wait_is_no_pattern_and_is_said_in_the_verdict() -> None:
    waits = [90.0, 5.0] + [9.0, 5.0] * 7
    capture = capture_of(waits, 2)
    assert not capture.steps.HasField("sawtooth")
    assert "Step 1 alone has 46.6% of the data wait: choose other steps to see them without it." in (
        capture.verdict.sentence
    )
    assert "alone has" not in capture_of([30.0, 5.0] + [9.0, 5.0] * 7, 2).verdict.sentence


def test_few_steps_at_regular_distances_that_have_most_of_the_wait_are_said() -> None:
    """A file of 20 batches is read by each 20th step, before the 5th first."""
    waits = [3.0 + number % 3 for number in range(50)]
    waits[5], waits[25], waits[45] = 94, 79, 66
    capture = capture_of(waits, 0)
    found = capture.steps.sawtooth
    assert (found.period, list(found.steps)) == (20, [6, 26, 46])
    clause = "3 of 50 steps, each 20th, have 56.1% of the data wait"
    assert found.sentence.startswith(f"{clause}: steps 6, 26, 46. ")
    assert f" {clause}." in capture.verdict.sentence


def test_few_steps_at_other_distances_are_chance() -> None:
    waits = [3.0] * 50
    waits[5], waits[18], waits[45] = 94, 79, 66
    assert steps(waits, 0).sawtooth == Sawtooth()
    short = [3.0] * 10
    short[1] = short[4] = short[7] = 80
    assert steps(short, 0).sawtooth == Sawtooth(), "so do three of ten steps in one of nine times"


def test_the_chance_of_regular_distances_is_that_of_all_choices() -> None:
    for count, few in ((12, 4), (9, 3), (15, 5)):
        every = list(combinations(range(count), few))
        regular = [one for one in every if (gaps := np.diff(one)).max() - gaps.min() <= 1 and _fills(one, count)]
        assert _chance(count, few) == pytest.approx(len(regular) / len(every))


def test_regular_distances_of_the_number_of_workers_are_left_to_the_sawtooth() -> None:
    waits = [30.0, 8, 8, 8] * 8
    assert steps(waits, 4).sawtooth == Sawtooth()
    assert steps(waits, 3).sawtooth.period == 4


def test_one_step_in_each_epoch_is_no_pattern_of_the_data() -> None:
    """Two workers have two of an epoch's three batches at once; the third has to wait for another round."""

    def found(*, epochs: bool) -> Capture:
        loader = {"num_workers": 2, "batch_size": 8, "persistent_workers": True}
        builder = TraceBuilder().annotated(loaders=[loader]).worker(0, -500).worker(1, -490)
        for number in range(24):
            place, at = number % 3 if epochs else number, 1000 * number
            builder.epoch = number // 3 if epochs else 0
            wait = (900 if epochs else 10, 1, 300)[number % 3]
            name = "wait::DataLoader (first batch)" if epochs and not place else "wait::DataLoader"
            builder.step(at, 1000).wait(at, wait, name)
            builder.batch(place, place % 2, at - 50, at + wait - 500, at + wait - 1, at + wait)
        return analyse(builder.trace()).capture

    assert found(epochs=False).steps.sawtooth.period == 3
    capture = found(epochs=True)
    assert capture.loader.apart.starts_us
    assert not capture.steps.HasField("sawtooth") and "each 3rd" not in capture.verdict.sentence


@pytest.mark.parametrize(("finished", "is_tooth"), [(-5, False), (59, True)])
def test_every_second_wait_is_none_of_the_workers_pace_where_its_batch_was_finished(
    finished: float, is_tooth: bool
) -> None:
    """Steps of 100 us, of which every second waits for 60 us."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}]).worker(0).worker(1)
    for number in range(16):
        begin, wait = 100.0 * number, 1.0 if number % 2 else 60.0
        done = begin - 5 if number % 2 else begin + finished
        builder.step(begin, 100).wait(begin, wait, "wait::DataLoader")
        builder.batch(number, number % 2, begin - 150, begin - 100, done, begin + wait)
    assert analyse(builder.trace()).capture.steps.HasField("sawtooth") == is_tooth


def slow_at(steps_with: tuple[int, ...], sampler: str) -> str:
    """What is said of 24 steps of which these wait for a batch with a sample (index 100 + its step) of 70 ms."""
    loader = {"num_workers": 1, "batch_size": 1, "sampler": sampler}
    builder, at = TraceBuilder().annotated(loaders=[loader]).worker(0), 100_000.0
    for number in range(24):
        build = 70_000.0 if number in steps_with else 1_000.0
        wait = build + 100
        builder.step(at, wait + 5_000).wait(at, wait, "wait::DataLoader")
        builder.batch(number, 0, at - 1_000, at, at + build, at + wait - 10, {"sample::Birds": (at + 5, build - 10)})
        builder.events[-1]["args"]["index"] = 100 + number
        at += wait + 5_000
    return analyse(builder.trace()).capture.steps.sawtooth.sentence


def test_slow_samples_of_a_random_order_are_no_rhythm() -> None:
    said = slow_at((5, 11, 18), "RandomSampler")
    assert said.startswith("3 of 24 steps have 9") and "each 6th" not in said
    assert said.endswith(": steps 6, 12, 19, each with a slow sample in its batch (index 105, 111, 118).")
    assert "3 of 24 steps, about each 6th, have" in slow_at((5, 11, 18), "SequentialSampler")
