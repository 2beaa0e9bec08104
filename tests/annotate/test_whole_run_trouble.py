"""`annotate.watch`: failures and retries by stage, slow samples, and how long the loop waits for Python's lock."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from test_watching import busy_thread, gone, watchers_of
from torch.utils.data import DataLoader, Dataset, IterableDataset

import annotate
from annotate.hooks.patching import Patches
from annotate.host import lock_share
from annotate.host.lock_share import EVERY_S, STRETCH_S, LockShare
from annotate.recording import sums, switch
from annotate.whole_run import current, iterating
from annotate.whole_run.tally import MOST_SLOW, Tally, merged
from annotate.workers.sums_content import NAME, BatchSums, SumsContent
from annotate.workers.transport import Tag

MS = 1_000_000


class Flaky(Dataset[torch.Tensor]):
    """Every third item fails at first, and is read again."""

    def __init__(self, gives_up: int = -1) -> None:
        self.gives_up = gives_up

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> torch.Tensor:
        for attempt in range(3):
            try:
                with annotate.stage("read", "network"):
                    if index == self.gives_up or (index % 3 == 0 and not attempt):
                        raise ConnectionError(f"item {index}")
                    return torch.tensor([index])
            except ConnectionError:
                if attempt == 2:
                    raise
        raise AssertionError


class Files(Dataset[torch.Tensor]):
    """A file each, opened in another way by every second item."""

    def __init__(self, folder: Path) -> None:
        self.paths = [folder / f"{index}.txt" for index in range(24)]
        for path in self.paths:
            path.write_text("1")

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> torch.Tensor:
        with open(self.paths[index]) if index % 2 else open(str(self.paths[index]), "rb") as file:
            return torch.tensor([int(file.read())])


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(8))


@pytest.fixture(autouse=True)
def every_batch_is_measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(iterating, "_EVERY", 1)
    monkeypatch.setattr(iterating, "_BETWEEN_NS", 0)
    yield
    annotate.off()
    assert current.current() is None


def interval_of(folder: Path) -> Any:
    (path,) = folder.glob("*.watch.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return next(line for line in lines if line["kind"] == "interval")["loaders"][0]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stage_that_fails_and_is_called_again_is_counted(tmp_path: Path, workers: int) -> None:
    loader = DataLoader(Flaky(), batch_size=4, num_workers=workers)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    assert torch.cat(list(loader)).flatten().tolist() == list(range(24))
    annotate.off()
    numbers = interval_of(tmp_path)
    assert (numbers["failures"], numbers["retries"]) == ({"read::network": 8}, {"read::network": 8})
    assert numbers["measured_samples"] == 24 and "raised" not in numbers


@pytest.mark.parametrize("workers", [0, 2])
def test_an_exception_that_comes_to_the_loop_is_the_datasets_own_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    # Whoever collects a failed iterator waits so long for each of its workers: here the test, not the run's own thread.
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.1)
    loader = DataLoader(Flaky(gives_up=9), batch_size=4, num_workers=workers)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    with pytest.raises(ConnectionError, match="item 9"):
        list(loader)
    gc.collect()
    annotate.off()
    assert interval_of(tmp_path)["raised"] == 1


@pytest.mark.parametrize("workers", [0, 2])
def test_the_slowest_samples_are_named_by_index_batch_and_worker(tmp_path: Path, workers: int) -> None:
    loader = DataLoader(Flaky(), batch_size=4, num_workers=workers)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    assert sum(len(batch) for _ in range(2) for batch in loader) == 48
    annotate.off()
    samples = interval_of(tmp_path)["slow_samples"]
    assert len(samples) == MOST_SLOW
    assert [sample["took_us"] for sample in samples] == sorted((s["took_us"] for s in samples), reverse=True)
    for sample in samples:
        assert sample["batch"] == sample["index"] // 4 and sample["epoch"] in (0, 1)
        assert sample.get("worker") == (sample["batch"] % 2 if workers else None)


@pytest.mark.parametrize(("workers", "every"), [(0, 1), (2, 1), (2, 3)])
def test_the_slowest_samples_are_named_by_their_files_measured_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, every: int
) -> None:
    monkeypatch.setattr(iterating, "_EVERY", every)
    dataset = Files(tmp_path)
    loader = DataLoader(dataset, batch_size=2, num_workers=workers)
    annotate.watch(loader, logdir=tmp_path / "run", interval_s=3600)
    assert len([batch for _ in range(2) for batch in loader]) == 24
    annotate.off()
    samples = interval_of(tmp_path / "run")["slow_samples"]
    assert len(samples) == MOST_SLOW
    assert [sample["files"] for sample in samples] == [[str(dataset.paths[sample["index"]])] for sample in samples]


def test_the_end_of_an_iterable_dataset_is_no_failure(tmp_path: Path) -> None:
    loader = DataLoader(Stream(), batch_size=3)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    assert len(list(loader)) == 3
    annotate.off()
    numbers = interval_of(tmp_path)
    assert "failures" not in numbers and "slow_samples" not in numbers, "its items have no index"


def fails() -> None:
    raise OSError


def test_a_call_for_the_next_sample_is_no_retry_and_each_stage_that_is_left_has_failed() -> None:
    before = switch.recorder
    switch.install(sums.RECORDER)
    try:
        sums.start()
        for index in range(2):
            with pytest.raises(OSError):
                sums.sample("sample::a", index, sums.call, "read::a", fails, (), {})
        sums.stop(0)
    finally:
        switch.install(before)
    assert sums.attempts() == sums.Attempts({"sample::a": 2, "read::a": 2}, {})
    assert sums.samples() == sums.Samples(0, ())


def test_a_sample_has_the_time_that_no_stage_in_it_takes() -> None:
    def of(took: float) -> None:
        sums.call("read::a", time.sleep, (0.002,), {})
        time.sleep(took)

    before = switch.recorder
    switch.install(sums.RECORDER)
    try:
        sums.start()
        sums.sample("sample::a", 0, of, 0.02)
        with pytest.raises(ValueError):
            sums.sample("sample::a", 1, of, -1)
        *_, rest = sums.stop(1000 * MS)
    finally:
        switch.install(before)
    found = sums.stages()
    assert found["sample::a"] >= 20 * MS and found["read::a"] >= 4 * MS
    assert rest == 1000 * MS - found["read::a"]


def test_a_batch_that_raised_hands_its_failures_to_the_next() -> None:
    patches, before = Patches(), switch.recorder
    content = SumsContent(patches)
    try:
        for is_last in (False, True):
            content.begin(Tag(0, int(is_last), frozenset({NAME})))
            content.started(0)
            with pytest.raises(OSError):
                sums.call("read::a", fails, (), {})
            if not is_last:
                content.fail()
        found = content.finish(0, 1)
    finally:
        switch.install(before)
        patches.undo()
    assert found is not None and BatchSums.received(found).attempts.failures == {"read::a": 2}


def test_merged_intervals_keep_the_slowest_samples_of_both() -> None:
    first, second = Tally(), Tally()
    for tally, start in ((first, 0), (second, 1)):
        tally.epochs = 1
        tally.add_slow_samples([{"took_us": float(2 * place + start), "index": place} for place in range(9)])
    lines = [{"from": 0, "to": 1, "loaders": [tally.facts(0)], "machine": {}} for tally in (first, second)]
    (numbers,) = merged(*lines)["loaders"]
    assert [sample["took_us"] for sample in numbers["slow_samples"]] == [17, 16, 15, 14, 13]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what threads wait for")
def test_a_stretch_now_and_then_sees_a_thread_wait_for_the_lock() -> None:
    share = LockShare(100.0)
    share.begin()
    try:
        assert len(watchers_of(os.getpid())) == 1
        assert share.due > 100 + EVERY_S, "a short program is not looked at"
        with busy_thread():
            share.turn(share.due, threading.get_native_id())
            assert share.due == pytest.approx(100 + EVERY_S + 0.618 * (EVERY_S - STRETCH_S) + STRETCH_S, abs=0.1)
            until = time.monotonic() + 1
            while time.monotonic() < until:
                time.sleep(0.0002)
            share.turn(share.due, threading.get_native_id())
        found = share.take()
        assert found is not None and found > 0.3
        assert share.take() is None and 100 + 2 * EVERY_S <= share.due < 100 + 3 * EVERY_S
    finally:
        share.end()
    assert gone(os.getpid())


def test_while_a_capture_is_on_no_stretch_begins() -> None:
    share = LockShare(100.0)
    share.begin()
    share.turn(share.due, None)
    assert share._open is None and share.take() is None
    share.end()
    assert share.due == float("inf")


def test_a_watcher_that_was_killed_costs_the_share_and_nothing_is_said(recwarn: pytest.WarningsRecorder) -> None:
    share = LockShare(100.0)
    share.begin()
    assert share._process is not None
    os.kill(share._process.pid, 9)
    share.turn(share.due, threading.get_native_id())
    assert share.due == float("inf") and not recwarn.list


def test_a_watcher_that_nobody_ends_ends_with_whoever_had_it() -> None:
    share = LockShare(100.0)
    share.begin()
    assert len(watchers_of(os.getpid())) == 1
    del share
    gc.collect()  # a pipe that is left open would be a ResourceWarning
    assert gone(os.getpid())


def test_the_interval_has_the_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_share, "EVERY_S", 0.05)
    monkeypatch.setattr(lock_share, "STRETCH_S", 0.02)
    loader = DataLoader(Flaky(), batch_size=4)
    annotate.watch(loader, logdir=tmp_path, interval_s=0.1)
    until = time.monotonic() + 60
    while time.monotonic() < until and not any('"gil_share"' in path.read_text() for path in tmp_path.glob("*.jsonl")):
        list(loader)
    annotate.off()
    lines = [json.loads(line) for path in tmp_path.glob("*.jsonl") for line in path.read_text().splitlines()]
    shares = [line["machine"].get("gil_share") for line in lines if line["kind"] == "interval"]
    known = [value for value in shares if value is not None]
    assert known and all(0 <= value <= 1 for value in known)


@pytest.fixture
def no_batch_but_the_last_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iterating.RunEpoch, "drawn_asleep", lambda self, number, indices: NAME if number == 5 else None)


@pytest.mark.usefixtures("no_batch_but_the_last_is_measured")
def test_a_worker_notices_failures_and_slow_samples_of_batches_that_are_not_measured(tmp_path: Path) -> None:
    loader = DataLoader(Flaky(), batch_size=4, num_workers=1)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    assert torch.cat(list(loader)).flatten().tolist() == list(range(24))
    annotate.off()
    numbers = interval_of(tmp_path)
    assert (numbers["measured_samples"], numbers["other_samples"]) == (4, 20)
    assert (numbers["failures"], numbers["retries"]) == ({"read::network": 1}, {"read::network": 1})
    assert numbers["other_failures"] == {"read::network": 7}
    samples = numbers["slow_samples"]
    assert len(samples) == MOST_SLOW
    assert sum(sample["batch"] < 5 for sample in samples) >= 2, "three of the measured batch at most"
    assert all(sample["batch"] == sample["index"] // 4 and sample["worker"] == 0 for sample in samples)


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_tell_with_the_last_batch_of_an_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, persistent: bool
) -> None:
    """Those that end with it also of this batch's stages; those that live on may do so later."""
    monkeypatch.setattr(iterating, "_EVERY", 10**9)
    loader = DataLoader(Flaky(), batch_size=4, num_workers=2, persistent_workers=persistent)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    for _ in range(2):
        assert torch.cat(list(loader)).flatten().tolist() == list(range(24))
    annotate.off()
    numbers = interval_of(tmp_path)
    assert numbers.get("other_samples", 0) == (48 if persistent else 32)
    assert numbers.get("measured_samples", 0) == (0 if persistent else 16), "all of a last batch's stages are seen"
    assert "measured" not in numbers and "stage_us" not in numbers
    assert len(numbers["slow_samples"]) == MOST_SLOW


