from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tb_dataplugin.findings.epoch_length import steps_between
from tb_dataplugin.findings.signals import Signals
from tests.tb_dataplugin.findings.cases import abstentions, capture_of, evidence_of, finding_in, finding_of, signals_of
from tests.trace_builder import TraceBuilder


def epochs(**loader: Any) -> TraceBuilder:
    settings = {"num_workers": 1, "batch_size": 1, "persistent_workers": False, **loader}
    builder = TraceBuilder().annotated(loaders=[settings]).worker(0).step(0, 1000)
    first = "wait::DataLoader (first batch)"
    return builder.wait(0, 100, first).batch(0, 0, 0, 0, 99, 99).step(1000, 1000).wait(1000, 200, first)


def test_an_epoch_that_starts_its_workers_again() -> None:
    said = finding_in(epochs(), "slow_first_batch")
    assert said.gain_us_per_step == 100  # 200 us in one of two steps; the very first start is not to be saved
    assert "persistent_workers=True" in said.code


def test_the_bound_is_of_the_starts_for_what_workers_keep_in_memory_may_save_more() -> None:
    (finding,) = (each for each in capture_of(epochs()).findings if each.rule == "slow_first_batch")
    assert finding.gain_text.startswith("saves up to 100 µs per step of epoch starts (")
    assert "What that saves besides is unknown" in finding.advice


def test_an_epoch_inside_another_one_of_the_same_loader_needs_a_loader_of_its_own() -> None:
    """Both would share one iterator of persistent workers."""
    after = epochs().next_epoch().batch(0, 0, 1000, 1010, 1190, 1199)
    assert "a DataLoader of its own" not in finding_in(after, "slow_first_batch").advice
    after.epoch = 0
    after.batch(1, 0, 100, 110, 150, 1250)
    assert finding_in(after, "slow_first_batch").advice.startswith(
        "First give the loop inside the other one a DataLoader"
    )


def test_persistent_workers_are_not_recommended_twice_nor_for_the_only_start() -> None:
    assert finding_of(epochs(persistent_workers=True), "slow_first_batch") is None
    only = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 1000)
    assert "first epoch" in abstentions(only.wait(0, 200, "wait::DataLoader (first batch)"))["slow_first_batch"]


def test_an_epoch_that_no_mark_shows_begins_with_its_batch_0() -> None:
    """As under a profiler that follows DataLoader's own next()."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1, "persistent_workers": False}])
    builder.worker(0).step(0, 1000).wait(100, 100, "wait::DataLoader").batch(1, 0, 0, 0, 190, 199)
    builder.next_epoch().step(1000, 1000).wait(1000, 300, "wait::DataLoader").batch(0, 0, 1000, 1150, 1290, 1299)
    said = finding_in(builder, "slow_first_batch")
    assert said.gain_us_per_step == (300 - 140) / 2  # the batch itself takes 140 us to build
    assert "caches" in said.advice


def test_iter_which_starts_the_workers_is_in_no_bound_where_the_wait_begins_behind_it() -> None:
    """`prof.steps` has it in its wait; torch's own next() has not, and nothing else was recorded of it."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1, "persistent_workers": False}])
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    builder.worker(0).step(0, 1000).wait(100, 100, name).batch(1, 0, 0, 0, 190, 199)
    builder.next_epoch().step(1000, 1000).wait(1500, 300, name).batch(0, 0, 1500, 1650, 1790, 1799)
    capture = capture_of(builder)
    assert capture.loader.wait_source == "DataLoader"
    (finding,) = (each for each in capture.findings if each.rule == "slow_first_batch")
    assert " of epoch starts, without iter(loader) (" in finding.gain_text
    assert any("in iter(loader), which is not recorded" in fact.text for fact in finding.evidence)
    (marked,) = (each for each in capture_of(epochs()).findings if each.rule == "slow_first_batch")
    assert not any("iter(loader)" in text for text in (marked.gain_text, *(fact.text for fact in marked.evidence)))


def test_the_verdict_calls_iter_no_training_step_where_it_starts_workers() -> None:
    for persistent in (False, True):
        loader = {"num_workers": 1, "batch_size": 1, "persistent_workers": persistent}
        builder = TraceBuilder().annotated(loaders=[loader]).worker(0)
        name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        for number in range(9):
            at = 1000 * number
            builder.step(at, 1000).wait(at + 100, 100, name).batch(number + 5, 0, at, at, at + 190, at + 199)
        builder.next_epoch().step(9000, 5000).wait(9500, 3000, name).batch(0, 0, 9500, 9650, 12490, 12499)
        sentence = capture_of(builder).verdict.sentence
        assert ("in the training step or in iter(loader) for" in sentence) is not persistent, sentence


