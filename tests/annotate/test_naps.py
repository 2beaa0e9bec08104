"""Batches of a dormant worker carry nothing, and are known by number all the same once a profiler prepares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.workers import naps
from annotate.workers.batches import Batch, Iteration, TaggingIterator
from annotate.workers.content import Place
from annotate.workers.standing import StandingEpoch
from annotate.workers.transport import NOTHING_WANTED, Facts, LeanParcel, Parcel, Payload, Tag, Tagged
from annotate.workers.worker_side import Worker, WorkerCollate


class Hears:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, int]] = []

    def drawn(self, batch: Batch, indices: object) -> None:
        self.said.append(("drawn", batch.batch))

    def arrived(self, batch: Batch, facts: Facts, payload: Payload) -> None:
        self.said.append(("arrived", batch.batch))

    def consumed(self, batch: Batch) -> None:
        self.said.append(("consumed", batch.batch))


class Loop:
    """An iteration of two workers, as torch draws for it."""

    def __init__(self, *, has_workers: bool = True) -> None:
        self.iteration = Iteration(0, in_order=True, iterable=False, has_workers=has_workers)
        self.hears, self.handed_out = Hears(), 0
        self.iteration.listeners.append(self.hears)
        self._iterator: Iterator[Any] = TaggingIterator(iter([[n] for n in range(100)]), self.iteration, None)

    def start(self) -> None:
        """The queues are filled, and nobody but us looks."""
        for _ in range(4):
            next(self._iterator)
        self.iteration.is_starting = False
        self.sleep()

    def sleep(self) -> None:
        self.iteration.fall_asleep(self.hand_out)

    def hand_out(self) -> None:
        self.handed_out += 1

    def _process_data(self) -> Any:  # the name of torch's own method, by which a draw for a batch is known
        return next(self._iterator)

    def take(self) -> Any:
        return self._process_data()


def test_nothing_travels_with_a_batch_that_is_drawn_asleep() -> None:
    loop = Loop()
    loop.start()
    for _ in range(4):  # the tagged ones are handed out
        assert type(loop.take()) is list
    assert loop.hears.said[-1] == ("consumed", 3)
    assert loop.handed_out == 0
    del loop.hears.said[:]
    assert [loop.take() for _ in range(3)] == [[8], [9], [10]]
    assert (loop.hears.said, loop.handed_out, loop.iteration.outstanding) == ([], 3, {})


def test_what_is_on_its_way_is_known_again_after_waking() -> None:
    loop = Loop()
    loop.start()
    for _ in range(6):
        loop.take()
    assert [batch.batch for batch in loop.iteration.wake()] == [6, 7, 8, 9]
    assert all(batch.drawn is not None for batch in loop.iteration.outstanding.values())
    tagged = loop.take()
    assert isinstance(tagged, Tagged)
    assert tagged.tag.batch == 10
    assert loop.hears.said[-2:] == [("consumed", 6), ("drawn", 10)]
    loop.sleep()
    for _ in range(4):
        loop.take()
    assert loop.hears.said[-1] == ("consumed", 10)


class Samples(Hears):
    """May sleep, and wants to know every third batch."""

    def drawn_asleep(self, number: int, indices: object) -> str | None:
        return None if number % 3 else "sums"

    def told(self, facts: Facts, payload: Payload) -> None:
        self.said.append(("told", facts.batch))


def test_a_batch_that_somebody_wants_to_know_travels_with_its_tag_and_is_known_after_waking() -> None:
    loop, samples = Loop(), Samples()
    loop.iteration.listeners.append(samples)
    loop.iteration.sampling.append(samples)
    loop.start()
    loop.hears.said.clear()
    drawn = [loop._process_data() for _ in range(9)]
    assert [isinstance(indices, Tagged) for indices in drawn] == [number % 3 == 0 for number in range(4, 13)]
    assert loop.handed_out == 4, "of nine: five are known by number"
    assert [number for said, number in loop.hears.said if said == "consumed"] == [0, 1, 2, 3, 6]
    loop.iteration.arrive(5, Facts(0, -1, 0, 0, 7, 5, 0, 4), {})
    assert loop.hears.said[-1][0] == "consumed" and samples.said[-1] == ("told", -1), "by a worker, of no batch"
    assert [batch.batch for batch in loop.iteration.wake()] == [9, 10, 11, 12]


def test_without_workers_each_batch_is_still_a_turn() -> None:
    loop = Loop(has_workers=False)
    loop.iteration.is_starting = False
    loop.sleep()
    assert [loop.take() for _ in range(3)] == [[0], [1], [2]]
    assert (loop.handed_out, loop.hears.said, loop.iteration.wake()) == (3, [], [])
    loop.take()
    assert loop.hears.said == [("drawn", 3)]


class Dormant:
    """Whether a profiler is at work, as a worker sees it."""

    def __init__(self) -> None:
        self.value = True

    def __call__(self) -> bool:
        return self.value


def worker(dormant: Dormant) -> Worker:
    """Worker 1 of 2."""
    place = Place(0, 0)
    return Worker(place, 1, 5, [], sleep=naps.Naps(2, dormant))


def test_a_worker_counts_its_batches_and_says_so_when_it_awakes() -> None:
    dormant = Dormant()
    works = worker(dormant)
    works.begin(Tag(7, 1, NOTHING_WANTED))
    assert isinstance(works.finish("first"), LeanParcel)
    assert [works.finish(data) for data in ("second", "third")] == ["second", "third"]
    dormant.value = False
    parcel = works.finish("fourth")
    assert isinstance(parcel, Parcel)
    assert parcel.facts[:4] == (7, 7, 0, 1)
    assert len(parcel.payload[naps.NAME]) == 2
    assert parcel.facts[6] == parcel.payload[naps.NAME][-1]  # not begun before the one before was finished
    following = works.finish("fifth")
    assert following.facts[:2] == (7, 9)
    works.begin(Tag(7, 11, NOTHING_WANTED))
    assert works.finish("sixth").facts[:2] == (7, 11)


def test_a_tag_puts_the_count_right() -> None:
    dormant = Dormant()
    works = worker(dormant)
    works.begin(Tag(7, 1, NOTHING_WANTED))
    works.finish("first")
    works.finish("second")
    dormant.value = False
    works.begin(Tag(8, 1, NOTHING_WANTED))  # the next epoch
    assert isinstance(works.finish("of another epoch"), LeanParcel)


def test_batches_of_the_same_worker_are_completed_from_the_one_behind_them() -> None:
    woken = {number: Batch(0, number, drawn) for number, drawn in ((3, 100), (5, 450), (6, 0))}
    woken[3].consumed = 800
    behind = Batch(0, 7, 700)
    behind.worker, behind.pid, behind.arrived = 1, 4321, 900
    naps.note(behind, (200, 400, 600), woken, 2)
    assert (woken[3].worker, woken[3].pid, woken[3].started, woken[3].finished) == (1, 4321, 200, 400)
    assert woken[3].arrived == 800  # it was handed out then
    assert (woken[5].started, woken[5].finished, woken[5].arrived) == (450, 600, 900)
    assert woken[6].worker is None  # of the other worker


class Raises(Dataset[int]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        if index == 2:
            raise ValueError("the user's own")
        return index


def test_a_fault_of_ours_costs_no_batch_and_the_users_exception_is_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: StandingEpoch) -> None:
        raise RuntimeError("of ours")

    monkeypatch.setattr(StandingEpoch, "_passed", broken)
    loader = annotate.loader(DataLoader(Raises(), batch_size=1, num_workers=1, prefetch_factor=1))
    seen = []
    with pytest.warns(RuntimeWarning, match="of ours"), pytest.raises(ValueError, match="the user's own"):
        for batch in loader:
            seen.extend(batch.tolist())
    assert seen == [0, 1]
    assert repr(WorkerCollate(len)) == repr(len)


def test_moments_of_a_batch_that_nobody_told_of_are_no_times() -> None:
    """They were a time before everything in the file."""
    batch = Batch(0, 0, drawn=5)
    batch.arrive(400, Facts(0, 0, 0, 1, 4321, 10, 100, 200))
    assert (batch.finished, batch.arrived) == (200, 400)
    assert (batch.serialise, batch.serialised, batch.deserialise) == (None, None, None)
