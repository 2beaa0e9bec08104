"""More DataLoader workers where other programs have the CPUs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tb_dataplugin.export.whatif_text import as_json
from tb_dataplugin.pipeline import read_loop
from tb_dataplugin.tune.model import WhatIf
from tb_dataplugin.tune.setting import Changes, with_change
from tb_dataplugin.whatif import Change, predict, telling_changes, usual_changes
from tb_dataplugin.whatif.loop import Loop, Settings, Timed
from tests.simulated_run import Simulation

MS = 1e6


def loop(other_cpus: float) -> Loop:
    return Loop(
        settings=Settings(2, 2, True),
        build=Timed(((),), np.full((12, 1), 40 * MS)),
        way_ns=np.zeros(1),
        receive=Timed(((),), np.full((1, 1), MS)),
        own_ns=np.full(12, 5 * MS),
        build_cpus=1.0,
        own_cpus=1.0,
        cpus=2.0,
        other_cpus=other_cpus,
        batches_per_step=1,
        samples_per_step=8,
        batch_bytes=None,
        measured_step_ns=30 * MS,
        measured_wait_ns=20 * MS,
    )


def test_more_workers_on_cpus_that_others_have_are_said_to_be_uncertain() -> None:
    more, fewer = (predict(loop(other_cpus=2.0), Change(workers=number)) for number in (4, 1))
    assert "would mostly take CPU time from what already runs. 'At least' is what a step would take if" in more.notes[0]
    assert more.crowded and not fewer.notes
    assert more.step_us.high >= 1.19 * more.step_us.value


def test_where_no_cpu_is_free_the_answer_is_that_there_is_none() -> None:
    crowded, some = (
        [predict(loop(other_cpus=2.0), Change(workers=number)) for number in numbers] for numbers in ((4, 8), (4, 1))
    )
    answer = json.loads(as_json(loop(other_cpus=2.0), crowded))
    least = min(made.least_us for made in crowded) / 1e3
    assert answer["sentence"].startswith("No prediction of the gain: no CPU of this machine is free")
    assert f"at least {least:.1f} ms. Now, in the steady state" in answer["sentence"]
    assert not answer["limit_texts"]
    assert json.loads(as_json(loop(other_cpus=2.0), some))["sentence"].startswith("Now, ")


def test_more_workers_than_share_full_cpus_have_one_bound_and_no_value() -> None:
    """Of fifteen workers on sixteen full CPUs; as the batches come, sixteen looked slower and seventeen faster."""
    full = replace(loop(other_cpus=0.0), settings=Settings(15, 2, True), cpus=16.0, cpus_busy=0.96, own_cpus=0.5)
    full = replace(full, build=Timed(((),), np.linspace(200, 440, 16)[:, None] * MS), own_ns=np.full(12, 10 * MS))
    made = [predict(full, Change(workers=workers)) for workers in (15, 16, 17, 32)]
    bound_us = (320 + 1 + 0.5 * 10) / 16 * 1e3  # building, receiving and the step, on sixteen CPUs
    assert [one.at_least_us and round(one.at_least_us) for one in made] == [None, *[pytest.approx(bound_us, abs=1)] * 3]
    assert made[1].notes[0].startswith("*: no CPU was free: the 16 CPUs were 96.0% busy, recording aside.")
    answer = json.loads(as_json(full, made))
    assert "step_us" in answer["predictions"][0]
    for row in answer["predictions"][1:]:
        assert row["at_least_us"] > 0 and row.keys().isdisjoint(
            {"step_us", "saved_share", "samples_per_s", "limited_by"}
        )
    asked = [usual_changes(full), telling_changes(replace(full, settings=Settings(2, 2, True)))]
    numbers = [[change.workers for change in changes if change.workers is not None] for changes in asked]
    assert numbers == [[0, 1, 16], [0, 1, 3]]


@pytest.mark.parametrize(("host", "busy"), [({"cores": 2}, 0.97), ({"cores": 2, "cpu_quota": 1}, 0.0)])
def test_how_busy_the_cpus_were_is_read_from_their_counters(tmp_path: Path, host: dict[str, int], busy: float) -> None:
    builder = Simulation(steps=24).file(np.random.default_rng(1)).counter("host::cpu", 9000, core0=96.0, core1=98.0)
    builder.top_level["dataPipeline"]["host"] = host
    assert read_loop(builder.write(tmp_path / "run.pt.trace.json"))[0].cpus_busy == pytest.approx(busy)


def test_a_bound_holds_where_other_programs_give_way() -> None:
    """They may end: what the model makes of a loop that shares the CPUs with them is no bound."""
    for_moments = replace(loop(other_cpus=0.0), light_cpus=1.0)
    for shared in (loop(other_cpus=1.0), loop(other_cpus=2.0), for_moments):
        made = predict(shared, Change(workers=4))
        assert made.at_least_us == pytest.approx((40 + 1 + 5) / 2 * 1e3) and made.least_us < made.step_us.value


def test_a_bound_is_no_longer_than_the_step_that_was_measured() -> None:
    full = replace(loop(other_cpus=0.0), cpus_busy=0.95, measured_step_ns=20 * MS)
    assert predict(full, Change(workers=3)).at_least_us == pytest.approx(20e3)


def test_workers_beyond_the_cpus_are_no_usual_change_where_building_keeps_cpus_busy() -> None:
    few = replace(loop(other_cpus=0.0), cpus=16.0)
    assert [change.workers for change in usual_changes(few)][:4] == [0, 1, 3, 16]
    waits = replace(few, build_cpus=0.2)
    assert [change.workers for change in usual_changes(waits)][:5] == [0, 1, 3, 16, 32]


def test_a_loop_that_has_all_cpus_to_itself_takes_them_from_nobody() -> None:
    more = predict(loop(other_cpus=0.02), Change(workers=4))
    assert not more.crowded and not more.notes
    assert more.slowed == pytest.approx(0.497, abs=0.001)
    assert not predict(replace(loop(other_cpus=0.02), cpus=8.0), Change(workers=4)).slowed


def test_a_lack_of_cpus_is_said_of_the_rows_whose_step_it_makes_longer() -> None:
    """And of none where the workers, most of the time, have nothing to build: the queue is full."""
    alone = loop(other_cpus=0.0)
    made = [predict(alone, Change(workers=number)) for number in (1, 3, 4)]
    assert json.loads(as_json(alone, made))["limit_texts"][-1] == (
        "With workers=3 and workers=4, 2 CPUs are not enough for the DataLoader workers and the training step at once: "
        "the rest of the step is predicted to take 25.0% and 50.0% longer."
    )
    idle = replace(alone, build=Timed(((),), np.full((12, 1), 10 * MS)), own_ns=np.full(12, 50 * MS), cpus=8.0)
    idle = replace(idle, measured_step_ns=51 * MS, measured_wait_ns=MS)
    rested = predict(idle, Change(workers=16))
    assert rested.step_us.value == pytest.approx(51e3, rel=0.02) and not rested.slowed
    assert "not enough" not in as_json(idle, [rested])


def test_a_step_that_the_device_limits_is_not_said_to_be_longer_for_want_of_cpus() -> None:
    limited = predict(replace(loop(other_cpus=0.0), device_ns=60 * MS), Change(workers=4))
    assert limited.limited_by == "device" and not limited.slowed


def test_a_rank_that_others_keep_waiting_is_said_to_be_one() -> None:
    waiting = predict(replace(loop(other_cpus=0.02), in_collectives=0.775), Change(prefetch=4))
    assert waiting.notes[-1].startswith("This rank is in collectives for 77.5% of the window, waiting for other ranks")
    assert not predict(replace(loop(other_cpus=0.02), in_collectives=0.04), Change(prefetch=4)).notes


def test_tune_is_promised_nothing_that_other_programs_would_lose() -> None:
    made = {"num_workers": 2, "prefetch_factor": 2}
    more = with_change(Changes(), "num_workers", 12, made)
    crowded, alone = (WhatIf(loop(other_cpus=busy), made).forecast(more, Changes()) for busy in (2.0, 0.02))
    assert crowded is not None and crowded.value >= 1.0 > crowded.low and crowded.crowded
    assert alone is not None and not alone.crowded
    assert alone is not None and alone.value == pytest.approx(1.0, abs=0.1)


def test_workers_that_mostly_wait_need_no_free_cpu() -> None:
    more = predict(replace(loop(other_cpus=8.0), build_cpus=0.02), Change(workers=4))
    assert not more.crowded and not more.notes


@pytest.mark.parametrize("left_out", ["the epoch's end", ""])
def test_what_the_predictions_leave_out_is_named(left_out: str) -> None:
    known = replace(loop(other_cpus=0.0), left_out=left_out)
    sentence = json.loads(as_json(known, [predict(known, Change(workers=1))]))["sentence"]
    assert ("The report's numbers include the epoch's end; these do not." in sentence) == bool(left_out)


def test_a_report_tells_of_numbers_of_workers_near_those_of_the_loop() -> None:
    many = replace(loop(other_cpus=0.0), settings=Settings(15, 2, True), cpus=64.0)
    numbers = [change.workers for change in telling_changes(many) if change.workers is not None]
    assert numbers == [0, 3, 7, 11, 14, 16, 18, 22, 26, 30]