def test_a_first_batch_that_loads_what_others_find_loaded_costs_no_more_than_they_do() -> None:
    """Workers that live on have it."""
    builder = epochs().batch(1, 0, 0, 120, 150, 160).batch(2, 0, 0, 170, 200, 210)
    said = finding_in(builder.next_epoch().batch(0, 0, 1000, 1010, 1190, 1199), "slow_first_batch")
    assert said.gain_us_per_step == (200 - 30 - 69 / 2) / 1.5  # an epoch of 3 batches, 2 of which a step takes


def test_what_an_iterable_dataset_does_first_it_does_in_every_epoch() -> None:
    """It may fill a buffer of its own, whichever process it lives in."""
    builder = epochs(iterable=True).next_epoch().batch(0, 0, 1000, 1010, 1190, 1199)
    assert finding_of(builder, "slow_first_batch") is None
    much = epochs(iterable=True).next_epoch().batch(0, 0, 1000, 1120, 1190, 1199)
    assert finding_in(much, "slow_first_batch").gain_us_per_step == 200 - 70  # an epoch of one batch


@pytest.mark.parametrize(
    ("repeated", "steps", "length", "before", "expected"),
    [
        (1, (19,), 40, None, 40),  # a window of 50 steps, in which the next start of the 40 had not come yet
        (1, (2,), 400, None, 400),
        (2, (5, 45), 40, None, 40),
        (3, (5, 25, 45), 40, 30.0, 20),  # the loop breaks off each epoch
        (1, (19,), None, None, 50),
        (1, (19,), None, 80.0, 80),
        (1, (19,), 400, 30.0, 30),  # the loop broke off the one epoch that it shows
    ],
)
def test_an_epoch_has_as_many_steps_as_it_has_whatever_the_window_is(
    repeated: int, steps: tuple[int, ...], length: int | None, before: float | None, expected: float
) -> None:
    signals = signals_of(epochs())
    assert signals.apart and signals.apart.starts and signals.loader and signals.throughput
    starts = replace(signals.apart.starts, repeated=repeated, steps=steps, steps_before=before)
    loader = replace(signals.loader, sampler_length=None if length is None else 16 * length)
    seen: Signals = replace(signals, step_count=50, loader=loader, throughput=replace(signals.throughput, samples=800))
    found = steps_between(seen, starts)
    assert found is not None and found.steps == pytest.approx(expected)
    assert found.is_known is (expected != 50)


def short_window(*numbers: int) -> TraceBuilder:
    """Two steps; an epoch's start is in the second. The window has these batches of the epoch before it."""
    builder = epochs(iterable=True)
    for column in builder.batches.values():
        column.clear()
    for at, number in enumerate(numbers):
        builder.batch(number, 0, at - 9, at - 8, at - 5, 800 + at)
    return builder.next_epoch().batch(0, 0, 1000, 1150, 1190, 1199)


def test_the_batches_of_the_epoch_before_say_how_long_an_epoch_is() -> None:
    """A window of fewer steps than an epoch has, of a dataset of unknown length. Number 3 was left out,
    as its DataLoader worker was at its end.
    """
    (said,) = (each for each in capture_of(short_window(2, 4)).findings if each.rule == "slow_first_batch")
    assert any("can go" in fact.text and "(once in 3 steps)" in fact.text for fact in said.evidence)
    assert said.gain_us_per_step == pytest.approx((200 - 40) / 4 * 1.5)  # 4 batches, of which the 2 steps take 3


def test_a_window_is_no_epoch_where_nothing_says_how_long_one_is() -> None:
    (said,) = (each for each in capture_of(short_window()).findings if each.rule == "slow_first_batch")
    text = next(fact.text for fact in said.evidence if "can go" in fact.text)
    assert "(counted as once in 2 steps, as in the window: how many an epoch has is unknown)" in text


def started_anew(init: tuple[float, float] | None, build: float = 30, steps: int = 8, **loader: Any) -> TraceBuilder:
    """Two epochs of so many steps of 1 ms. The second's DataLoader worker runs after 800 us of 1 ms of data wait."""
    settings = {"num_workers": 1, "batch_size": 1, "persistent_workers": False, "start_method": "fork", **loader}
    builder = TraceBuilder().annotated(loaders=[settings | {"sampler_length": steps}], host={"cores": 8})
    for epoch in range(2):
        at = 1000.0 * (steps + 1) * epoch
        builder.worker(0, started=at + 800, pid=100 + epoch)
        for number in range(steps):
            begin = at + 1000 * number + (1000 if number else 0)
            wait, name = (1000, "wait::DataLoader (first batch)") if not number else (10, "wait::DataLoader")
            begun = begin + 800 if not number else begin - build - 100
            ready = begin + 990 if not number else begun + build
            builder.batch(number, 0, at, begun, ready, begin + wait - 1)
            builder.wait(begin, wait, name).step(begin, 1000 if number else 2000)
        builder.next_epoch()
    if init is not None:
        for worker in builder.workers:
            worker["init_us"] = [worker["started_us"] - 800 + at for at in init]
    return builder


