"""Work that brings nothing, from indices, sizes and settings made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tb_dataplugin.findings.waste import find_again, find_same_order, find_tail, find_twins, read_waste
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.ranks.indices import Indices
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder


def indices(*epochs: Sequence[int], size: int = 8, replacement: bool = False) -> Indices:
    """Each epoch's samples in their order, `size` in a batch."""
    index = [sample for epoch in epochs for sample in epoch]
    number = [epoch for epoch, samples in enumerate(epochs) for _ in samples]
    batch = [place // size for samples in epochs for place in range(len(samples))]
    return Indices("Pets", int64(index), int64(number), int64(batch), replacement)


def sizes(seed: int, count: int = 40) -> Int64Array:
    return int64(np.random.default_rng(seed).integers(100, 200, count))


def test_samples_read_again_in_an_epoch_are_counted() -> None:
    again = find_again(indices([*range(70), *range(30)]))
    assert again is not None and (again.samples, again.again, again.share) == (100, 30, 0.3)


def test_of_some_steps_only_their_samples_are_counted() -> None:
    """The last 20 of them, of which 10 had been read in the steps before."""
    seen = indices([*range(70), *range(70, 80), *range(10)])
    chosen = replace(seen, chosen=np.arange(len(seen)) >= 70)
    again = find_again(chosen)
    assert again is not None and (again.samples, again.again) == (20, 10)


def test_the_next_epoch_reads_no_sample_again() -> None:
    again = find_again(indices(range(40), range(40)))
    assert again is not None and again.again == 0


def test_a_sampler_with_replacement_wastes_nothing() -> None:
    assert find_again(indices([1] * 40, replacement=True)) is None


def test_an_epoch_in_the_order_of_the_one_before_is_seen_by_its_batches() -> None:
    order = np.random.default_rng(3).permutation(64).tolist()
    other = np.random.default_rng(4).permutation(64).tolist()
    assert find_same_order(indices(order, order)) == 1.0
    assert (find_same_order(indices(order, other)) or 0) < 0.5


def test_an_order_is_compared_where_both_epochs_were_seen() -> None:
    order = np.random.default_rng(3).permutation(64).tolist()
    assert find_same_order(indices(order, order[:24])) == 1.0
    assert find_same_order(indices(order, order[:8])) is None
    assert find_same_order(indices(order)) is None


@pytest.mark.parametrize(("shuffle", "same"), [(True, False), (False, True)])
def test_what_drop_last_leaves_out(shuffle: bool, same: bool) -> None:
    tail = find_tail(LoaderInfo(drop_last=True, batch_size=64, sampler_length=100, shuffle=shuffle))
    assert tail is not None and (tail.left_out, tail.share, tail.same_ones) == (36, 0.36, same)
    assert find_tail(LoaderInfo(drop_last=False, batch_size=64, sampler_length=100)) is None
    assert find_tail(LoaderInfo(drop_last=True, batch_size=64)) is None


def test_workers_whose_items_have_the_same_sizes_read_the_same() -> None:
    one, other = sizes(1), sizes(2)
    twins = find_twins([one, one, one])
    assert twins is not None and twins.workers == 3 and twins.share == pytest.approx(2 / 3)
    twins = find_twins([one, one[:30], other])
    assert twins is not None and twins.workers == 2 and twins.share == pytest.approx(30 / 110)
    assert find_twins([one, other]) is None


def test_items_of_the_usual_size_say_nothing() -> None:
    """Most chunks of a text are of one length: what is equal in all of them shows no twins."""
    mostly = np.full(400, 4096)
    one, other = mostly.copy(), mostly.copy()
    one[::20], other[::20] = sizes(1, 20), sizes(2, 20)
    assert find_twins([int64(one), int64(other)]) is None
    twins = find_twins([int64(one), int64(one)])
    assert twins is not None and twins.workers == 2


def streamed(size_of: Callable[[int, int], int], batches: int = 8, skipped: int = 0) -> TraceBuilder:
    """Two DataLoader workers of an iterable dataset. `size_of`: of an item of a worker's own batch; `skipped`: batches
    of worker 0 that the capture has not.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 4, "iterable": True}])
    builder.worker(0).worker(1).step(0, 1000.0 * batches).wait(0, 100, "wait::DataLoader")
    for number in range(batches * 2):
        worker, own = number % 2, number // 2
        if worker == 0 and own < skipped:
            continue
        builder.batch(number, worker, 1000.0 * own, 1000.0 * own, 1000.0 * own + 900, None)
        for item in range(4):
            begin, facts = 1000.0 * own + 200 * item, {"batch": number, "epoch": 0}
            pid, size = builder.pids[worker], size_of(worker, 4 * own + item)
            builder.add("user_annotation", "sample::Lines", begin, 150, pid=pid, tid=pid, bytes=size, **facts)
    return builder


def test_workers_are_compared_by_their_own_batches() -> None:
    """A capture may have begun between a batch of one worker and that of the other."""
    same = read_waste(results_of(streamed(lambda worker, item: 5000 + 7 * item, skipped=2)))
    assert same.twins is not None and not same.twins_unknown
    parts = read_waste(results_of(streamed(lambda worker, item: 5000 + 7 * (2 * item + worker))))
    assert parts.twins is None and not parts.twins_unknown


def test_items_of_one_size_cannot_be_compared() -> None:
    found = read_waste(results_of(streamed(lambda worker, item: 5000)))
    assert (
        found.twins is None
        and "arrays, tensors, images and text in them) is nearly all of one size" in found.twins_unknown
    )
    few = read_waste(results_of(streamed(lambda worker, item: 5000 + item, batches=1)))
    assert few.twins is None and "Too few items" in few.twins_unknown
