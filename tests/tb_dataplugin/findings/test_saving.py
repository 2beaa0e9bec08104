"""What a change saves at most, where it is not simply the time that its cause took."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotate.trace_format import METADATA_KEY, Stage, StageKind
from tb_dataplugin.analyses.taken_cpus import TakenCpus
from tb_dataplugin.findings import saving
from tb_dataplugin.findings.evidence import time
from tb_dataplugin.findings.foresight import Foresight, Promise
from tb_dataplugin.findings.saving import saved_without, until_workers_limit
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls, StageWait
from tb_dataplugin.findings.worker_signals import WorkerSignals
from tb_dataplugin.units import duration
from tb_dataplugin.whatif import Change
from tb_dataplugin.words import GAIN_BOUND
from tests.tb_dataplugin.findings.cases import input_bound, signals_of
from tests.trace_builder import TraceBuilder

STEPS = 4
LOOP = STEPS * 10_000.0


@pytest.fixture(scope="module")
def signals() -> Signals:
    """Four steps of 10 ms, of which 8 ms wait for data."""
    return signals_of(input_bound(steps=STEPS, run_delay=0.0))


def busy(signals: Signals, share: float, run_delay: float | None = None) -> Signals:
    workers = WorkerSignals(workers=2, alive=2.0, batches=2.0, busy=share, starved=0.0, slowest=0, skew=1.0)
    assert signals.costs is not None
    return replace(signals, workers=workers, costs=replace(signals.costs, run_delay=run_delay))


def calls(kind: StageKind, self_us: float, data_wait_us: float) -> StageCalls:
    return StageCalls(
        path=(Stage(kind, "own"),), count=4, total_us=self_us, self_us=self_us, p50_us=self_us / 4, max_us=self_us,
        data_wait_us=data_wait_us, bytes=None, place=None, cpu_use=None,
    )  # fmt: skip


def test_work_of_the_training_thread_saves_no_more_than_the_workers_allow(signals: Signals) -> None:
    saving = until_workers_limit(busy(signals, 0.9), 0.6 * LOOP)
    assert saving.us == pytest.approx(0.1 * LOOP)
    assert "which need 90.0% of the step" in saving.why[0].text


def test_workers_with_time_to_spare_limit_nothing(signals: Signals) -> None:
    saving = until_workers_limit(busy(signals, 0.3), 0.6 * LOOP)
    assert saving.us == pytest.approx(0.6 * LOOP) and not saving.why


def test_what_workers_wait_for_a_cpu_is_no_limit(signals: Signals) -> None:
    assert until_workers_limit(busy(signals, 0.9, run_delay=0.5), 0.6 * LOOP).us == pytest.approx(0.55 * LOOP)


def test_a_wrapper_makes_no_worker_faster(signals: Signals) -> None:
    """A stage in a worker may save more than the data wait that it caused; one in the training thread may not."""
    spare = busy(signals, 0.1)
    assert saved_without(spare, [calls("transform", 0.5 * LOOP, 0.0)]).us == pytest.approx(0.25 * LOOP)
    assert saved_without(spare, [calls("wrapper", 0.5 * LOOP, 0.0)], 0.2 * LOOP).us == pytest.approx(0.2 * LOOP)


def test_workers_without_work_would_have_batches_there_before_they_are_asked_for(signals: Signals) -> None:
    """Three quarters of the wait are the sampler's, a fifth waits for finished batches on their way."""
    wait = signals.wait_cost_us or 0.0
    cost = replace(signals, on_way_us=0.2 * wait)
    spare = busy(cost, 0.1)
    assert spare.workers is not None
    starved = replace(spare, workers=replace(spare.workers, starved=0.9))
    sampler = [calls("sampler", 0.75 * wait, 0.0)]
    assert saved_without(spare, sampler, 0.75 * wait).us == pytest.approx(0.75 * wait)
    saving = saved_without(starved, sampler, 0.75 * wait)
    assert saving.us == pytest.approx(0.95 * wait)
    assert "would be ahead" in saving.why[0].text
    assert saved_without(starved, sampler, 0.9 * wait).us == pytest.approx(wait)  # no more than all of it


