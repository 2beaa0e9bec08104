"""Which folders of one rank each are one run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.compare import marks_of
from tb_dataplugin.rank_folders import CLOCKS_APART_US, ListedRank, RankRun, runs_of_ranks
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.report.report_pb2 import Capture, CaptureRow

LATER = 3_600e6
VISION, TEXT = (
    marks_of(Capture(operators=[f"aten::{kind}_{number}" for number in range(9)])).SerializeToString()
    for kind in ("conv", "attention")
)


def capture(folder: str, rank: int | None, at_us: float = 0, name: str = "a", **differs: Any) -> ListedRank[TraceFile]:
    """Of 8 ranks, on one host; from `at_us` on for a second."""
    facts = {"world_size": 8, "host": "node1", "window_unix_us": 1.7e15 + at_us, "window_us": 1e6}
    marks = differs.pop("marks", VISION)
    row = CaptureRow(rank=rank, mode="train")
    for field, value in (facts | differs).items():
        if value is not None:
            setattr(row, field, value)
    trace = TraceFile(Path(folder, name), folder, name, 1, round(at_us * 1e3))
    return ListedRank(trace, folder, row, marks)


def found(*captures: ListedRank[TraceFile]) -> list[tuple[str, tuple[str, ...]]]:
    return [(run.name, run.folders) for run in runs_of_ranks(captures)]


def test_a_folder_of_each_rank_is_one_run_under_the_name_of_the_one_that_they_lie_in() -> None:
    ranks = [capture(f"runs/exp/rank{rank}", rank, 1e5 * rank) for rank in (10, 2, 0)]
    assert found(*ranks) == [("runs/exp", ("runs/exp/rank0", "runs/exp/rank2", "runs/exp/rank10"))]
    assert found(capture("rank0", 0), capture("rank1", 1)) == [(".", ("rank0", "rank1"))]


def test_a_folder_of_several_ranks_stays_one_run() -> None:
    assert found(capture("exp", 0), capture("exp", 1)) == [("exp", ("exp",))]
    nodes = [capture(f"exp/node{rank // 2}", rank) for rank in range(4)]
    assert [name for name, _ in found(*nodes)] == ["exp/node0", "exp/node1"]


@pytest.mark.parametrize(
    "other",
    [
        capture("exp/b", 0),
        capture("exp/b", None),
        capture("exp/b", 1, LATER),
        capture("exp/b", 1, 2e6),
        capture("exp/b", 1, LATER, host="node2"),
        capture("exp/b", 1, world_size=4),
        capture("exp/b", 1, world_size=None),
        capture("exp/b", 1, window_unix_us=None),
        capture("exp/b", 1, marks=TEXT),
        capture("exp/b", 1, mode="replay"),
        capture("other/b", 1),
        capture("exp", 1),
    ],
)
def test_other_runs_are_not_joined(other: ListedRank[TraceFile]) -> None:
    assert found(capture("exp/a", 0), other) == []


def test_clocks_of_other_hosts_may_differ_by_a_little() -> None:
    near = capture("exp/b", 1, 0.9 * CLOCKS_APART_US, host="node2")
    assert found(capture("exp/a", 0), near) == [("exp", ("exp/a", "exp/b"))]


def test_runs_that_nothing_tells_apart_are_not_joined() -> None:
    """Two trials at once: which of them has the other rank?"""
    assert found(capture("exp/a0", 0), capture("exp/b0", 0), capture("exp/a1", 1)) == []
    both = [capture("exp/x1", 1, at, str(at)) for at in (0, LATER)]
    assert found(capture("exp/a0", 0), capture("exp/b0", 0, LATER), *both) == []


def test_runs_beside_each_other_have_names_of_their_own() -> None:
    runs = [capture(f"exp/{name}{rank}", rank, at) for rank in (0, 1) for name, at in (("a", 0.0), ("b", LATER))]
    assert found(*runs) == [("exp/a0 … a1", ("exp/a0", "exp/a1")), ("exp/b0 … b1", ("exp/b0", "exp/b1"))]
    inside = [capture("exp", 0, LATER), capture("exp", 1, LATER)]
    assert [name for name, _ in found(*inside, runs[0], runs[2])] == ["exp", "exp/a0 … a1"]


def test_the_newest_window_is_so_by_its_trace_whenever_its_file_was_copied() -> None:
    late, early = (capture("exp", rank, at, f"{rank}_{at:.0f}") for rank, at in ((0, LATER), (0, 0.0)))
    copied = [replace(one, source=replace(one.source, modified_ns=at)) for one, at in ((late, 1), (early, 2))]
    (run,) = runs_of_ranks([*copied, capture("exp", 1, LATER, "1")])
    assert [source.name for source in run.sources if source.name != "1"] == [late.source.name, early.source.name]


def test_all_windows_of_a_rank_belong_to_it_the_newest_first() -> None:
    several = [capture(f"exp/r{rank}", rank, at, f"{rank}_{at:.0f}") for rank in (0, 1) for at in (0.0, LATER)]
    late = [one for one in several if one.source.name != "1_3600000000"]  # one rank has yet to write its second one
    for captures, names in ((several, {"0_3600000000", "1_3600000000"}), (late, {"0_3600000000"})):
        (run,) = runs_of_ranks(captures)
        assert isinstance(run, RankRun) and len(run.sources) == len(captures)
        assert {source.name for source in run.sources[: len(names)]} == names