class Nested(Dataset[torch.Tensor]):
    """Takes another item where one is broken."""

    def __init__(self) -> None:
        self.dataset = Flaky(gives_up=9)

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> torch.Tensor:
        try:
            return self.dataset[index]
        except ConnectionError:
            return self.dataset[index + 1]


@pytest.mark.usefixtures("no_batch_but_the_last_is_measured")
def test_a_sample_of_a_dataset_inside_another_is_one_sample(tmp_path: Path) -> None:
    loader = DataLoader(Nested(), batch_size=4, num_workers=1)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    assert len(list(loader)) == 6
    annotate.off()
    numbers = interval_of(tmp_path)
    assert numbers["other_samples"] == 20
    assert numbers["other_failures"] == {"read::network": 9}, "each of the three attempts of item 9, and six others"


class Picky:
    def __call__(self, value: int) -> int:
        if value % 2:
            raise ValueError("odd")
        return value


class Transformed(Dataset[int]):
    def __init__(self) -> None:
        self.transform = Picky()

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> int:
        try:
            return self.transform(index)
        except ValueError:
            return -1


@pytest.mark.usefixtures("no_batch_but_the_last_is_measured")
def test_a_transform_that_fails_is_noticed_too(tmp_path: Path) -> None:
    loader = DataLoader(Transformed(), batch_size=4, num_workers=1)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    assert sum(int((batch == -1).sum()) for batch in loader) == 12
    annotate.off()
    numbers = interval_of(tmp_path)
    assert (numbers["other_failures"], numbers["failures"]) == ({"transform::Picky": 10}, {"transform::Picky": 2})