def test_no_more_than_the_time_on_the_way_can_go(signals: Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """`whatif` expects three times as much of it."""
    wait = signals.wait_cost_us or 0.0
    monkeypatch.setattr(saving, "_foreseen", lambda *_: saving._Foreseen(3.0))
    spare = busy(replace(signals, on_way_us=0.5 * wait), 0.1)
    found = saving.saved_on_the_way(spare, StageWait("transfer", None, 0.2 * wait, 0.2 * wait, 0.2), 0.1 * wait)
    assert found.us == pytest.approx(0.5 * wait)
    assert ", of which all can go" in found.why[0].text


def test_a_faster_transfer_does_not_outrun_the_workers(signals: Signals) -> None:
    """All of the data wait, 0.8 of the loop, is the transfer's; a bound of 5.6x was beside preparation of 3.4x."""
    signals = replace(signals, foresight=None)
    wait = signals.wait_cost_us or 0.0
    transfer = StageWait("transfer", None, wait, wait, 1.0)
    assert saving.saved_on_the_way(busy(signals, 0.1), transfer, 0.0).us == pytest.approx(0.8 * LOOP)
    found = saving.saved_on_the_way(busy(signals, 0.3), transfer, 0.0)
    assert found.us == pytest.approx(0.7 * LOOP)
    assert "beyond that the loop waits for its DataLoader workers, which need 30.0% of the step" in found.why[0].text


def test_a_window_that_lived_on_batches_from_before_says_what_each_step_needs_in_the_long_run(signals: Signals) -> None:
    """The loop took five batches for each four that the workers built."""
    transform = [calls("transform", 0.8 * LOOP, 0.1 * LOOP)]
    assert saved_without(on_stock(signals, 1.25), transform).us == pytest.approx(1.25 * 0.4 * LOOP)
    assert saved_without(on_stock(signals, 0.8), transform).us == pytest.approx(0.4 * LOOP)


def test_the_loop_gets_no_shorter_than_what_a_worker_still_needs(signals: Signals) -> None:
    """Workers are busy for nine tenths of the loop. Without a stage that takes them half of it, 0.4 of the loop
    remain, unless they only waited for a CPU there.
    """
    transform = [calls("transform", 1.0 * LOOP, 0.75 * LOOP)]  # of two workers
    assert (signals.wait_cost_us or 0.0) == pytest.approx(0.8 * LOOP)
    light, heavy = (replace(busy(signals, 0.9), waits_by_stage=None), busy(signals, 0.9, run_delay=0.5))
    assert saved_without(light, transform).us == pytest.approx(0.5 * LOOP)  # what it takes of a worker is less
    most = replace(busy(signals, 0.9), taken=TakenCpus(6e6, 0.5, 2.0, 1e3, 1.0))
    assert saved_without(most, transform).us == pytest.approx(0.6 * LOOP)
    assert saved_without(replace(heavy, taken=most.taken), transform).us > 0.6 * LOOP


class Expects(Foresight):
    """That a step saves so much, whatever is changed."""

    def __init__(self, us_per_step: float) -> None:
        self._us_per_step = us_per_step

    def held(self, change: Change, by_itself_us: float) -> Promise:
        return Promise(self._us_per_step, (time(GAIN_BOUND, 0.0, "as whatif predicts"),))


def test_what_whatif_expects_beyond_the_data_wait_is_what_the_step_gets_besides(signals: Signals) -> None:
    crowded = replace(busy(signals, 0.9, run_delay=0.5), taken=TakenCpus(10e6, 0.5, 2.0, 1e7, 1.0))
    assert crowded.taken is not None
    wait, transform = crowded.wait_cost_us or 0.0, [calls("transform", 1.5 * LOOP, 0.75 * LOOP)]
    by_itself = saved_without(crowded, transform)
    more = (by_itself.us + 500.0) / STEPS
    saving = saved_without(replace(crowded, foresight=Expects(more)), transform)
    assert saving.us == pytest.approx(by_itself.us + 500.0)
    assert saving.of_wait_us == pytest.approx(by_itself.of_wait_us) and saving.of_wait_us <= wait
    assert saving.of_step_us == pytest.approx(by_itself.of_step_us + 500.0)


def test_a_sampler_saves_no_more_than_the_data_wait_whatever_whatif_expects(signals: Signals) -> None:
    wait = signals.wait_cost_us or 0.0
    crowded = replace(busy(signals, 0.1), taken=TakenCpus(10e6, 0.5, 2.0, 1e7, 1.0), foresight=Expects(LOOP / STEPS))
    assert saved_without(crowded, [calls("sampler", 0.75 * wait, 0.0)], 0.75 * wait).us == pytest.approx(wait)


def on_stock(signals: Signals, taken_per_built: float) -> Signals:
    workers = busy(signals, 1.0).workers
    assert workers is not None
    return replace(signals, workers=replace(workers, taken_per_built=taken_per_built))


def test_without_records_of_workers_nothing_limits(signals: Signals) -> None:
    assert until_workers_limit(replace(signals, workers=None), 0.6 * LOOP).us == pytest.approx(0.6 * LOOP)


def in_both() -> TraceBuilder:
    """Each step waits 8 ms for a batch of two DataLoader workers, which build for half of the time and decode for half
    of that, and then 1 ms for one that the training thread builds, of which it decodes 0.6 ms.
    """
    share = {"sample::Pets": (0.0, 1.0, 1.0), "decode::PIL.Image": (0.0, 0.5, 0.5)}
    builder = input_bound(steps=STEPS, stages=share, busy=0.5)
    builder.events = [event for event in builder.events if event.get("cat") != "kernel"]  # all waits cost their time
    builder.top_level[METADATA_KEY]["loaders"].append({"num_workers": 0, "batch_size": 2, "dataset": "Cats"})
    for number in range(STEPS):
        at = 10_000.0 * number + 8_500.0
        builder.wait(at, 1000.0, "wait::DataLoader").stage("sample::Cats", at + 10.0, 900.0)
        builder.stage("decode::PIL.Image", at + 20.0, 600.0)
    return builder


def test_what_the_training_thread_decodes_frees_no_dataloader_worker() -> None:
    signals = busy(replace(signals_of(in_both()), foresight=None), 0.3)
    rows = [row for row in signals.stages if row.stage.name == "decode::PIL.Image"]
    assert sum(row.in_thread_us for row in rows) == pytest.approx(STEPS * 600.0)
    assert sum(row.thread_wait_us for row in rows) == pytest.approx(STEPS * 600.0)
    uncaused = [replace(row, data_wait_us=row.thread_wait_us) for row in rows]  # of the workers' part: none
    saving = saved_without(signals, uncaused)
    of_workers = sum(row.in_workers_us for row in rows) / 2
    assert saving.us == pytest.approx(of_workers + STEPS * 600.0)
    each = duration(of_workers / STEPS)
    assert f"this frees {each} per step of each DataLoader worker, and 600 µs per step of the" in saving.why[0].text


def test_a_stage_of_the_training_thread_alone_saves_what_it_caused() -> None:
    signals = busy(replace(signals_of(in_both()), foresight=None), 0.3)
    rows = [row for row in signals.stages if row.stage.name == "sample::Cats"]
    saving = saved_without(signals, rows)
    assert saving.us == pytest.approx(STEPS * 300.0)
    assert not any("frees" in fact.text for fact in saving.why)
