"""What an evaluation waits for may be the first cause of the verdict: it has a finding, too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.other_building import OtherBuilding, Pass
from tb_dataplugin.findings.rules.other_loader_waits import check
from tb_dataplugin.findings.signals import Signals
from tests.tb_dataplugin.analyses.test_apart import with_evaluation
from tests.tb_dataplugin.analyses.test_waits_of_others import trained
from tests.tb_dataplugin.compare.test_flames import evaluated
from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of, input_bound, signals_of
from tests.tb_dataplugin.findings.rules.test_workers_started_again import evaluating

RULE = "other_loader_waits"


def test_an_evaluation_that_has_a_third_of_the_window_and_no_workers() -> None:
    found = finding_in(with_evaluation(), RULE)
    assert found.title.endswith(
        "of the window is data wait for another DataLoader of Clicks (batches of 16, num_workers=0), "
        "iterated in steps 8, 16 and 24"
    )
    assert found.severity == "high" and not found.HasField("gain_us_per_step")
    assert evidence_of(found) == ["waits for its batches: 144 ms"]
    assert "num_workers=2" in found.code


def test_of_one_with_workers_these_are_not_advised() -> None:
    signals = signals_of(with_evaluation())
    assert signals.apart is not None
    others = tuple(
        replace(other, loader=replace(other.loader, num_workers=2)) for other in signals.apart.others if other.loader
    )
    made = check(replace(signals, apart=replace(signals.apart, others=others)))
    assert isinstance(made, tuple)
    (found,) = made
    assert "num_workers=2), iterated in" in found.title and not found.code
    assert found.advice.startswith("Iterate it less often")


def other_of(**settings: Any) -> Signals:
    """The evaluation's DataLoader with these settings."""
    signals = signals_of(with_evaluation())
    assert signals.apart is not None
    (other,) = signals.apart.others
    assert other.loader is not None
    mine = replace(other, loader=replace(other.loader, dataset="Val", **settings))
    return replace(signals, apart=replace(signals.apart, others=(mine,)))


def test_of_a_dataset_that_each_worker_would_read_all_of_one_is_advised() -> None:
    """A stranger took two: 48 batches of his evaluations became 96, and the wait hardly shorter."""
    (certain,) = found_by(other_of(iterable=True, divided=False, drawn=False))
    assert "num_workers=1, " in certain.code
    assert "nothing in the code of Val divides it among DataLoader workers (by get_worker_info()" in certain.advice
    (unknown,) = found_by(other_of(iterable=True))
    assert "num_workers=1, " in unknown.code
    assert "if Val does not divide itself (by get_worker_info() in __iter__), each of several goes" in unknown.advice
    (drawn,) = found_by(other_of(iterable=True, divided=False, drawn=True))
    assert "num_workers=1, " in drawn.code and "get_worker_info" not in drawn.advice
    (asks,) = found_by(other_of(iterable=True, divided=True))
    assert "num_workers=1, " in asks.code and "but not every answer is for that" in asks.advice
    for settings in ({}, {"iterable": False}):
        (any_number,) = found_by(other_of(**settings))
        assert "num_workers=2, " in any_number.code and "get_worker_info" not in any_number.advice


def test_where_its_stages_stand_is_said_where_stacks_were_sampled() -> None:
    """Stages adds up both loaders where they are of one dataset; the flame graph has the other one apart."""
    assert "Flame graph" not in finding_in(with_evaluation(), RULE).advice
    signals = signals_of(evaluated(every=8))
    (said,) = found_by(signals)
    assert said.advice.endswith('Flame graph has what its batches were made of, under "for another DataLoader".')
    apart = signals.apart
    assert apart is not None and "Stages" not in said.advice
    several = replace(apart, others=(*apart.others, replace(apart.others[0], loader=None)))
    (said,) = found_by(replace(signals, apart=several))
    assert "Flame graph" not in said.advice, "it has all others in one"


def starting(signals: Signals, share: float, **settings: Any) -> Signals:
    """Its workers take that share of the waits to start; to build its batches took a tenth of these."""
    apart = signals.apart
    assert apart is not None
    (other,) = apart.others
    assert other.loader is not None
    loader = replace(other.loader, num_workers=2, **settings)
    mine = replace(other, loader=loader, starting_us=share * other.wait_us)
    mine = replace(mine, building=OtherBuilding(built_us=0.1 * other.wait_us))
    return replace(signals, apart=replace(apart, others=(mine,)))


