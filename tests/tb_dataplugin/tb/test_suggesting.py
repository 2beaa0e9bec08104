"""What a capture suggests itself to be compared with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.tb_dataplugin.tb.test_plugin import Host
from tests.trace_builder import TraceBuilder

MODEL = ("aten::conv2d", "aten::relu", "aten::linear", "aten::batch_norm", "aten::mm", "aten::dropout")
OTHER = ("aten::embedding", "aten::layer_norm", "aten::softmax", "aten::gelu", "aten::bmm", "aten::tanh")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "logs").mkdir()
    return Host(tmp_path / "logs", tmp_path / "cache")


def written(
    host: Host,
    name: str,
    operators: tuple[str, ...],
    age_s: int,
    mode: str = "train",
    rank: int | None = None,
    *,
    steps: int = 1,
    unix_s: int = 0,
) -> None:
    """`unix_s`: when it was taken by its own clock, 0 where that says nothing."""
    facts: dict[str, Any] = {} if rank is None else {"distributedInfo": {"rank": rank, "world_size": 2}}
    builder = TraceBuilder(**facts, **({"baseTimeNanoseconds": unix_s * 10**9} if unix_s else {}))
    builder.annotated(mode)
    for step in range(steps):
        builder.step(100 * step, 100)
    for number, operator in enumerate(operators):
        builder.operator(10 * number, 5, operator).call("cudaLaunchKernel", 10 * number + 1, 1, number)
    path = host.logdir / f"{name}.pt.trace.json"
    path.parent.mkdir(exist_ok=True)
    builder.write(path)
    os.utime(path, (1_700_000_000 - age_s, 1_700_000_000 - age_s))


def test_the_newest_older_capture_of_the_same_program_in_another_run(host: Host) -> None:
    written(host, "now/a", MODEL, 0)
    written(host, "now/earlier", MODEL, 10)
    written(host, "unlike/b", OTHER, 20)
    written(host, "replayed/c", MODEL, 25, mode="replay")
    written(host, "before/d", MODEL, 30)
    written(host, "long_before/e", MODEL, 40)
    host.work()
    assert host.get("suggestion?id=now/a") == (200, {"before": ["before/d"], "after": ["now/a"]})
    assert host.get("suggestion?id=unlike/b") == (200, {"before": [], "after": []})


def test_what_was_begun_first_by_the_traces_clocks_is_before_whenever_the_files_were_changed(host: Host) -> None:
    """As where captures are copied: `cp` gives their files times of its own."""
    written(host, "v/later", MODEL, 30, unix_s=1_600_000_060)
    written(host, "v/first", MODEL, 0, unix_s=1_600_000_000)
    written(host, "v/other", OTHER, 10)
    before = [(one["name"], one["taken_by"]) for one in _listed(host)]
    assert before == [("first", "file"), ("other", "file"), ("later", "file")]
    host.work()
    listed = _listed(host)
    assert [(one["name"], one["taken_by"]) for one in listed] == [
        ("other", "file"),
        ("later", "trace"),
        ("first", "trace"),
    ]
    assert 1_600_000_060 <= listed[1]["taken"] < 1_600_000_061
    for name in ("first", "later"):
        assert host.get(f"suggestion?id=v/{name}") == (200, {"before": ["v/first"], "after": ["v/later"]})
    rows = {row["name"]: (row["taken"], row["taken_by"]) for row in host.get("captures")[1]["rows"]}
    assert rows == {one["name"]: (one["taken"], one["taken_by"]) for one in listed}


def _listed(host: Host) -> list[dict[str, Any]]:
    host.library.scan()
    captures: list[dict[str, Any]] = host.get("runs")[1]["captures"]
    return captures


def test_a_rank_is_not_proposed_beside_a_process_of_its_own(host: Host) -> None:
    """It waits for the others."""
    written(host, "now/a", MODEL, 0)
    written(host, "ranks/b", MODEL, 10, rank=0)
    host.work()
    assert host.get("suggestion?id=now/a") == (200, {"before": [], "after": []})
    written(host, "before/c", MODEL, 20)
    host.work()
    assert host.get("suggestion?id=now/a") == (200, {"before": ["before/c"], "after": ["now/a"]})


def test_a_file_that_is_cut_off_is_not_proposed(host: Host) -> None:
    """A comparison with it decides nothing."""
    for name, age_s in (("now/a", 0), ("cut/b", 10), ("now/c", 20)):
        written(host, name, MODEL, age_s, steps=30)
    cut = host.logdir / "cut" / "b.pt.trace.json"
    content = cut.read_bytes()
    cut.write_bytes(content[: len(content) * 99 // 100])
    os.utime(cut, (1_700_000_000 - 10, 1_700_000_000 - 10))
    host.work()
    assert host.get("suggestion?id=now/a")[1] == {"before": ["now/c"], "after": ["now/a"]}


def test_a_run_that_is_not_doubtful_comes_before_a_nearer_one_that_is(host: Host) -> None:
    """Of one step nothing is certain."""
    written(host, "now/a", MODEL, 0, steps=30)
    written(host, "doubtful/b", MODEL, 10)
    written(host, "sound/c", MODEL, 20, steps=30)
    host.work()
    answer = {"before": ["sound/c"], "after": ["now/a"], "passed_over": ["doubtful"]}
    assert host.get("suggestion?id=now/a") == (200, answer)


def test_of_a_run_with_one_doubtful_capture_the_other_one_is_proposed(host: Host) -> None:
    written(host, "now/a", MODEL, 0, steps=30)
    written(host, "half/b", MODEL, 10)
    written(host, "half/c", MODEL, 20, steps=30)
    written(host, "older/d", MODEL, 30, steps=30)
    host.work()
    assert host.get("suggestion?id=now/a") == (200, {"before": ["half/c"], "after": ["now/a"]})


def test_no_run_of_the_proposed_sides_is_said_to_be_passed_over(host: Host) -> None:
    """All captures of both versions are the sides, also the nearest one, which is doubtful."""
    for number, (name, steps) in enumerate((("after/r2", 30), ("after/r1", 30), ("before/r2", 1), ("before/r1", 30))):
        (host.logdir / name).mkdir(parents=True)
        written(host, f"{name}/a", MODEL, 10 * number, steps=steps)
    host.work()
    answer = {"before": ["before/r2/a", "before/r1/a"], "after": ["after/r2/a", "after/r1/a"]}
    assert host.get("suggestion?id=after/r2/a") == (200, answer)


def test_an_earlier_capture_of_the_same_run_where_no_other_run_has_one(host: Host) -> None:
    written(host, "now/a", MODEL, 0)
    written(host, "now/earlier", MODEL, 10)
    written(host, "unlike/b", OTHER, 20)
    host.work()
    assert host.get("suggestion?id=now/a") == (200, {"before": ["now/earlier"], "after": ["now/a"]})


def test_the_oldest_newer_capture_where_none_is_older(host: Host) -> None:
    written(host, "fast/a", MODEL, 0)
    written(host, "better/b", MODEL, 10)
    written(host, "slow/later", MODEL, 20)
    written(host, "unlike/c", OTHER, 25)
    written(host, "slow/d", MODEL, 30)
    host.work()
    assert host.get("suggestion?id=slow/d") == (200, {"before": ["slow/d"], "after": ["better/b"]})


def test_the_other_run_of_its_folder_comes_before_the_next_in_time_of_another(host: Host) -> None:
    for number, name in enumerate(("one/before/a", "one/after/b", "two/before/c", "two/after/d")):
        (host.logdir / name).parent.mkdir(parents=True)
        written(host, name, MODEL, 100 - 10 * number)
    host.work()
    for before, after in (("one/before/a", "one/after/b"), ("two/before/c", "two/after/d")):
        assert host.get(f"suggestion?id={before}") == (200, {"before": [before], "after": [after]})
        assert host.get(f"suggestion?id={after}") == (200, {"before": [before], "after": [after]})


def test_another_rank_of_its_own_run_is_neither_before_nor_after_it(host: Host) -> None:
    written(host, "ddp/a", MODEL, 0, rank=0)
    written(host, "ddp/b", MODEL, 10, rank=1)
    host.work()
    assert host.get("suggestion?id=ddp/a") == (200, {"before": [], "after": []})
    written(host, "ddp/c", MODEL, 30, rank=0)
    written(host, "ddp/d", MODEL, 40, rank=1)
    host.library.scan()
    host.work()
    assert host.get("suggestion?id=ddp/a") == (200, {"before": ["ddp/c"], "after": ["ddp/a"]})


def test_nothing_is_settled_before_all_older_captures_are_read(host: Host) -> None:
    written(host, "now/a", MODEL, 0)
    host.work()
    written(host, "before/b", MODEL, 10)
    host.library.scan()
    assert host.get("suggestion?id=now/a") == (202, {"state": "loading"})
    host.work()
    assert host.get("suggestion?id=now/a") == (200, {"before": ["before/b"], "after": ["now/a"]})
    assert host.get("suggestion?id=nobody")[0] == 404


def test_a_copy_is_as_old_as_its_name_says(host: Host) -> None:
    """Files that were copied, or checked out, are all of one time, or the other way round."""
    first, second = (f"run{run}/vm_7.{1_700_000_000_000_000_000 + run}" for run in (1, 2))
    written(host, first, MODEL, age_s=0)
    written(host, second, MODEL, age_s=50)
    host.work()
    assert host.get(f"suggestion?id={first}") == (200, {"before": [first], "after": [second]})
    assert host.get(f"suggestion?id={second}") == (200, {"before": [first], "after": [second]})


def test_folders_of_repeated_runs_are_listed_once_all_of_them_are_read(host: Host) -> None:
    for number, name in enumerate(("ft-before/r1/a", "ft-after/r1/b", "ft-before/r2/c", "ft-after/r2/d")):
        (host.logdir / name).parent.mkdir(parents=True)
        written(host, name, MODEL, 100 - 10 * number)
    assert host.get("runs")[1]["repeated_runs"] == []
    host.work()
    assert host.get("runs")[1]["repeated_runs"] == [
        {"folder": "ft-after", "ids": ["ft-after/r2/d", "ft-after/r1/b"]},
        {"folder": "ft-before", "ids": ["ft-before/r2/c", "ft-before/r1/a"]},
    ]
    (host.logdir / "ft-after/r3").mkdir()
    (host.logdir / "ft-after/r3/bad.pt.trace.json").write_text("{")
    host.work()
    assert len(host.get("runs")[1]["repeated_runs"]) == 2


def test_a_repeated_run_is_compared_with_the_other_version_and_not_with_a_repeat(host: Host) -> None:
    """Each version was run three times in a row, the repeats are nearer in time."""
    names = [f"{side}/r{number}/a" for side in ("ft-before", "ft-after") for number in (1, 2, 3)]
    for number, name in enumerate(names):
        (host.logdir / name).parent.mkdir(parents=True)
        written(host, name, MODEL, 100 - 10 * number)
    host.work()
    before, after = ([f"ft-{side}/r{number}/a" for number in (3, 2, 1)] for side in ("before", "after"))
    assert host.get("suggestion?id=ft-before/r1/a") == (200, {"before": before, "after": after})
    assert host.get("suggestion?id=ft-after/r3/a") == (200, {"before": before, "after": after})
    (host.logdir / "ft-after/r4").mkdir()
    written(host, "ft-after/r4/a", MODEL, 0)
    host.library.scan()
    assert host.get("suggestion?id=ft-after/r3/a") == (202, {"state": "loading"})


def test_versions_that_take_turns_are_as_old_as_their_first_capture(host: Host) -> None:
    for number in (1, 2, 3):
        written(host, f"before/{number}", MODEL, 100 - 20 * number)
        written(host, f"after/{number}", MODEL, 90 - 20 * number)
    host.work()
    before, after = ([f"{side}/{number}" for number in (3, 2, 1)] for side in ("before", "after"))
    for own in (*before, *after):
        assert host.get(f"suggestion?id={own}") == (200, {"before": before, "after": after})


def test_a_run_of_several_programs_is_no_side(host: Host) -> None:
    written(host, "before/a", MODEL, 40)
    written(host, "before/b", OTHER, 30)
    written(host, "after/a", MODEL, 20)
    written(host, "after/b", MODEL, 10)
    host.work()
    assert host.get("suggestion?id=after/b") == (200, {"before": ["before/a"], "after": ["after/b"]})
