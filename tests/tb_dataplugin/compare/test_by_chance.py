"""A stage that is called now and then is neither new nor gone where a window lacks it by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.by_chance import IN_FEW, IN_SOME_RUNS, absent_by_chance
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb

READ, OPEN = "read::share", "read::open"
EVERY: Sequence[int] = range(50)


def run(batches: Mapping[str, Sequence[int]], workers: int = 2, steps: int = 50) -> Run:
    """One of so many batches, built by the workers in turn: which of them have calls of each stage."""
    stages = []
    for name, numbers in batches.items():
        kind, label = name.split("::")
        worker = sorted(number % workers + 1 for number in numbers)
        count = [1] * len(worker)
        stages.append(pb.Stage(kind=kind, label=label, path=[name], count=len(worker), block_count=count))
        stages[-1].block_worker.extend(worker)
    capture = pb.Capture(stages=stages, throughput=pb.Throughput(samples=8 * steps), window_us=steps * 1e4)
    return Run("vm_1", (capture,))


def absent(before: Sequence[Run], after: Sequence[Run]) -> Mapping[str, str]:
    """The same whichever side is first."""
    found = absent_by_chance(before, after, "sample")
    assert absent_by_chance(after, before, "sample") == found
    return found


PLAIN = run({READ: EVERY})


def test_a_file_that_each_worker_opened_once_in_the_windows_of_every_run_may_be_missing_by_chance() -> None:
    assert absent([run({READ: EVERY, OPEN: (20, 21)})] * 3, [PLAIN] * 3) == {OPEN: IN_FEW}


def test_workers_that_all_open_their_files_at_once_are_one_event() -> None:
    assert absent([run({READ: EVERY, OPEN: range(16, 24)}, 8)], [PLAIN]) == {OPEN: IN_FEW}


def test_what_some_run_of_the_same_side_lacks_too_is_not_gone() -> None:
    assert absent([PLAIN, run({READ: EVERY, OPEN: EVERY})], [PLAIN] * 2) == {OPEN: IN_SOME_RUNS}


@pytest.mark.parametrize("numbers", [EVERY, EVERY[2:], EVERY[::2], EVERY[::3]])
def test_what_many_batches_had_is_gone(numbers: Sequence[int]) -> None:
    assert absent([run({READ: EVERY, OPEN: numbers})], [PLAIN]) == {}


def test_what_every_batch_of_a_short_window_had_is_gone() -> None:
    short = run({READ: range(3)}, steps=3)
    assert absent([run({READ: range(3), OPEN: range(3)}, steps=3)], [short]) == {}


def test_what_was_there_now_and_then_is_not_gone_from_a_short_window() -> None:
    often = run({READ: EVERY, OPEN: EVERY[::3]})
    assert absent([often], [run({READ: range(4)}, steps=4)]) == {OPEN: IN_FEW}


def test_the_more_runs_have_it_now_and_then_the_surer_it_is_gone() -> None:
    rare = run({READ: EVERY, OPEN: (5, 20, 33)})
    assert absent([rare] * 2, [PLAIN] * 2) == {OPEN: IN_FEW}
    assert absent([rare] * 8, [PLAIN] * 8) == {}


def test_without_blocks_nothing_is_said() -> None:
    """Calls beside the loop: another module judges these."""
    assert absent([run({READ: EVERY, OPEN: ()})], [PLAIN]) == {}


@pytest.mark.parametrize(("numbers", "outcome"), [((20, 21), "unknown"), (EVERY, "gone")])
def test_what_is_missing_by_chance_is_a_row_without_a_change(numbers: Sequence[int], outcome: str) -> None:
    (has,), (lacks,) = run({READ: EVERY, OPEN: numbers}).captures, PLAIN.captures
    for capture in (has, lacks):
        capture.mode, capture.name = "train", capture.window_us.hex()
        for stage in capture.stages:
            stage.self_us = 100.0 * stage.count
            stage.block_self_us.extend([100.0] * stage.count)
    found = compare([has], [lacks])
    row = next(stage for stage in found.stages if stage.name == OPEN)
    assert row.outcome == outcome and row.interval_text.startswith("none after")
    assert any("is gone" in fact.text for fact in found.evidence) == (outcome == "gone")
