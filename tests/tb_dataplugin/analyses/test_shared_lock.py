"""A lock that DataLoader workers share: found by its line, not scaled by what more workers or rules promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest

from annotate.trace_format import THREAD_STATES, Stage
from tb_dataplugin.analyses.line_rows import LineRow
from tb_dataplugin.analyses.shared_lock import SharedLock, find_possible_lock, find_shared_lock
from tb_dataplugin.whatif import Change, predict
from tb_dataplugin.whatif.fitting import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import finding_in, finding_of, input_bound, results_of
from tests.trace_builder import TraceBuilder

Frame = tuple[str, str, int]
Stages = Mapping[str, tuple[float, ...]]
STEPS, WORKERS = 8, 3
FETCH: Frame = ("fetch", "/lib/site-packages/torch/utils/data/fetch.py", 54)
OURS: Frame = ("timed.<locals>.timed", "/annotate/hooks/stand_ins.py", 106)
LOCK: Frame = ("TileStore.get", "/home/me/tiles.py", 24)
READ: Frame = ("TileStore.get", "/home/me/tiles.py", 25)
ENTER: Frame = ("SemLock.__enter__", "/lib/python3.11/multiprocessing/synchronize.py", 95)
ACQUIRE = "self.lock.acquire()"
SEMAPHORE, FILE, IN_PROCESS = "with self.lock:", "fcntl.flock(self.fd, fcntl.LOCK_EX)", "with self.lock:"


def locked(source: str, *calls: Frame, of_hundred: int = 62) -> TraceBuilder:
    """Three workers that wait for a line of `source` for most of their time, blocked."""
    builder = input_bound(workers=WORKERS, steps=STEPS, threads=0.1, stages={"sample::Tiles": (0.0, 1.0, 0.1)})
    times = [500.0 + 1000 * number for number in range(10 * STEPS)]
    stack = [(FETCH, OURS, LOCK, *calls), (FETCH, OURS, READ)]
    stacks = [stack[37 * number % 100 >= of_hundred] for number in range(len(times))]
    sources = {(LOCK[1], LOCK[2]): source, (READ[1], READ[2]): "return self.raw(i)"}
    for worker in range(WORKERS):
        builder.stacks(times, stacks, pid=100 + worker, sources=sources)
    return builder


def lock(waited: float, held: float, workers: int) -> SharedLock:
    return SharedLock(Stage("sample", "Tiles"), None, 1.0, waited, held, workers)  # type: ignore[arg-type]


def test_with_a_lock_that_is_always_held_no_number_of_workers_is_faster() -> None:
    always = lock(waited=2 / 3, held=1 / 3, workers=3)
    assert [always.faster_with(number) for number in (1, 2, 3, 8)] == pytest.approx([1.0] * 4)


def test_a_lock_that_is_rarely_held_leaves_room() -> None:
    assert lock(waited=0.02, held=0.1, workers=2).faster_with(4) == pytest.approx(1.9, abs=0.1)


@pytest.mark.parametrize(("source", "calls"), [(SEMAPHORE, (ENTER,)), (FILE, ()), (ACQUIRE, ())])
def test_how_long_it_is_held_follows_from_how_long_it_is_waited_for(source: str, calls: tuple[Frame, ...]) -> None:
    found = find_shared_lock(results_of(locked(source, *calls)))
    assert found is not None and found.row.place.line == 24
    assert found.waited == pytest.approx(0.62, abs=0.03)
    assert found.faster_with(8) < 1.1  # a lock that most workers wait for is held nearly always
    assert found.faster_with(WORKERS) == pytest.approx(1.0)


def test_a_lock_of_one_process_or_little_waiting_is_none_between_workers() -> None:
    assert find_shared_lock(results_of(locked(IN_PROCESS))) is None
    assert find_shared_lock(results_of(locked(SEMAPHORE, ENTER, of_hundred=8))) is None


def test_findings_name_the_lock_and_advise_no_more_workers() -> None:
    said = finding_in(locked(SEMAPHORE, ENTER), "leading_stage")
    assert "DataLoader workers wait for one another at this line" in said.advice
    alone = next(fact for fact in said.evidence if fact.kind == "lock_wait")
    assert 0 < (alone.value or 0.0) <= (said.gain_us_per_step or 0.0) and "waits of DataLoader workers" in alone.text
    assert "at the same time" not in said.advice
    assert finding_of(locked(SEMAPHORE, ENTER), "too_few_workers") is None
    assert finding_of(locked(IN_PROCESS), "too_few_workers") is not None


def test_what_if_does_not_scale_the_wait_for_a_lock() -> None:
    loop = fit_loop(results_of(locked(SEMAPHORE, ENTER)))
    assert isinstance(loop, Loop) and isinstance(loop.lock, SharedLock) and isinstance(loop.lock.row, LineRow)
    held, free = (predict(each, Change(workers=8)) for each in (loop, replace(loop, lock=None)))
    assert held.step_us.value > 0.9 * loop.measured_step_ns / 1e3 > 1.5 * free.step_us.value
    assert "DataLoader workers wait for one another at tiles.py:24" in held.notes[0]
    assert not predict(loop, Change(workers=2)).notes


MANY = 6
DATABASE = "con.execute(sql, row)"
RUNNING, BLOCKED = THREAD_STATES.index("running"), THREAD_STATES.index("blocked")


SAMPLES: Stages = {"sample::Tiles": (0.0, 1.0, 0.5)}
QUERIES: Stages = {"sample::Tiles": (0.0, 1.0, 0.5), "read::sqlite3.execute": (0.0, 0.9, 0.5, 10_000)}


def asking(source: str, *calls: Frame, takes_turns: bool, workers: int = 2, stages: Stages = SAMPLES) -> TraceBuilder:
    """Workers that are blocked in a line for half of their time: while another has what they wait for, in turns of
    chance; or whatever the others do.
    """
    steps = 50
    builder = input_bound(workers=workers, steps=steps, threads=0.1, stages=stages)
    times, random = [500.0 + 1000 * number for number in range(10 * steps)], Random(7)
    sources = {(LOCK[1], LOCK[2]): source, (READ[1], READ[2]): "return self.raw(i)"}
    turns = [turn for turn in range(len(times)) for _ in range(random.randint(2, 12))]
    order = [random.randrange(workers) for _ in turns]
    for worker in range(workers):
        own = [random.randrange(2) for _ in turns]
        at = [order[turn] != worker if takes_turns else bool(own[turn]) for turn in turns[: len(times)]]
        stacks = [(FETCH, OURS, LOCK, *calls) if is_blocked else (FETCH, OURS, READ) for is_blocked in at]
        states = [BLOCKED if is_blocked else RUNNING for is_blocked in at]
        builder.stacks(times, stacks, pid=100 + worker, sources=sources, states=states)
    return builder


@pytest.mark.parametrize("calls", [(), (("Cache.set", "/lib/site-packages/diskcache/core.py", 800),)])
def test_a_call_to_a_database_that_workers_take_turns_in_is_a_shared_lock(calls: tuple[Frame, ...]) -> None:
    builder = asking(DATABASE, *calls, takes_turns=True)
    found = find_shared_lock(results_of(builder))
    assert found is not None and (found.row.place.line, found.is_of_database) == (24, True)
    assert "keeps the others out until it commits" in finding_in(builder, "leading_stage").advice
    assert finding_of(builder, "too_few_workers") is None


def test_reads_that_wait_for_a_lock_are_not_small_reads() -> None:
    builder = asking(DATABASE, takes_turns=True, stages=QUERIES)
    advice = finding_in(builder, "leading_stage").advice
    assert (
        advice.startswith(f"DataLoader workers wait for one another at `{DATABASE}` in TileStore.get")
        and "(packed records)" not in advice
    )
    assert finding_of(builder, "small_reads") is None
    files = {"sample::Tiles": (0.0, 1.0, 0.5), "read::file": (0.0, 0.9, 0.5, 10_000)}
    assert finding_of(asking(DATABASE, takes_turns=False, stages=files), "small_reads") is not None


def test_a_database_that_is_slow_for_each_by_itself_is_no_shared_lock() -> None:
    builder = asking(DATABASE, takes_turns=False)
    assert find_shared_lock(results_of(builder)) is None and find_possible_lock(results_of(builder)) is None
    assert finding_in(builder, "too_few_workers").confidence == "likely"


def test_where_many_workers_leave_that_open_more_of_them_are_advised_less_surely() -> None:
    """By chance too, one of them nearly always works."""
    builder = asking(DATABASE, takes_turns=False, workers=MANY)
    said = finding_in(builder, "too_few_workers")
    assert said.confidence == "possible" and "tiles.py:24: if they wait for one another" in said.confidence_reason


def test_what_if_says_where_more_workers_may_wait_for_one_another() -> None:
    loop = fit_loop(results_of(asking(DATABASE, takes_turns=False, workers=MANY)))
    assert isinstance(loop, Loop) and loop.lock is None
    assert "blocked in a call to a database at tiles.py:24" in predict(loop, Change(workers=MANY + 1)).notes[0]
    taking_turns = fit_loop(results_of(asking(DATABASE, takes_turns=True)))
    assert isinstance(taking_turns, Loop) and taking_turns.lock is not None and not taking_turns.possible_lock


@pytest.mark.parametrize("takes_turns", [True, False])
def test_what_the_text_of_the_call_says_is_certain(takes_turns: bool) -> None:
    alone = find_shared_lock(results_of(asking('con.execute("BEGIN IMMEDIATE")', takes_turns=takes_turns)))
    assert alone is not None and alone.is_of_database
    reads = asking('rows = con.execute("SELECT x FROM tiles")', takes_turns=takes_turns)
    assert find_shared_lock(results_of(reads)) is None and find_possible_lock(results_of(reads)) is None


def test_a_call_to_a_database_that_computes_waits_for_nobody() -> None:
    builder = locked(DATABASE)
    assert find_shared_lock(results_of(builder)) is None and find_possible_lock(results_of(builder)) is None
