"""Made-up captures of ranks that meet in an all_reduce at the end of each step. Times in microseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tb_dataplugin.pipeline import read_rank
from tb_dataplugin.ranks import RankTable
from tests.trace_builder import TraceBuilder

LEAVING = 50
"""From the last arrival until all have left."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a rank does in a step before it joins."""

    decode: float = 1_000
    read: float = 0
    samples: int = 1
    in_time: bool = False  # another thread has read and decoded before
    compute: float = 2_000
    host: float = 500


Plan = Callable[[int, int], Spent]
"""By rank and step."""


def captures(plan: Plan, ranks: int = 2, steps: int = 8, host: str = "host{rank}") -> list[TraceBuilder]:
    builders = [_builder(rank, ranks, host.format(rank=rank)) for rank in range(ranks)]
    now = [0.0] * ranks
    for step in range(steps):
        begun = list(now)
        arrived = [
            _work(builder, at, plan(rank, step)) for rank, (builder, at) in enumerate(zip(builders, now, strict=True))
        ]
        end = max(arrived) + LEAVING
        for builder, start, joins in zip(builders, begun, arrived, strict=True):
            builder.operator(joins - 10, 10, "c10d::allreduce_")
            builder.add("user_annotation", "gloo:all_reduce", joins, end - joins, tid=2)
            builder.step(start, end + 20 - start)
        now = [end + 20] * ranks
    return builders


def _builder(rank: int, ranks: int, host: str) -> TraceBuilder:
    info = {
        "backend": "gloo",
        "rank": rank,
        "world_size": ranks,
        "pg_config": [{"pg_name": "0", "ranks": [*range(ranks)]}],
    }
    builder = TraceBuilder(distributedInfo=info, host_name=host, baseTimeNanoseconds=1_700_000_000_000_000_000)
    return builder.annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "dataset": "Pets"}])


def _work(builder: TraceBuilder, start: float, spent: Spent) -> float:
    """When it joins."""
    each = spent.read + spent.decode
    waited = 0 if spent.in_time else each * spent.samples
    if waited:
        builder.wait(start, waited, "wait::DataLoader")
    for number in range(spent.samples):
        thread = 5 if spent.in_time else 1
        if spent.read:
            builder.stage("read::file", start + number * each, spent.read, tid=thread)
        builder.stage("decode::jpeg", start + number * each + spent.read, spent.decode, tid=thread)
    builder.operator(start + waited, spent.compute)
    return start + waited + spent.compute + spent.host


def later(builder: TraceBuilder, seconds: float) -> TraceBuilder:
    """The same capture from a machine whose clock is ahead."""
    builder.top_level["baseTimeNanoseconds"] += round(seconds * 10**9)
    return builder


def tables(builders: Sequence[TraceBuilder], folder: Path) -> list[RankTable]:
    found = []
    for path in write(builders, folder):
        table = read_rank(path)
        assert isinstance(table, RankTable), table
        found.append(table)
    return found


def write(builders: Sequence[TraceBuilder], folder: Path) -> list[Path]:
    return [builder.write(folder / f"rank{number}.pt.trace.json") for number, builder in enumerate(builders)]
