"""A lock that DataLoader workers share: found by its line, not scaled by what more workers or rules promise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotate.trace_format import Stage
from tb_dataplugin.analyses.line_rows import LineRow
from tb_dataplugin.analyses.shared_lock import SharedLock, find_shared_lock
from tb_dataplugin.whatif import Change, predict
from tb_dataplugin.whatif.fitting import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import finding_in, finding_of, input_bound, results_of
from tests.trace_builder import TraceBuilder

Frame = tuple[str, str, int]
STEPS, WORKERS = 8, 3
FETCH: Frame = ("fetch", "/lib/site-packages/torch/utils/data/fetch.py", 54)
OURS: Frame = ("timed.<locals>.timed", "/annotate/hooks/stand_ins.py", 106)
LOCK: Frame = ("TileStore.get", "/home/me/tiles.py", 24)
READ: Frame = ("TileStore.get", "/home/me/tiles.py", 25)
ENTER: Frame = ("SemLock.__enter__", "/lib/python3.11/multiprocessing/synchronize.py", 95)
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


@pytest.mark.parametrize(("source", "calls"), [(SEMAPHORE, (ENTER,)), (FILE, ())])
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
