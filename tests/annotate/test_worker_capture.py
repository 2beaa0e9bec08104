"""Loaders of every make, several at once, several windows; what the user's own hooks see; what viewers make of it."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from capture_helpers import load, record_all
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from worker_helpers import (
    BATCH,
    Books,
    Busy,
    StreamedBooks,
    as_tensor,
    batches_of,
    check,
    check_arrows,
    check_nesting,
    check_order,
    consumed,
    nanoseconds,
    raises_and_lets_go,
    run,
    worker_spans,
)

import annotate
from annotate.hooks.collating import Collate
from annotate.host.watching import Watch
from annotate.trace.clock import Anchors, Reading
from annotate.workers import transport


class Fast(Books):
    slow = 0.0005


def fast_loader(**keywords: Any) -> DataLoader[Any]:
    keywords = {"batch_size": BATCH, "num_workers": 2, "collate_fn": as_tensor, **keywords}
    return annotate.loader(DataLoader(Fast(), **keywords))


def indices_of(records: list[dict[str, Any]], trace: dict[str, Any]) -> list[list[int]]:
    """By the worker's own spans."""
    rows = worker_spans(trace)
    return [
        [
            span["args"]["index"]
            for span in rows[record["pid"]]
            if span["name"].startswith("sample::")
            and (span["args"]["loader"], span["args"]["epoch"], span["args"]["batch"])
            == (record["loader"], record["epoch"], record["batch"])
        ]
        for record in records
    ]


def test_train_and_validation_loaders_have_rows_of_their_own(tmp_path: Path) -> None:
    train, val = fast_loader(), fast_loader(batch_size=4, num_workers=1, persistent_workers=True)
    seen = []
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        for _ in range(2):
            for number, batch in enumerate(train):
                seen.append(batch[:, 0].tolist())
                if number == 3:
                    seen += [other[:, 0].tolist() for other in val]
    trace = load(prof.trace_files[0])
    check(trace)
    records = consumed(trace)
    mine = [one["name"] for one in trace["dataPipeline"]["loaders"]]
    numbers = sorted({record["loader"] for record in records})
    assert len(mine) > max(numbers)
    assert [(r["loader"] == numbers[1], r["epoch"], r["batch"]) for r in records] == [
        place
        for epoch in (0, 1)
        for place in (
            [(False, epoch, number) for number in range(4)]
            + [(True, epoch, number) for number in range(6)]
            + [(False, epoch, number) for number in range(4, 8)]
        )
    ]
    assert indices_of(records, trace) == seen
    names = {e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "process_name"}
    assert {f"DataLoader worker {w} (loader {numbers[0]})" for w in (0, 1)} < names
    assert f"DataLoader worker 0 (loader {numbers[1]})" in names


def test_each_window_has_its_own_spans(tmp_path: Path) -> None:
    keywords: dict[str, Any] = {"num_workers": 2, "collate_fn": as_tensor, "persistent_workers": True}
    loader: DataLoader[Any] = annotate.loader(DataLoader(Fast(60), batch_size=BATCH, **keywords))
    with annotate.profile(tmp_path, wait=4, warmup=1, active=8, repeat=3) as prof:
        for _ in range(2):
            for _ in prof.steps(loader):
                pass
    assert len(prof.trace_files) == 3
    known: set[tuple[int, int]] = set()
    for path in prof.trace_files:
        trace = load(path)
        assert trace["dataPipeline"]["notes"] == []
        check_order(trace)
        check_nesting(trace)
        spans = {(s["pid"], s["ts"]) for spans in worker_spans(trace).values() for s in spans}
        assert len(spans) > 10, "the workers are the slow side, so they are busy in every window"
        assert not spans & known
        known |= spans
        assert len(consumed(trace)) >= 3
        (label,) = {
            e["args"]["labels"]
            for e in trace["traceEvents"]
            if e["name"] == "process_labels" and e["pid"] in worker_spans(trace)
        }
        assert label == "DataLoader Fast"


