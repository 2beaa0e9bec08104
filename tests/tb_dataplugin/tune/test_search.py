"""A search over made-up loops: what it keeps, when it stops, what is left of one that is broken off."""

from __future__ import annotations

import pytest

from tb_dataplugin.tune.guarding import Free
from tb_dataplugin.tune.running import CannotRun, Facts, Forecast, Limits
from tb_dataplugin.tune.search import CROWDED, NOTHING_LEFT, Outcome, Search
from tb_dataplugin.tune.setting import Changes
from tests.tb_dataplugin.tune.made_up_loops import FACTS, MADE, PLENTY, Cost, MadeUpRunner, by_workers


def test_what_beats_the_best_is_kept_and_measured_once_more() -> None:
    outcome = MadeUpRunner(by_workers).search()
    assert outcome.best.get("num_workers") == 4
    assert outcome.total is not None
    assert outcome.total.low < 0.0026 / 0.011 < outcome.total.high
    assert all(row.kept == (row.ratio is not None and row.ratio.high < 1) for row in outcome.rows)


def test_nothing_is_kept_where_settings_change_nothing() -> None:
    outcome = MadeUpRunner(lambda settings: 0.010).search()
    assert not outcome.best
    assert outcome.total is None
    assert not any(row.kept for row in outcome.rows)
    assert "brought nothing beyond the noise" in outcome.stopped


def test_noise_alone_is_rarely_kept() -> None:
    kept = 0
    for seed in range(12):
        runner = MadeUpRunner(lambda settings: 0.010, scatter=0.1)
        runner.random = type(runner.random)(type(runner.random.bit_generator)(seed))
        kept += sum(row.kept for row in runner.search().rows)
    assert kept <= 2


def test_a_loop_that_does_not_wait_is_left_alone() -> None:
    outcome = MadeUpRunner(lambda settings: 0.010, own_s=0.010, scatter=0.0).search()
    assert not outcome.rows
    assert "the training step limits" in outcome.stopped


def test_runs_and_minutes_are_limits() -> None:
    few = MadeUpRunner(by_workers).search(Limits(runs=2))
    assert len(few.rows) == 1
    assert "--runs" in few.stopped
    short = MadeUpRunner(by_workers).search(Limits(minutes=0.2))
    assert "--minutes" in short.stopped
    assert len(short.rows) == 1


def test_an_interrupt_leaves_what_was_found() -> None:
    outcome = MadeUpRunner(by_workers, interrupted_at=14).search()
    assert outcome.interrupted
    assert [row.kept for row in outcome.rows] == [True]
    assert outcome.best


def test_a_setting_that_does_not_run_is_a_line_of_the_ledger() -> None:
    outcome = MadeUpRunner(by_workers, refused=(Changes((("num_workers", 4),)),)).search()
    assert outcome.rows[0].why == "does not run: ValueError: torch says no"
    assert outcome.rows[0].ratio is None
    assert outcome.best


def test_a_search_ends_where_nothing_else_runs() -> None:
    refused = tuple(Changes((("num_workers", number),)) for number in range(1, 33))
    outcome = MadeUpRunner(by_workers, refused=refused).search()
    assert len(outcome.rows) <= 3
    assert not outcome.best
    assert outcome.stopped in ("the last 3 settings could not be measured", "no further setting is promising")


def test_a_loader_that_does_not_run_at_all_is_an_error() -> None:
    with pytest.raises(CannotRun, match="torch says no"):
        MadeUpRunner(by_workers, refused=(Changes(),)).search()


def test_no_setting_is_tried_without_room_for_it() -> None:
    outcome = MadeUpRunner(by_workers).search(free=Free(3e8, 1e12))
    assert all(int(row.changes.get("num_workers") or 0) <= 2 for row in outcome.rows if row.ratio)
    assert any("of memory" in row.why for row in outcome.rows)
    outcome = MadeUpRunner(by_workers).search(free=Free(1e12, 6e6))
    assert any("/dev/shm" in row.why for row in outcome.rows)


def test_only_the_settings_asked_for_are_tried() -> None:
    facts = Facts(made={**MADE, "num_workers": 2, "prefetch_factor": 2}, cpus=4, takes=frozenset({"in_order"}))
    outcome = MadeUpRunner(lambda settings: 0.01).search(Limits(tried=("prefetch_factor",)), facts=facts)
    assert {name for row in outcome.rows for name, _ in row.changes} == {"prefetch_factor"}


class NoFreeCpu:
    """Knows of DataLoader workers alone, that no CPU was free for more; a step would take `least` of now at least."""

    def __init__(self, crowded: bool = True, least: float = 0.2) -> None:
        self.crowded, self.least = crowded, least

    def forecast(self, changes: Changes, beside: Changes) -> Forecast:
        new, old = (int(side.get("num_workers") or 0) for side in (changes, beside))
        least = max(self.least, 0.9 / new) if new > old else 1.0
        return Forecast(1.0, least, 1.5, self.crowded and new > old)


def searched(model: NoFreeCpu, cost: Cost = by_workers) -> Outcome:
    runner = MadeUpRunner(cost)
    return Search(
        runner, FACTS, model, Limits(), lambda line: None, clock=lambda: runner.now, free=lambda: PLENTY
    ).run()


def test_where_no_cpu_is_free_as_many_workers_as_cpus_are_measured() -> None:
    outcome = searched(NoFreeCpu())
    assert [row.changes.as_dict() for row in outcome.rows] == [{"num_workers": FACTS.cpus}]
    assert outcome.best.as_dict() == {"num_workers": FACTS.cpus}
    assert outcome.stopped == CROWDED and outcome.leaves_crowded


def test_where_no_cpu_is_free_and_more_workers_do_not_help_it_ends() -> None:
    outcome = searched(NoFreeCpu(), lambda settings: 0.010)
    assert [row.changes.get("num_workers") for row in outcome.rows] == [4, 3, 2]
    assert "brought nothing beyond the noise" in outcome.stopped
    assert not outcome.best and outcome.leaves_crowded


def test_workers_that_are_predicted_not_to_help_are_not_tried() -> None:
    for model in (NoFreeCpu(crowded=False), NoFreeCpu(least=0.99)):
        outcome = searched(model)
        assert not outcome.rows
        assert outcome.stopped == NOTHING_LEFT and not outcome.leaves_crowded


class OracleModel:
    def forecast(self, changes: Changes, beside: Changes) -> Forecast | None:
        new, old = (by_workers({**MADE, **side.as_dict()}) for side in (changes, beside))
        return Forecast(new / old, 0.8 * new / old, 1.2 * new / old)


def test_what_the_model_finds_best_is_tried_first() -> None:
    runner = MadeUpRunner(by_workers)
    search = Search(
        runner, FACTS, OracleModel(), Limits(), lambda line: None, clock=lambda: runner.now, free=lambda: PLENTY
    )
    outcome = search.run()
    assert outcome.rows[0].changes.as_dict() == {"num_workers": 4}
    assert outcome.rows[0].kept
    assert sum(row.kept for row in outcome.rows) * 2 >= len(outcome.rows)
