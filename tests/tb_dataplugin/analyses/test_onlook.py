"""What stacks alone say of a training program: built stacks of its threads, an even time apart."""

from __future__ import annotations

import numpy as np
import pytest

from tb_dataplugin.analyses.onlook import SeenProcess, onlook
from tb_dataplugin.export.onlook_text import onlook_lines
from tb_dataplugin.model.intervals import int64
from tb_dataplugin.model.line_samples import Frame, LineSamples, SampledStacks, Stacks

PACKAGES = "/env/site-packages"
TRAINER, WORKER = 10, 20


def user(function: str, line: int, source: str = "") -> Frame:
    return Frame(function, "/home/train.py", line, 1, "user", source)


def library(function: str, file: str) -> Frame:
    return Frame(function, f"{PACKAGES}{file}" if "torch" in file else f"/lib/python3.11{file}", 7, 1, "library")


MAIN = user("main", 50)
NEXT = library("_BaseDataLoaderIter.__next__", "/torch/utils/data/dataloader.py")
FETCH = library("_MapDatasetFetcher.fetch", "/torch/utils/data/_utils/fetch.py")
LOOP = library("_worker_loop", "/torch/utils/data/_utils/worker.py")
GET = library("Queue.get", "/multiprocessing/queues.py")
DECODE, STEP = user("Photos.__getitem__", 12, "image = decode(path)"), user("main", 51, "loss.item()")

WAITS = (MAIN, NEXT, GET)
STEPS = (STEP,)
LOADS = (MAIN, NEXT, FETCH, DECODE)
BUILDS = (LOOP, FETCH, DECODE)
STARVED = (LOOP, GET)
NOT_YET: tuple[Frame, ...] = ()
"""No stack was read."""


def seen(
    threads: dict[tuple[int, int], list[tuple[Frame, ...]]], parents: dict[int, int] | None = None
) -> tuple[SeenProcess, ...]:
    """Threads by process and number; their stacks, 5 ms apart."""
    frames: dict[Frame, int] = {}
    nodes: dict[tuple[int, int], int] = {}

    def number(stack: tuple[Frame, ...]) -> int:
        node = -1
        for frame in stack:
            node = nodes.setdefault((node, frames.setdefault(frame, len(frames))), len(nodes))
        return node

    columns = {key: [number(stack) for stack in stacks] for key, stacks in threads.items()}
    tree = Stacks(tuple(frames), int64([parent for parent, _ in nodes]), int64([frame for _, frame in nodes]))
    sampled = tuple(
        SampledStacks(pid, tid, False, np.arange(len(column)) * 5_000_000, int64(column), int64([0] * len(column)))
        for (pid, tid), column in columns.items()
    )
    return onlook(LineSamples(tree, sampled), parents or {WORKER: TRAINER}, TRAINER)


def text(process: SeenProcess) -> str:
    return " ".join(" ".join(onlook_lines(process)).split())


def test_waiting_for_workers_that_have_no_time_left() -> None:
    (process,) = seen({(10, 10): [WAITS] * 600 + [STEPS] * 400, (20, 20): [BUILDS] * 970 + [STARVED] * 30})
    assert process.waiting.share.share == pytest.approx(0.6, abs=1e-3)
    assert process.workers is not None
    assert process.workers.at_once == process.workers.processes == 1
    assert process.workers.without_index.samples == 30
    assert process.workers.building.rows[0].place.line == 12
    said = text(process)
    assert "waits for data for 60.0%" in said
    assert "they cannot keep up" in said
    assert "`image = decode(path)` in Photos.__getitem__ at train.py:12" in said
    assert "`loss.item()` in main at train.py:51" in said


def test_workers_without_time_left_nearly_keep_up_where_little_is_waited() -> None:
    (process,) = seen({(10, 10): [WAITS] * 100 + [STEPS] * 900, (20, 20): [BUILDS] * 970 + [STARVED] * 30})
    said = text(process)
    assert "cannot keep up" not in said
    assert "no time left: they nearly keep up, and faster batches save at most that." in said


def test_without_workers_the_wait_has_the_lines() -> None:
    (process,) = seen({(10, 10): [LOADS] * 300 + [STEPS] * 300})
    assert process.workers is None
    assert [row.place.line for row in process.waiting.rows] == [12]
    assert "Inside the data wait: 100%" in text(process)


def test_data_that_holds_nothing_up() -> None:
    (process,) = seen({(10, 10): [WAITS] * 2 + [STEPS] * 998, (20, 20): [BUILDS] * 50 + [STARVED] * 950})
    assert "data is not what holds it up" in text(process)
    assert "50 stacks, too few to name lines" in text(process)


def test_a_thread_that_fetches_beside_the_main_thread() -> None:
    gets = (user("main", 60, "batch = queue.get()"),)
    (process,) = seen({(10, 10): [gets] * 200, (10, 11): [LOADS] * 180 + [STEPS] * 20})
    said = text(process)
    assert "the thread that iterates the DataLoader waits for data for 90.2%" in said
    assert "The main thread: 100% `batch = queue.get()`" in said


def test_workers_of_each_epoch_anew_are_as_many_as_there_are_at_a_time() -> None:
    """Three epochs of 0.5 s, each with two processes that start 5 ms apart and end at once."""
    epochs = {
        (pid, pid): [NOT_YET] * (100 * epoch + late) + [BUILDS] * (100 - late)
        for pid, (epoch, late) in enumerate(((epoch, late) for epoch in range(3) for late in range(2)), start=20)
    }
    (process,) = seen({(10, 10): [WAITS] * 300, **epochs}, dict.fromkeys(range(20, 26), 10))
    assert process.workers is not None
    assert (process.workers.at_once, process.workers.processes) == (2, 6)
    assert "DataLoader workers, mostly 2 at a time (6 processes): build batches for 100%" in text(process)


def test_each_rank_has_its_own_workers() -> None:
    threads: dict[tuple[int, int], list[tuple[Frame, ...]]] = {
        (10, 10): [WAITS] * 100,
        (11, 11): [STEPS] * 50 + [WAITS] * 50,
        (20, 20): [BUILDS] * 100,
        (21, 21): [STARVED] * 100,
        (22, 22): [STARVED] * 100,
    }
    first, second = seen(threads, {10: 1, 11: 1, 20: 10, 21: 30, 22: 11, 30: 11})
    assert first.workers is not None
    assert second.workers is not None
    assert (first.pid, first.workers.at_once) == (10, 1)
    assert (second.pid, second.workers.at_once) == (11, 2)


def test_a_program_without_a_dataloader() -> None:
    (process,) = seen({(10, 10): [STEPS] * 200})
    assert not process.iterates
    assert "in no DataLoader of torch" in text(process)
    assert "The main thread: 100%" in text(process)


def test_threads_that_could_not_be_read_are_left_out() -> None:
    assert seen({(10, 11): [()] * 20, (12, 12): [STEPS] * 5}) == ()
