"""Work that ranks do twice: the same samples read by several of them in one epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tb_dataplugin.ranks.table import RankTable
from tb_dataplugin.units import count, percent, plural

LEAST_SAMPLES: Final = 8
"""Of each rank; fewer may be the same by chance."""

EVERYTHING: Final = 0.9
"""From this share of common samples on, ranks count as reading the same."""

SOME: Final = 0.02
"""DistributedSampler repeats less than a rank's share of one batch, at an epoch's end; more is said."""

WasteKind = Literal["no_sharding", "shared_samples", "repeated_samples"]


@dataclass(frozen=True, slots=True)
class Waste:
    """`share`: of all samples that were read, those that another rank, or the same one, had read before."""

    kind: WasteKind
    share: float
    sentence: str


def find_waste(tables: Sequence[RankTable]) -> tuple[Waste, ...]:
    return tuple(waste for waste in (_across(tables), *map(_within, tables)) if waste is not None)


def _across(tables: Sequence[RankTable]) -> Waste | None:
    """Samples that several ranks read in the epoch that most of them saw most of."""
    epoch = _common_epoch(tables)
    if epoch is None:
        return None
    read = [np.unique(table.indices.index[table.indices.epoch == epoch]) for table in tables if table.indices]
    read = [index for index in read if len(index) >= LEAST_SAMPLES]
    if len(read) < 2:
        return None
    total = sum(map(len, read))
    twice = total - len(np.unique(np.concatenate(read)))
    share = twice / total
    if share / (1 - 1 / len(read)) >= EVERYTHING:
        return Waste("no_sharding", share, _unsharded(len(read), len(read[0]), epoch))
    if share >= SOME:
        sentence = (
            f"{percent(share)} of the samples that {len(read)} ranks read in epoch {epoch} were read by another rank "
            "as well: their samplers overlap; check num_replicas and rank of each DistributedSampler, and set_epoch."
        )
        return Waste("shared_samples", share, sentence)
    return None


def _unsharded(ranks: int, samples: int, epoch: int) -> str:
    return (
        f"All {ranks} ranks read the same samples ({count(samples)} in epoch {epoch}, in the captured windows): the "
        f"data is not sharded, and each epoch does {ranks} times the work; pass sampler=DistributedSampler(dataset) to "
        "the DataLoader, and call its set_epoch."
    )


def _common_epoch(tables: Sequence[RankTable]) -> int | None:
    """None where fewer than two ranks know their samples, or they have different datasets."""
    known = [table.indices for table in tables if table.indices is not None and len(table.indices)]
    if len(known) < 2 or len({indices.dataset for indices in known}) > 1:
        return None
    epochs = [set(np.unique(indices.epoch).tolist()) for indices in known]
    common = set.intersection(*epochs)
    return max(common, key=lambda epoch: min(int((one.epoch == epoch).sum()) for one in known), default=None)


def _within(table: RankTable) -> Waste | None:
    """Samples that one rank read more than once in an epoch."""
    indices = table.indices
    if indices is None or len(indices) < LEAST_SAMPLES or indices.replacement:
        return None
    pairs = np.stack((indices.epoch, indices.index), axis=1)
    repeated = len(pairs) - len(np.unique(pairs, axis=0))
    share = repeated / len(pairs)
    if share < SOME:
        return None
    sentence = (
        f"Rank {table.rank} read {percent(share)} of its samples again in the same epoch "
        f"({count(repeated)} of {plural(len(pairs), 'sample')}): its sampler draws with replacement, or repeats "
        "indices."
    )
    return Waste("repeated_samples", share, sentence)