def test_where_most_is_the_start_of_its_workers_these_are_to_live_on() -> None:
    """A stranger's evaluations took 2.05 s, 0.78 with persistent workers, and no less with a fourth of the batches."""
    signals = signals_of(with_evaluation())
    (said,) = found_by(starting(signals, 0.9))
    assert said.title.endswith("iterated in steps 8, 16 and 24, most of it for DataLoader workers to start and end")
    assert (
        said.advice.startswith("Most of it is for its DataLoader workers to start") and "over fewer" not in said.advice
    )
    assert "num_workers=0: to build these batches took 14.4 ms in all" in said.advice
    assert "persistent_workers=True" in said.code and said.severity == "high"
    assert any(
        "130 ms of that (90.0%) for its DataLoader workers to start and end" in fact.text for fact in said.evidence
    )
    (little,) = found_by(starting(signals, 0.4))
    assert little.advice.startswith("Iterate it less often") and not little.code and len(little.evidence) == 1


def test_workers_that_live_on_start_once() -> None:
    signals = signals_of(with_evaluation())
    (said,) = found_by(starting(signals, 0.95, persistent_workers=True))
    assert "later passes over it do not have that unless it is made anew" in said.advice
    assert not said.code and said.severity != "high"


def test_another_finding_on_these_starts_has_the_advice() -> None:
    signals = signals_of(evaluating())
    assert signals.apart is not None and signals.started_again
    others = tuple(replace(other, starting_us=0.9 * other.wait_us) for other in signals.apart.others)
    (said,) = found_by(replace(signals, apart=replace(signals.apart, others=others)))
    assert "of which another finding says how they live on" in said.advice and not said.code


def test_how_long_its_workers_took_to_start_to_end_and_to_build() -> None:
    """8 ms until the only worker of the pass is there, 12 ms until it is gone; two batches of 9.8 ms."""
    signals = signals_of(evaluating((4,)))
    assert signals.apart is not None and not signals.started_again
    (other,) = signals.apart.others
    assert other.starting_us == pytest.approx(20_000, rel=0.2)
    assert other.building.built_us == pytest.approx(19_600)


def found_by(signals: Signals) -> tuple[Finding, ...]:
    made = check(signals)
    assert isinstance(made, tuple)
    return made


def test_loaders_that_take_cpus_from_each_other() -> None:
    signals = signals_of(with_evaluation())
    beside = signals_of(input_bound())
    costs = beside.costs
    assert costs is not None
    for delay, is_said in ((0.3, True), (0.02, False), (None, False)):
        made = check(replace(signals, loader=beside.loader, costs=replace(costs, run_delay=delay)))
        assert isinstance(made, tuple)
        assert ("wait for a CPU for 30.0%" in made[0].advice) is is_said
    alone = check(replace(signals, costs=replace(costs, run_delay=0.3)))
    assert isinstance(alone, tuple) and "wait for a CPU" not in alone[0].advice


def test_a_short_one_and_one_that_is_not_annotated_have_none() -> None:
    assert finding_of(with_evaluation(steps=240, every=120, batches=1), RULE) is None
    assert finding_of(trained(), RULE) is None


BLOCKED = WorkerCosts(
    batches=10,
    wall_ns=1_000,
    cpu=0.03,
    process_cpu=0.03,
    run_delay=0.01,
    voluntary=None,
    involuntary=None,
    read_chars=None,
    read_bytes=None,
    major_faults=None,
    gc=None,
)
RUNNING = replace(BLOCKED, cpu=0.99, process_cpu=0.99, run_delay=0.0)
LATE = replace(BLOCKED, cpu=0.6, process_cpu=0.6, run_delay=0.4)


def building(busy: float, costs: WorkerCosts | None, **settings: Any) -> Signals:
    """The evaluation's two DataLoader workers build for that share of the waits, but for a tenth: their start."""
    signals = starting(signals_of(with_evaluation()), 0.1, **settings)
    assert signals.apart is not None
    (other,) = signals.apart.others
    mine = replace(other, building=OtherBuilding(1.0, busy * (other.wait_us - other.starting_us), costs))
    return replace(signals, apart=replace(signals.apart, others=(mine,)))


def test_more_workers_for_one_whose_own_are_the_limit() -> None:
    """A stranger's two were 97.7% busy, and blocked: "Iterate it less often" was all he was advised."""
    (said,) = found_by(building(0.95, BLOCKED))
    assert said.advice.startswith(
        "Its 2 DataLoader workers cannot build batches fast enough: while the loop waits for them, they build for "
        "95.0% of the time, blocked for 96.0% of the build time: more of them can wait at the same time. Try "
        "num_workers=4 for it: that saves at most 130 ms of data wait in this window, "
    )
    assert "Or iterate it less often, or over fewer batches." in said.advice
    assert said.code == "DataLoader(..., num_workers=4)  # the other DataLoader"
    (computing,) = found_by(building(0.95, RUNNING))
    assert "95.0% of the time, and CPUs are free. Try num_workers=4 for it" in computing.advice


