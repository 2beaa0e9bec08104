from __future__ import annotations

from pathlib import Path

from tb_dataplugin.reader.discovery import Taken, find_traces, strip_suffix, when_taken
from tests.trace_builder import training_run


def test_traces_are_found_by_name_with_their_run(tmp_path: Path) -> None:
    training_run().write(tmp_path / "exp" / "fold1" / "host_1.2.pt.trace.json.gz")
    training_run().write(tmp_path / "host_3.pt.trace.json")
    (tmp_path / "events.out.tfevents.1").write_bytes(b"")
    (tmp_path / "exp" / "config.json").write_text("{}")
    assert sorted((trace.run, trace.name, trace.id) for trace in find_traces(tmp_path)) == [
        (".", "host_3", "host_3"),
        ("exp/fold1", "host_1.2", "exp/fold1/host_1.2"),
    ]


def test_hidden_files_and_folders_are_not_looked_at(tmp_path: Path) -> None:
    training_run().write(tmp_path / ".half.pt.trace.json")
    training_run().write(tmp_path / ".cache" / "a.pt.trace.json")
    assert list(find_traces(tmp_path)) == []


def test_very_deep_folders_are_not_looked_into(tmp_path: Path) -> None:
    training_run().write(tmp_path.joinpath(*"abcdefghij") / "a.pt.trace.json")
    assert list(find_traces(tmp_path)) == []


def test_suffixes() -> None:
    assert [strip_suffix(name) for name in ("a.pt.trace.json.gz", "b.json", "c")] == ["a", "b", "c"]


def test_names_say_when_a_trace_was_written(tmp_path: Path) -> None:
    """Nanoseconds; older versions of torch write milliseconds. Other numbers are none of these."""
    for name in ("h_1.1700000000000", "h_1.1700000600000000000", "h_1.17000012"):
        training_run().write(tmp_path / f"{name}.pt.trace.json")
    taken = {trace.name: trace.taken_ns for trace in find_traces(tmp_path)}
    assert taken["h_1.1700000000000"] == 1_700_000_000 * 10**9
    assert taken["h_1.1700000600000000000"] == 1_700_000_600 * 10**9
    assert taken["h_1.17000012"] == (tmp_path / "h_1.17000012.pt.trace.json").stat().st_mtime_ns


def test_a_trace_says_best_when_it_was_taken_then_its_name_then_its_file() -> None:
    assert when_taken(1.6e15, "h_1.1700000000000", 9) == Taken(1_600_000_000 * 10**9, "trace")
    assert when_taken(0, "h_1.1700000000000", 9) == Taken(1_700_000_000 * 10**9, "name")
    assert when_taken(0, "h", 9) == Taken(9, "file")
    assert when_taken(0, "h", 0) == Taken(0, "")