def odd_fails(value: int) -> int:
    if value % 2:
        raise ValueError("odd")
    return value


def odd_fails_slowly(value: int) -> Iterator[int]:
    yield odd_fails(value)


class Keeping(Transformed):
    """Keeps what makes its samples under a name of its own, and uses it for a batch as well."""

    def __init__(self, parse: Callable[[int], int]) -> None:
        self.parse = parse

    def __getitem__(self, index: int) -> int:
        try:
            return self.parse(index)
        except ValueError:
            return -1

    def joined(self, batch: list[int]) -> list[int]:
        with suppress(ValueError):
            self.parse(1)
        return batch


@pytest.mark.usefixtures("no_batch_but_the_last_is_measured")
@pytest.mark.parametrize("name", ["Picky", "odd_fails"])
def test_failures_of_what_a_dataset_keeps_are_noticed_in_all_its_samples_and_nowhere_else(
    tmp_path: Path, name: str
) -> None:
    ds = Keeping(Picky() if name == "Picky" else odd_fails)
    loader = DataLoader(ds, batch_size=4, num_workers=1, collate_fn=ds.joined)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    assert sum(batch.count(-1) for batch in loader) == 12
    annotate.off()
    numbers = interval_of(tmp_path)
    stage = f"transform::{name}"
    assert (numbers["other_failures"], numbers["failures"]) == ({stage: 10}, {stage: 2})


def test_a_stage_that_is_a_generator_fails_in_all_batches(tmp_path: Path) -> None:
    class Streamed(Transformed):
        def __getitem__(self, index: int) -> int:
            try:
                return next(annotate.stage("read", "stream")(odd_fails_slowly)(index))
            except ValueError:
                return -1

    loader = DataLoader(Streamed(), batch_size=4, num_workers=1)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    assert sum(int((batch == -1).sum()) for batch in loader) == 12
    annotate.off()
    numbers = interval_of(tmp_path)
    failures = Counter(numbers.get("failures", {})) + Counter(numbers.get("other_failures", {}))
    assert failures == {"read::stream": 12}