def test_what_the_users_worker_init_fn_has_of_a_start_is_named() -> None:
    """A stranger's, which imported SciPy: 1.26 s of 1.28, and nothing said so."""
    said = finding_in(started_anew((50, 790)), "slow_first_batch")
    assert any(
        "until a DataLoader worker ran (740 µs of that in its worker_init_fn)" in text for text in evidence_of(said)
    )
    assert "such as imports, do before iter(loader): forked workers then have it" in said.advice
    spawned = finding_in(started_anew((50, 790), start_method="spawn"), "slow_first_batch")
    assert "worker_init_fn" not in spawned.advice and any("worker_init_fn" in text for text in evidence_of(spawned))


@pytest.mark.parametrize("init", [None, (700, 720), (790, 50)])
def test_one_that_takes_next_to_nothing_is_not_mentioned(init: tuple[float, float] | None) -> None:
    said = finding_in(started_anew(init), "slow_first_batch")
    assert "worker_init_fn" not in said.advice + "".join(evidence_of(said))


def test_what_a_worker_does_whose_batch_nobody_waits_for_holds_nothing_up() -> None:
    builder = started_anew(None).worker(1, started=9_790, pid=200)
    builder.workers[-1]["init_us"] = [9_050, 9_780]
    assert "worker_init_fn" not in "".join(evidence_of(finding_in(builder, "slow_first_batch")))


def test_no_workers_where_they_take_longer_to_start_than_an_epoch_takes_to_build() -> None:
    """A stranger's 20 batches of 28 ms in an epoch, whose workers took 1.3 s to start: 71 s, and 10.8 without any."""
    advice = finding_in(started_anew(None), "slow_first_batch").advice
    assert "num_workers=0: the training thread would build an epoch's batches in about 240 µs, less than the" in advice
    assert "num_workers=0" not in finding_in(started_anew(None, build=200), "slow_first_batch").advice


def test_workers_that_live_on_keep_their_copy_of_the_dataset() -> None:
    said = finding_in(epochs(), "slow_first_batch").advice
    assert "They keep their copy of the dataset, too: what the loop changes in it between epochs" in said


def evaluating(steps: range, each: int = 6, length: int = 12) -> TraceBuilder:
    """Steps of 1 ms that take a batch each, of epochs of that length, and in each sixth one an epoch of the same loader
    of 2 batches. Starts of epochs wait for 200 us.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1, "persistent_workers": False}])
    builder.worker(0)
    begun, own = 0, 0

    def take(epoch: int, number: int, at: int) -> None:
        name = "wait::DataLoader" if number else "wait::DataLoader (first batch)"
        builder.epoch = epoch
        builder.wait(at, 10 if number else 200, name)
        builder.batch(number, 0, at - 20, at - 15, at + 5, at + (9 if number else 199))

    for step in range(steps.stop):
        at = 1000 * step
        builder.step(at, 1000)
        if not step % length:
            own, begun = begun, begun + 1
        take(own, step % length, at)
        if step % each == each - 1:
            take(begun, 0, at + 300)
            take(begun, 1, at + 600)
            begun += 1
    return builder


def test_an_evaluation_of_the_same_loader_begins_epochs_at_distances_of_its_own() -> None:
    """An epoch of the loop starts in step 13, one inside it in steps 6, 12 and 18: no distance of all is the usual."""
    signals = signals_of(evaluating(range(23)))
    assert signals.apart is not None and signals.apart.starts is not None
    starts = signals.apart.starts
    assert len(starts.inside) == 3 and len(starts.outside) == 1
    assert starts.inside[1] - starts.inside[0] == starts.inside[2] - starts.inside[1] == 6
    found = steps_between(signals, starts)
    assert found is not None and found.steps == pytest.approx(1 / (1 / 12 + 1 / 6), rel=0.05) and found.is_known
    assert found.text == "once in 4 steps on average: for the loop once in 12, and for one inside it once in 6"


def test_epochs_inside_the_loop_alone_come_as_they_do() -> None:
    signals = signals_of(evaluating(range(23), length=100))
    assert signals.apart is not None and signals.apart.starts is not None
    found = steps_between(signals, signals.apart.starts)
    assert found is not None and found.steps == 6 and found.text == "once in 6 steps"
