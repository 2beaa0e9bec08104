"""Captures of real gloo ranks (`benchmarks/ranks_truth.py`) with a delay planted in rank 1."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tb_dataplugin.pipeline import read_rank
from tb_dataplugin.ranks import RankTable, RunOfRanks, summarise

GOLDEN = Path(__file__).parents[2] / "golden" / "ranks"


def run_of(*paths: Path) -> RunOfRanks:
    tables = [read_rank(path) for path in paths]
    return summarise("run", [table for table in tables if isinstance(table, RankTable)])


@pytest.mark.parametrize(("folder", "cause"), [("decode_in_rank1", "decode::jpeg"), ("backward_in_rank1", "compute")])
def test_the_planted_rank_and_its_cause_own_the_lost_time(folder: str, cause: str) -> None:
    run = run_of(*sorted((GOLDEN / folder).iterdir()))
    leading = run.owners[0]
    assert (leading.rank, leading.cause, leading.pattern) == (1, cause, "fixed")
    assert leading.lost_us >= 0.9 * run.lost_us
    assert run.collectives == 15
    assert run.lost_share > 0.3
    assert run.waste == () and run.notes == () and run.missing == ()


def test_a_trace_that_was_shifted_gives_the_same_owner(tmp_path: Path) -> None:
    folder = GOLDEN / "decode_in_rank1"
    first, second = sorted(folder.iterdir())
    straight = run_of(first, second)
    shifted_trace = json.loads(gzip.decompress(second.read_bytes()))
    shifted_trace["baseTimeNanoseconds"] += 3 * 10**8
    later = tmp_path / second.name
    later.write_bytes(gzip.compress(json.dumps(shifted_trace).encode()))
    shifted = run_of(first, later)
    clock = shifted.clocks[1]
    assert clock.is_applied
    assert abs(clock.ahead_ns - 3 * 10**8) <= max(clock.error_ns, 1_000_000)
    assert (shifted.owners[0].rank, shifted.owners[0].cause) == (1, "decode::jpeg")
    assert shifted.owners[0].lost_us == pytest.approx(straight.owners[0].lost_us, rel=0.02)