def test_what_was_made_before_the_window_is_known_if_it_was_consumed_in_it(tmp_path: Path) -> None:
    loader = fast_loader(prefetch_factor=3)
    with annotate.profile(tmp_path, wait=1, warmup=1, active=2) as prof:
        for _ in prof.steps(loader):
            time.sleep(0.05)  # so that the queue is full
    trace = load(prof.trace_files[0])
    steps = [e for e in trace["traceEvents"] if str(e.get("name")).startswith("ProfilerStep#")]
    begin = min(step["ts"] for step in steps)
    records = consumed(trace)
    assert [record["batch"] for record in records] == [2, 3]
    assert any(record["finished_us"] < begin for record in records)
    assert all(record["consumed_us"] >= begin for record in records)
    check_order(trace)


class Slow(Dataset[int]):
    """Two quick items, then slow ones; each says who made it."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        time.sleep(0.01 if index < 2 else 0.8)
        return os.getpid()


@pytest.mark.parametrize("persistent", [False, True])
def test_a_batch_in_work_is_known_though_the_worker_recorded_nothing(persistent: bool, tmp_path: Path) -> None:
    keywords: dict[str, Any] = {"num_workers": 2, "persistent_workers": persistent}
    loader: DataLoader[Any] = annotate.loader(DataLoader(Slow(), batch_size=1, **keywords))
    made: list[int] = []
    with annotate.profile(tmp_path, wait=8 if persistent else 0, warmup=1, active=1) as prof:
        for _ in range(1 + persistent):
            made = [int(pid) for pid in prof.steps(loader)]
    records = [record for record in batches_of(load(prof.trace_files[0])) if record["finished_us"] is None]
    assert len(records) == 2
    for record in records:
        assert record["pid"] == made[record["batch"]] and record["worker"] == record["batch"] % 2
        assert record["drawn_us"] < record["started_us"]


@pytest.mark.parametrize("kind", [Slow, StreamedBooks])
def test_what_an_earlier_epoch_left_behind_is_in_no_later_window(kind: Any, tmp_path: Path) -> None:
    loader: DataLoader[Any] = annotate.loader(DataLoader(kind(), batch_size=1, num_workers=2))
    with annotate.profile(tmp_path, wait=2, warmup=1, active=2, repeat=2) as prof:
        for epoch in range(3):
            for number, _ in enumerate(prof.steps(loader)):
                if epoch < 2 and number == 3:
                    break
    for path in prof.trace_files:
        trace = load(path)
        pids = {record["pid"] for record in batches_of(trace)}
        assert len(pids) <= 2 * len({record["epoch"] for record in consumed(trace)})


class Numbered(IterableDataset[int]):
    """Each worker counts, without batches."""

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        assert info is not None
        for number in range(6):
            time.sleep(0.001)
            yield os.getpid() if number == 0 else number


def test_without_batching(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbered(), batch_size=None, num_workers=2))
    seen = []
    with annotate.profile(tmp_path / "a", schedule=record_all) as prof:
        for item in loader:
            seen.append(item)
            prof.step()
    trace = load(prof.trace_files[0])
    check(trace)
    assert len(seen) == 12
    records = consumed(trace)
    assert [record["pid"] for record in records[:2]] == seen[:2]
    assert [record["batch"] for record in records] == list(range(12))

    items = annotate.loader(DataLoader(Fast(6), batch_size=None, num_workers=2))
    with annotate.profile(tmp_path / "b", schedule=record_all) as prof:
        seen = [[int(item[0])] for item in items]
    trace = load(prof.trace_files[0])
    check(trace)
    assert seen == [[i] for i in range(6)] == indices_of(consumed(trace), trace)


def test_a_batch_sampler_that_is_a_list(tmp_path: Path) -> None:
    order = [[3, 1], (2, 0), [5], np.array([7, 6])]
    loader = annotate.loader(
        DataLoader(Fast(), batch_sampler=order, num_workers=2, collate_fn=list)  # type: ignore[arg-type]
    )
    with raises_and_lets_go(AssertionError, match="Caught AssertionError"):  # the dataset insists on int
        list(loader)
    seen: list[Any] = []
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        iterator = iter(loader)
        seen += [[row[0] for row in next(iterator)] for _ in range(3)]
        with raises_and_lets_go(AssertionError, match="Caught AssertionError"):
            next(iterator)
    assert loader.batch_sampler is order
    assert seen == [[3, 1], [2, 0], [5]]
    trace = load(prof.trace_files[0])
    check_order(trace)
    assert indices_of(consumed(trace), trace) == [*seen, [7]]


class Own(DataLoader[Any]):
    """Goes its own way past ``DataLoader.__iter__``."""

    def __iter__(self) -> Any:
        return self._get_iterator()


class Through(DataLoader[Any]):
    """As frameworks do."""

    def __iter__(self) -> Any:
        yield from super().__iter__()


def test_subclasses(tmp_path: Path) -> None:
    loader: DataLoader[Any] = annotate.loader(Through(Fast(), batch_size=BATCH, num_workers=2, collate_fn=as_tensor))
    trace, seen = run(tmp_path / "through", loader)
    check(trace)
    assert indices_of(consumed(trace), trace) == [batch.indices for batch in seen]

    loader = annotate.loader(Own(Fast(), batch_size=BATCH, num_workers=2, collate_fn=as_tensor))
    trace, seen = run(tmp_path / "own", loader)
    assert loader.worker_init_fn is None
    assert type(loader.collate_fn) is Collate
    assert sum(map(len, worker_spans(trace).values())) == 24 * 3 + 8
    assert trace["dataPipeline"]["notes"] == []
    assert {record["batch"] for record in batches_of(trace)} == set(range(8))
    assert sorted(record["pid"] for record in batches_of(trace)) == sorted(batch.pid for batch in seen)
    assert all("batch" in span["args"] for spans in worker_spans(trace).values() for span in spans)
    check_order(trace)


def test_a_loader_that_a_framework_rebuilt_is_recorded(tmp_path: Path) -> None:
    given = fast_loader()
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        rebuilt: DataLoader[Any] = DataLoader(
            given.dataset,
            batch_size=2,
            num_workers=1,
            collate_fn=given.collate_fn,
            worker_init_fn=given.worker_init_fn,
        )
        seen = [batch[:, 0].tolist() for batch in rebuilt]
        bare: DataLoader[Any] = DataLoader(given.dataset, batch_size=2, num_workers=1, collate_fn=as_tensor)
        seen += [batch[:, 0].tolist() for batch in bare]
    trace = load(prof.trace_files[0])
    check(trace)
    assert indices_of(consumed(trace), trace) == seen
    assert rebuilt.collate_fn is given.collate_fn
    assert bare.collate_fn is as_tensor


def test_persistent_workers_from_before_are_missed_loudly(tmp_path: Path) -> None:
    loader = fast_loader(persistent_workers=True)
    before = [batch[:, 0].tolist() for batch in loader]
    with pytest.warns(RuntimeWarning, match="no data from.*persistent workers had started before.*Enter"):
        trace, seen = run(tmp_path, loader)
    assert [batch.indices for batch in seen] == before
    assert "no data from the DataLoader workers" in trace["dataPipeline"]["notes"][0]
    assert trace["dataPipeline"]["workers"] == []


def test_persistent_workers_go_on_after_the_session_and_are_missed_in_the_next(tmp_path: Path) -> None:
    loader = fast_loader(persistent_workers=True)
    trace, seen = run(tmp_path / "a", loader)
    check(trace)
    assert [batch[:, 0].tolist() for batch in loader] == [batch.indices for batch in seen]
    with pytest.warns(RuntimeWarning, match="no data from"):
        _, again = run(tmp_path / "b", loader)
    assert [batch.indices for batch in again] == [batch.indices for batch in seen]
    assert [batch[:, 0].tolist() for batch in loader] == [batch.indices for batch in seen]


def test_a_loop_that_began_before_is_missed_loudly(tmp_path: Path) -> None:
    iterator = iter(fast_loader())
    with (
        pytest.warns(RuntimeWarning, match="no data from.*start the loop inside"),
        annotate.profile(tmp_path, schedule=record_all),
    ):
        assert len(list(iterator)) == 8


def test_a_loop_that_goes_on_after_the_session(tmp_path: Path) -> None:
    iterator = iter(fast_loader())
    with annotate.profile(tmp_path / "a", schedule=record_all):
        pass
    with annotate.profile(tmp_path / "b", schedule=record_all) as prof:
        other = iter(fast_loader())
        seen = [next(other)[:, 0].tolist() for _ in range(3)]
    check(load(prof.trace_files[0]))
    seen += [batch[:, 0].tolist() for batch in other]
    assert seen == [[i, i + 1, i + 2] for i in range(0, 24, 3)] == [batch[:, 0].tolist() for batch in iterator]


class Init:
    """A worker_init_fn that shows in the data."""

    def __call__(self, worker: int) -> None:
        info = get_worker_info()
        assert info is not None
        vars(info.dataset).update(size=1000 + worker, transform=Marked())


class Marked(Busy):
    def __call__(self, row: list[int]) -> list[int]:
        return [*super().__call__(row), 77]


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.thorough)])
def test_the_users_worker_init_fn_is_called_first(method: str, tmp_path: Path) -> None:
    init = Init()
    loader = fast_loader(worker_init_fn=init, multiprocessing_context=method)
    trace, seen = run(tmp_path, loader)
    assert loader.worker_init_fn is init
    assert {row[5] for batch in seen for row in batch.rows} == {77}
    names = {span["name"] for spans in worker_spans(trace).values() for span in spans}
    assert "transform::Marked" in names
    check(trace)


def sleep_a_little(worker: int) -> None:
    time.sleep(0.2)


def test_a_worker_is_not_ready_before_its_worker_init_fn_has_returned(tmp_path: Path) -> None:
    trace, _ = run(tmp_path, fast_loader(num_workers=1, worker_init_fn=sleep_a_little))
    (worker,) = trace["dataPipeline"]["workers"]
    first = min(batch["drawn_us"] for batch in batches_of(trace) if batch["drawn_us"] is not None)
    assert worker["started_us"] - first > 150_000
    began, returned = worker["init_us"]
    assert 200_000 <= returned - began < 400_000 and first - 1_000 < began and returned <= worker["started_us"]


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.thorough)])
def test_the_call_of_worker_init_fn_is_recorded_of_each_process(method: str, tmp_path: Path) -> None:
    trace, _ = run(tmp_path, fast_loader(worker_init_fn=sleep_a_little, multiprocessing_context=method))
    assert len(trace["dataPipeline"]["workers"]) == 2
    assert all(1.9e5 < one["init_us"][1] - one["init_us"][0] < 1e6 for one in trace["dataPipeline"]["workers"])


def test_without_a_worker_init_fn_no_call_is_recorded(tmp_path: Path) -> None:
    trace, _ = run(tmp_path, fast_loader())
    assert not any("init_us" in worker for worker in trace["dataPipeline"]["workers"])


def refuse(worker: int) -> None:
    raise LookupError(f"no part for {worker}")


def test_what_a_worker_init_fn_raises_is_the_users_own(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="no part for 0"):
        run(tmp_path, fast_loader(num_workers=1, worker_init_fn=refuse))


class Randoms(Books):
    def __getitem__(self, index: int) -> Any:
        return [random.random(), float(np.random.rand()), float(torch.rand(())), index]


def state() -> Any:
    return torch.get_rng_state().tolist(), random.getstate(), str(np.random.get_state())


@pytest.mark.parametrize("generator", [False, True])
def test_order_results_and_random_numbers_are_the_same(generator: bool, tmp_path: Path) -> None:
    def batches(profiled: bool) -> Any:
        torch.manual_seed(5)
        own = torch.Generator().manual_seed(9) if generator else None
        loader: DataLoader[Any] = DataLoader(
            Randoms(), batch_size=3, shuffle=True, num_workers=2, collate_fn=list, generator=own
        )
        found: list[Any] = []
        if not profiled:
            for _ in range(2):
                found += list(loader)
        else:
            annotate.loader(loader)
            with annotate.profile(tmp_path, schedule=record_all):
                for _ in range(2):
                    found += list(loader)
        assert all(type(batch) is list for batch in found)
        return found, state()

    assert batches(False) == batches(True)


class Threads(Books):
    """Loads with threads of its own."""

    def __getitem__(self, index: int) -> Any:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self.transform, [[0] * 5, [0] * 5]))
        return super().__getitem__(index)


def test_spans_of_a_workers_other_threads_have_rows_of_their_own(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Threads(6), batch_size=3, num_workers=1, collate_fn=as_tensor))
    trace, _ = run(tmp_path, loader)
    (worker,) = trace["dataPipeline"]["workers"]
    spans = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event["pid"] == worker["pid"]]
    own = [span for span in spans if span["tid"] == worker["pid"]]
    beside = [span for span in spans if span["tid"] != worker["pid"]]
    assert len(own) == 6 * 3 + 2
    assert len(beside) == 6 * 2
    assert len({span["tid"] for span in beside}) <= 2, "a pool for each sample: its threads share rows"
    assert sorted((span["args"]["index"], span["args"]["batch"]) for span in beside) == [
        (index, index // 3) for index in range(6) for _ in range(2)
    ]
    titles = {
        event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "thread_name" and event["tid"] in {span["tid"] for span in beside}
    }
    assert titles <= {"DataLoader worker 0, thread 1", "DataLoader worker 0, thread 2"}
    assert trace["dataPipeline"]["dropped_spans"] == 0


def test_a_batch_may_be_unpacked_in_the_pinning_thread(tmp_path: Path) -> None:
    """Which starts only where there is an accelerator: here a thread does what it would."""
    import pickle

    told: list[tuple[int, Any, Any]] = []
    facts, payload = transport.Facts(1, 2, 3, 4, 5, 6, 7, 8), {"losses": (0, 1)}
    text = pickle.dumps((0, transport.Parcel(torch.arange(3), facts[:9], payload)))
    results: list[Any] = []
    transport.arrived = lambda facts, payload: told.append((threading.get_ident(), facts, payload))
    try:
        thread = threading.Thread(target=lambda: results.append(pickle.loads(text)))
        thread.start()
        thread.join()
    finally:
        transport.arrived = None
    ((number, data),) = results
    assert number == 0
    assert torch.equal(data, torch.arange(3))
    assert [(entry[1][:9], entry[2]) for entry in told] == [(facts[:9], payload)]
    moments = told[0][1][-3:]
    assert moments == tuple(sorted(moments)), "serialise, serialised, deserialise"
    assert torch.equal(pickle.loads(text)[1], data)
    with pytest.warns(UserWarning, match="no accelerator"):
        trace, _ = run(tmp_path, fast_loader(pin_memory=True))
    check(trace)


def test_the_clocks_agree_over_an_hour() -> None:
    """They differ by 100 parts in a million, and a system that is busy for a while at one of the anchors."""
    hour = 3_600_000_000_000

    def kineto(perf: int) -> int:
        return 4_370_068_749_582_373 + perf + perf // 10_000

    anchors = Anchors()
    anchors.first = [Reading(0, 0, 40_000), Reading(1, 50_000, 50_800)]
    anchors.last = [Reading(5, hour, hour + 900), Reading(6, hour + 2000, hour + 90_000)]
    for reading in (*anchors.first, *anchors.last):
        ts = kineto(reading.before + 300)
        text = f'"name": "annotate: clock {reading.number}", "pid": 7, "tid": 8,\n "ts": {ts // 1000}.{ts % 1000:03d}'
        anchors.look(text.encode())
    clock = anchors.clock()
    assert clock is not None
    assert anchors.thread == (7, 8)
    moments = np.arange(0, hour + 1, hour // 1000)
    expected = np.array([kineto(int(moment)) for moment in moments])
    assert np.abs(clock.ts_ns(moments) - expected).max() < 1000
    assert [clock.ts_ns(int(moment)) for moment in moments[::100]] == clock.ts_ns(moments)[::100].tolist()


def test_an_annotated_wait_receives_the_arrows(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        assert len(list(prof.steps(fast_loader()))) == 8
    trace = load(prof.trace_files[0])
    check(trace)
    waits = [nanoseconds(e) for e in trace["traceEvents"] if e["ph"] == "X" and e["name"].startswith("wait::")]
    ends = [round(e["ts"] * 1000) for e in trace["traceEvents"] if e.get("cat") == "batch" and e["ph"] == "f"]
    assert len(ends) == 8
    assert all(any(begin <= end <= done for begin, done in waits) for end in ends)
    check_arrows(trace)


def test_the_old_profiler_plugin_reads_the_file(tmp_path: Path) -> None:
    data = pytest.importorskip("torch_tb_profiler.profiler.data")
    loader = annotate.loader(DataLoader(StreamedBooks(), batch_size=BATCH, num_workers=2, collate_fn=as_tensor))
    with annotate.profile(tmp_path, wait=0, warmup=1, active=3) as prof:
        for _ in prof.steps(loader):
            torch.ones(8, 8) @ torch.ones(8, 8)
    parsed = data.RunProfileData.parse("worker0", 0, prof.trace_files[0], str(tmp_path))
    parsed.process()
    parsed.analyze()
    assert parsed.avg_costs.costs[-1] > 0


def test_a_sampler_is_iterated_as_often_as_without(tmp_path: Path) -> None:
    class Counting(list):  # type: ignore[type-arg]
        iterations = 0

        def __iter__(self) -> Any:
            Counting.iterations += 1
            return super().__iter__()

    def times(profiled: bool) -> int:
        Counting.iterations = 0
        loader: DataLoader[Any] = DataLoader(Fast(), sampler=Counting(range(6)), num_workers=1, batch_size=3)
        loader.collate_fn = as_tensor
        if profiled:
            run(tmp_path, annotate.loader(loader), epochs=2)
        else:
            list(loader), list(loader)
        return Counting.iterations

    assert times(False) == times(True)


def test_hooks_are_seen_by_the_iterator_and_nobody_else(tmp_path: Path) -> None:
    loader = fast_loader()
    before = dict(vars(loader))
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        for _ in loader:
            assert dict(vars(loader)) == before
            prof.step()
    assert dict(vars(loader)) == before


def test_a_failure_of_ours_leaves_the_users_loop_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from annotate.workers import worker_side

    def broken(*_: object) -> None:
        raise ValueError("ours")

    monkeypatch.setattr(worker_side, "begin", broken)
    with pytest.warns(RuntimeWarning, match="DataLoader worker. Internal error: ValueError: ours") as warned:
        trace, seen = run(tmp_path, fast_loader())
    assert len([each for each in warned if each.category is RuntimeWarning]) == 1, "Python's own is of torch's threads"
    assert [batch.indices for batch in seen] == [[i, i + 1, i + 2] for i in range(0, 24, 3)]
    assert trace["dataPipeline"]["workers"] == []


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_forked_workers_are_watched_while_they_build_their_first_batch(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may take long. One that has yet to start Python is not looked at until it has sent a batch."""
    known: list[set[int]] = []
    monkeypatch.setattr(Watch, "add_workers", lambda _, pids, forked: known.append(set(pids)))
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        epoch: Any = iter(fast_loader(multiprocessing_context=method))
        assert known[-1] == ({each.pid for each in epoch._workers} if method == "fork" else set())
        for _ in epoch:
            prof.step()
    assert len(known[-1]) == 2
