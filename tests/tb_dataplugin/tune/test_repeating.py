"""DataLoader workers that deliver what one delivers: faster steps are no gain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.tune.repeating import not_seen, repeats, seen_to_repeat, why_not_tried
from tb_dataplugin.tune.running import Window
from tb_dataplugin.tune.setting import Changes
from tests.tb_dataplugin.tune.made_up_loops import FACTS, MADE, MadeUpRunner, by_workers

UNDIVIDED = replace(FACTS, undivided="Clicks")
TWO = Changes.of({"num_workers": 2})


def workers_of(tried: list[Changes]) -> set[int]:
    return {int(changes.get("num_workers") or 0) for changes in tried}


def test_workers_that_would_each_read_all_of_it_are_not_tried() -> None:
    undivided, divided = MadeUpRunner(by_workers), MadeUpRunner(by_workers)
    undivided.search(facts=UNDIVIDED)
    divided.search()
    assert workers_of(undivided.started) == {0, 1}
    assert max(workers_of(divided.started)) > 1
    assert why_not_tried(UNDIVIDED).startswith(
        "Several DataLoader workers were not tried: nothing in the code of Clicks"
    )
    assert why_not_tried(FACTS) == ""


def test_fewer_workers_repeat_nothing_more() -> None:
    already = replace(UNDIVIDED, made={**MADE, "num_workers": 4})
    assert not repeats(TWO, already) and repeats(Changes.of({"num_workers": 8}), already)
    assert repeats(TWO, UNDIVIDED) and not repeats(Changes.of({"num_workers": 1}), UNDIVIDED)
    assert why_not_tried(already).startswith("More DataLoader workers were not tried")


@pytest.mark.parametrize(
    "delivered", [lambda workers: (0, workers > 1), lambda workers: (100 * max(1, workers), False)]
)
def test_what_is_delivered_again_is_not_kept_however_fast(delivered: object) -> None:
    outcome = MadeUpRunner(by_workers, delivered=delivered).search()  # type: ignore[arg-type]
    several = [row for row in outcome.rows if int(row.changes.get("num_workers") or 0) > 1]
    assert several and not any(row.kept or row.ratio for row in several)
    assert all(row.why.startswith("not kept: ") for row in several)
    assert int(outcome.best.get("num_workers") or 0) <= 1


def test_what_no_pass_shows_is_said_of_iterable_datasets() -> None:
    iterable, windows = replace(FACTS, iterable=True), [Window(10, 1.0, 0.5)]
    assert "check that an epoch has as many samples as before" in not_seen(iterable, TWO, windows)
    assert not_seen(FACTS, TWO, windows) == not_seen(iterable, Changes(), windows) == ""
    assert not_seen(iterable, TWO, [replace(windows[0], passed=5)]) == ""


def test_a_last_batch_of_each_worker_is_no_repeat() -> None:
    one, more = Window(10, 1.0, 0.5, passed=3), Window(10, 1.0, 0.5, passed=6)
    assert seen_to_repeat([one], [more], 2) == ""
    assert "a pass has 7 batches, not 3" in seen_to_repeat([one], [replace(more, passed=7)], 2)
    assert seen_to_repeat([replace(one, passed=0)], [more], 1) == ""
