"""Samples that ranks read twice, from tables made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annotate.trace_format import FIRST_BATCH
from tb_dataplugin.analyses.collectives import OPERATIONS, Collectives
from tb_dataplugin.model.intervals import int64
from tb_dataplugin.ranks.indices import Indices, read_indices
from tb_dataplugin.ranks.table import NO_INT64, RankTable
from tb_dataplugin.ranks.waste import Waste, find_waste
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder

NONE = Collectives(OPERATIONS, ("",), NO_INT64, NO_INT64, NO_INT64, NO_INT64, NO_INT64, NO_INT64, NO_INT64)


def table(rank: int, index: Sequence[int], epoch: int = 0, dataset: str = "Pets") -> RankTable:
    no_parts = np.zeros((0, 0), dtype=np.int64)
    seen = Indices(dataset, int64(index), np.full(len(index), epoch, dtype=np.int64))
    times = (NO_INT64, NO_INT64, NO_INT64, None)
    return RankTable(rank, 2, "host", f"rank{rank}", 0, True, (), *times, NONE, (), no_parts, no_parts, {}, seen)


def waste_of(*indices: Sequence[int]) -> tuple[Waste, ...]:
    return find_waste([table(rank, index) for rank, index in enumerate(indices)])


def test_ranks_that_read_the_same_samples_are_not_sharded() -> None:
    (waste,) = waste_of(range(40), range(40), range(40))
    assert waste.kind == "no_sharding" and waste.share == 80 / 120
    assert "All 3 ranks read the same samples (40 in epoch 0" in waste.sentence
    assert "DistributedSampler" in waste.sentence


def test_shards_of_their_own_are_no_waste() -> None:
    assert waste_of(range(0, 80, 2), range(1, 80, 2)) == ()


def test_a_sample_that_pads_the_last_batch_is_no_waste() -> None:
    assert waste_of(range(0, 80, 2), [*range(1, 79, 2), 0]) == ()


def test_samplers_that_overlap_are_said_with_their_share() -> None:
    (waste,) = waste_of(range(40), range(30, 70))
    assert (waste.kind, waste.share) == ("shared_samples", 10 / 80)


def test_windows_of_different_epochs_are_not_compared() -> None:
    assert find_waste([table(0, range(40), epoch=1), table(1, range(40), epoch=2)]) == ()


def test_different_datasets_are_not_compared() -> None:
    assert find_waste([table(0, range(40)), table(1, range(40), dataset="Cars")]) == ()


def test_samples_read_again_in_an_epoch_are_said_by_rank() -> None:
    (waste,) = waste_of([*range(30), *range(10)], range(100, 140))
    assert (waste.kind, waste.share) == ("repeated_samples", 10 / 40)
    assert "Rank 0 read 25.0% of its samples again" in waste.sentence


def two_samples(loaders: int) -> TraceBuilder:
    """Of the training process, inside a wait; a dataset inside another one has the same index."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "dataset": "Pets"}] * loaders).step(0, 1000)
    builder.wait(0, 600, "wait::DataLoader")
    for number in range(2):
        start, facts = 100 * number, {"index": 7 + number, "epoch": 0, "batch": 0}
        builder.add("user_annotation", "sample::Subset", start, 90, **facts)
        builder.add("user_annotation", "sample::Pets", start + 10, 70, **facts)
    return builder


def test_each_sample_counts_once_with_its_index() -> None:
    indices = read_indices(results_of(two_samples(loaders=1)))
    assert indices is not None
    assert (indices.dataset, indices.index.tolist(), indices.epoch.tolist()) == ("Pets", [7, 8], [0, 0])


def test_indices_of_several_loaders_in_one_process_are_not_mixed() -> None:
    assert read_indices(results_of(two_samples(loaders=2))) is None


def evaluated(training_workers: int, of_first: str = "") -> TraceBuilder:
    """Three epochs of three steps; after each an evaluation of the same class and batch size, in order, by a worker.
    The training loop's samples are 10 to 15, in another order in each epoch. `of_first`: ends the names of waits for a
    first batch of the training loop.
    """
    sizes = {"dataset": "Pets", "batch_size": 2, "sampler_length": 4}
    own = {**sizes, "num_workers": training_workers, "sampler": "RandomSampler", "shuffle": True}
    builder = TraceBuilder().annotated(loaders=[own, {**sizes, "num_workers": 1, "sampler": "SequentialSampler"}])
    builder.worker(0, loader=0, pid=50).worker(0, loader=1, pid=60)
    for epoch, order in enumerate(((10, 11, 12, 13, 14, 15), (12, 10, 15, 13, 11, 14), (13, 12, 14, 11, 10, 15))):
        for number in range(3):
            begin = 20_000 * epoch + 2_000 * number
            builder.step(begin, 10_000 if number == 2 else 2_000)
            builder.wait(begin, 500, f"wait::DataLoader{'' if number else of_first}")
            facts = {"epoch": epoch, "batch": number, "pid": 50, "tid": 50} if training_workers else {}
            if training_workers:
                builder.pids[0] = 50
                builder.batch(number, 0, begin, begin + 10, begin + 450, begin + 490)
            for place, index in enumerate(order[2 * number : 2 * number + 2]):
                builder.add("user_annotation", "sample::Pets", begin + 100 + 150 * place, 90, index=index, **facts)
        for number in range(4):
            begin = 20_000 * epoch + 6_500 + 1_000 * number
            builder.pids[0] = 60
            builder.wait(begin, 500, "wait::DataLoader")
            builder.batch(number, 0, begin, begin + 10, begin + 450, begin + 490).of_loader(1)
            for place in range(2):
                facts = {"epoch": epoch, "batch": number, "pid": 60, "tid": 60, "index": 2 * number + place}
                builder.add("user_annotation", "sample::Pets", begin + 100 + 150 * place, 90, **facts)
        builder.next_epoch()
    return builder


def test_the_batches_of_another_loader_are_never_the_training_loops() -> None:
    indices = read_indices(results_of(evaluated(training_workers=1)))
    assert indices is not None and set(indices.index.tolist()) == set(range(10, 16))
    assert indices.epoch.tolist() == [0] * 6 + [1] * 6 + [2] * 6


def test_without_workers_only_marked_waits_say_which_epoch_it_is_and_none_of_another_loader() -> None:
    assert read_indices(results_of(evaluated(training_workers=0))) is None
    indices = read_indices(results_of(evaluated(training_workers=0, of_first=FIRST_BATCH)))
    assert indices is not None and indices.index.tolist()[6:] == [12, 10, 15, 13, 11, 14, 13, 12, 14, 11, 10, 15]
    assert indices.epoch.tolist() == [1] * 6 + [2] * 6 + [3] * 6
    assert indices.batch.tolist() == [0, 0, 1, 1, 2, 2] * 3
