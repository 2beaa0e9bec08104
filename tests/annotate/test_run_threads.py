"""`annotate.watch` of a program that trains in one thread and evaluates in another: each has steps of its own."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
import torch
from run_helpers import Loaders
from torch.utils.data import DataLoader, TensorDataset

import annotate
from annotate.recording import switch
from annotate.whole_run import current
from annotate.whole_run.iterating import RunIterator
from annotate.whole_run.series import Series

MS = 1_000_000
Elsewhere = Callable[..., None]


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    """Calls functions in another thread, always the same."""
    with ThreadPoolExecutor(1) as pool:
        yield lambda function, *args: pool.submit(function, *args).result()


@pytest.fixture
def loaders() -> Iterator[tuple[Series, Series]]:
    """Of the training, and of the evaluation."""
    owner = Loaders()
    yield Series(0, owner, 4, None), Series(1, owner, 4, None)
    owner.takers.end()


def came(iterator: RunIterator, *moments: int) -> None:
    """Batches, at these milliseconds, each waited for a millisecond."""
    for moment in moments:
        iterator._came((moment - 1) * MS, moment * MS)


def iterator_of(series: Series, began: int = 0) -> RunIterator:
    return RunIterator(series, None, nullcontext, began * MS)


def test_batches_that_another_thread_takes_are_in_no_step_of_this_one(
    loaders: tuple[Series, Series], elsewhere: Elsewhere
) -> None:
    train, evaluation = loaders
    ours, theirs = iterator_of(train), iterator_of(evaluation)
    for turn in range(1, 300):
        came(ours, 20 * turn)
        if turn % 3 == 0:
            elsewhere(came, theirs, 20 * turn + 5)
    own, other = train.take(), evaluation.take()
    assert (own.steps, own.step_ns, own.unused_steps) == (298, 298 * 20 * MS, 0)
    assert (other.steps, other.step_ns, other.unused_steps) == (98, 98 * 60 * MS, 0)
    assert own.beside_ns == 99 * 20 * MS, "only those in which a batch came to the other thread"
    assert other.beside_ns == 98 * 60 * MS + 65 * MS, "and its first, from the making of the iterator on"


def test_a_validation_by_the_same_thread_is_in_no_step(loaders: tuple[Series, Series], elsewhere: Elsewhere) -> None:
    train, evaluation = loaders
    third = iterator_of(Series(2, train.owner, 4, None))
    ours = iterator_of(train)
    came(ours, 20, 40, 60)
    elsewhere(came, third, 65)
    came(iterator_of(evaluation, 70), 80, 90)
    elsewhere(came, third, 95)
    came(ours, 120, 140)
    found = train.take()
    assert (found.steps, found.step_ns, found.unused_steps) == (3, 60 * MS, 1)
    assert found.other_ns == 30 * MS, "since the validation's last batch"


def test_where_several_threads_take_the_batches_a_validation_by_any_is_in_no_step(
    loaders: tuple[Series, Series], elsewhere: Elsewhere
) -> None:
    """As with `asyncio.to_thread`: whichever thread of a pool is free."""
    train, evaluation = loaders
    ours = iterator_of(train)
    came(ours, 20)
    elsewhere(came, ours, 40)
    came(ours, 60)
    elsewhere(came, iterator_of(evaluation, 61), 80)
    came(ours, 100, 120)
    elsewhere(came, ours, 140)
    found = train.take()
    assert (found.steps, found.step_ns, found.unused_steps) == (4, 80 * MS, 1)


def test_a_pause_in_which_another_thread_takes_batches_is_not_outside_of_steps(
    loaders: tuple[Series, Series], elsewhere: Elsewhere
) -> None:
    train, evaluation = loaders
    ours = iterator_of(train)
    came(ours, 20, 40)
    for began in (100, 200):
        theirs = iterator_of(evaluation, began)
        elsewhere(came, theirs, began + 10)
        elsewhere(theirs._came_none, (began + 15) * MS, StopIteration())
        came(ours, began + 40)
    ours._came_none(245 * MS, StopIteration())
    came(iterator_of(train, 300), 310)
    own, other = train.take(), evaluation.take()
    assert (other.between, other.other_ns) == (0, 2 * 5 * MS)
    assert (own.between, own.between_ns, own.other_ns) == (1, 55 * MS, 5 * MS)


def test_what_a_profiler_made_longer_for_two_threads_is_counted_once(
    loaders: tuple[Series, Series], elsewhere: Elsewhere
) -> None:
    train, evaluation = loaders
    ours, theirs = iterator_of(train), iterator_of(evaluation)
    came(ours, 20)
    elsewhere(came, theirs, 25)
    switch.disturb()
    came(ours, 40)
    elsewhere(came, theirs, 45)
    own, other = train.take(), evaluation.take()
    assert (own.other_ns, other.other_ns) == (20 * MS, 20 * MS)
    assert own.profiled_ns + other.profiled_ns == 20 * MS


def test_the_thread_whose_lock_is_looked_at_is_that_of_most_batches(tmp_path: Path) -> None:
    annotate.watch(logdir=tmp_path, captures=0)
    ours = current.current()
    assert ours is not None
    train, evaluation = (DataLoader(TensorDataset(torch.arange(rows)), batch_size=1) for rows in (9, 3))
    batches = iter(train)
    for _ in range(4):
        next(batches)
    thread = threading.Thread(target=list, args=(evaluation,))
    thread.start()
    thread.join()
    assert ours.loaders.thread == threading.get_native_id()
    annotate.off()


def test_a_thread_that_is_gone_keeps_no_dataset(loaders: tuple[Series, Series]) -> None:
    class Rows(list[int]): ...

    train, evaluation = loaders
    rows = Rows()
    gone = weakref.ref(rows)
    theirs = RunIterator(evaluation, None, partial(nullcontext, rows), 0)
    thread = threading.Thread(target=came, args=(theirs, 10, 20))
    thread.start()
    thread.join()
    came(iterator_of(train), 30)
    gc.disable()
    try:
        del rows, theirs, thread
        assert gone() is None
    finally:
        gc.enable()