@pytest.mark.parametrize(
    "signals",
    [
        building(0.5, BLOCKED),
        building(0.95, LATE),
        building(0.95, None),
        building(0.95, BLOCKED, iterable=True, divided=False),
        replace(building(0.95, BLOCKED), possible_lock="sqlite3.Cursor.execute"),
    ],
)
def test_no_more_of_those_that_are_not_the_limit_or_share_what_is(signals: Signals) -> None:
    (said,) = found_by(signals)
    assert said.advice.startswith("Iterate it less often") and not said.code


def test_how_long_its_workers_build_while_the_loop_waits() -> None:
    """A pass waits for two batches of 9.8 ms, one after the other, of its only worker, and else for that to start."""
    signals = signals_of(evaluating((4,)))
    assert signals.apart is not None
    (other,) = signals.apart.others
    assert other.building.meanwhile_us == pytest.approx(other.wait_us - other.starting_us, rel=0.1)
    assert other.building.costs is not None and other.building.costs.batches == 2


def test_so_many_workers_leave_their_part_of_the_build_time() -> None:
    """A stranger's 2 workers in place of 1 "saved at most" 1.68 of 1.81 s; they saved 0.64."""
    four = Pass((100.0,) * 4, beside_us=10.0)
    assert four.least_wait_us(2, are_whole=True) == 190.0
    assert four.least_wait_us(2, are_whole=True, needed=0.9) == 170.0
    assert Pass((100.0,) * 3, 0.0).least_wait_us(2, are_whole=True) == 200.0, "one of them builds two"
    assert Pass((100.0,) * 3, 0.0).least_wait_us(2, are_whole=False) == 150.0
    assert Pass((100.0, 10.0, 10.0), 0.0).least_wait_us(4, are_whole=True) == 100.0, "no batch is divided"
    assert Pass((100.0,) * 4, 500.0).least_wait_us(2, are_whole=True) == 0.0, "they build while nobody waits"


def with_passes(signals: Signals, built: float, beside: float = 0.0, batches: int = 4, **other: Any) -> Signals:
    """Its building is in passes of so many batches, which take that part of the waits that are no starts."""
    assert signals.apart is not None
    (mine,) = signals.apart.others
    each_us = built * (mine.wait_us - mine.starting_us) / batches
    passes = (Pass((each_us,) * batches, beside),)
    mine = replace(mine, building=replace(mine.building, passes=passes), **other)
    return replace(signals, apart=replace(signals.apart, others=(mine,)))


def test_what_more_workers_save_is_a_gain_per_step_where_it_comes_more_than_once() -> None:
    signals = building(0.95, BLOCKED, iterable=False)
    (said,) = found_by(with_passes(signals, 2 * 0.95))
    needed = (1 - 0.01) * 2 * 0.95 / 4
    assert said.gain_us_per_step == pytest.approx(129_600 * (1 - needed) / 24, rel=0.01)
    assert "that saves at most 68.8 ms of data wait in this window" in said.advice
    assert (
        "of the 130 ms of data wait that is not for its workers to start and end, 4 DataLoader workers leave 61.1 "
        "ms or more, as no batch is built faster"
    ) in [fact.text for fact in said.evidence]
    (once,) = found_by(with_passes(signals, 2 * 0.95, steps=(8,)))
    assert once.gain_us_per_step is None and "that saves at most 68.8 ms" in once.advice


def test_more_workers_are_not_advised_where_a_pass_has_no_batches_for_them() -> None:
    (said,) = found_by(with_passes(building(0.95, BLOCKED, iterable=False), 1.0, batches=1))
    assert said.advice.startswith("Iterate it less often") and said.gain_us_per_step is None


def test_how_long_the_batches_of_a_pass_took_and_what_the_loop_does_meanwhile() -> None:
    signals = signals_of(evaluating((4, 9), kept=True))
    assert signals.apart is not None
    (other,) = signals.apart.others
    passes = other.building.passes
    assert [each.built_us for each in passes] == [pytest.approx((9_800.0, 9_800.0))] * 2
    # The evaluation of the first batch, and what of the start of its worker is in the first batch.
    started_us = other.starting_us / 2 - 20_000
    assert [each.beside_us for each in passes] == pytest.approx([1_000 + started_us] * 2, rel=0.01)
    assert other.building.least_wait_us(2, are_whole=True) == pytest.approx(2 * (9_800 - 1_000 - started_us))


def test_without_a_gain_it_stands_where_its_wait_does() -> None:
    """It had 81% of a stranger's window, and stood behind what saved 5%."""
    (found,) = found_by(signals_of(with_evaluation()))
    assert found.gain_us_per_step is None
    assert found.may_save_us_per_step == pytest.approx(144_300 / 24)
