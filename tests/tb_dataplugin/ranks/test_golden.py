"""Captures of real gloo ranks (`benchmarks/ranks_truth.py`) with a delay planted in rank 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.pipeline import read_rank
from tb_dataplugin.ranks import RankTable, summarise

GOLDEN = Path(__file__).parents[2] / "golden" / "ranks"


@pytest.mark.parametrize(("folder", "cause"), [("decode_in_rank1", "decode::jpeg"), ("backward_in_rank1", "compute")])
def test_the_planted_rank_and_its_cause_own_the_lost_time(folder: str, cause: str) -> None:
    tables = [read_rank(path) for path in sorted((GOLDEN / folder).iterdir())]
    run = summarise(folder, [table for table in tables if isinstance(table, RankTable)])
    leading = run.owners[0]
    assert (leading.rank, leading.cause, leading.pattern) == (1, cause, "fixed")
    assert leading.lost_us >= 0.9 * run.lost_us
    assert run.collectives == 15
    assert run.lost_share > 0.3
    assert run.waste == () and run.notes == () and run.missing == ()
