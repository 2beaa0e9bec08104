"""The probe on real small files: what it reads, writes and leaves behind. Nothing here looks at how long it takes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.errors import BadRequest, NothingToReport
from tb_dataplugin.storage import probing
from tb_dataplugin.storage.layouts import files, packed
from tb_dataplugin.storage.page_cache import can_be_emptied
from tb_dataplugin.storage.probing import probe
from tb_dataplugin.storage.reading import Reads, timed, timed_apart
from tb_dataplugin.storage.samples import choose
from tests.trace_builder import TraceBuilder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "deeper").mkdir(parents=True)
    for number in range(12):
        (folder / ("deeper" if number % 2 else ".") / f"{number}.bin").write_bytes(bytes([number]) * (number + 1))
    (folder / "empty.bin").touch()
    return folder


def test_samples_are_files_below_folders_and_patterns(data: Path) -> None:
    assert choose([str(data)], 1000).count == 12
    assert choose([f"{data}/*.bin"], 1000).count == 6
    assert choose([f"{data}/**/*.bin"], 1000).count == 12
    assert choose([str(data / "4.bin")], 1000).size == 5


def test_no_more_bytes_are_chosen_than_allowed(data: Path) -> None:
    some = choose([str(data)], 20)
    assert 0 < some.chosen_size <= 20
    assert some.size == sum(range(1, 13))
    with pytest.raises(BadRequest, match="larger than --mb allows"):
        choose([str(data / "4.bin")], 2)


def test_paths_without_samples_are_one_line(data: Path) -> None:
    with pytest.raises(NothingToReport, match="none of the paths"):
        choose([str(data / "empty.bin")], 1000)
    with pytest.raises(BadRequest, match="No such file"):
        choose([str(data / "nowhere")], 1000)


def test_every_form_has_the_same_samples(data: Path, tmp_path: Path) -> None:
    samples = choose([str(data)], 1000)
    for layout in (files(samples), *packed(samples, tmp_path)):
        with layout.open() as read:
            assert [read(number) for number in range(layout.count)] == [sample.size for sample in samples.chosen]


@pytest.mark.parametrize("readers", [1, 3])
def test_each_sample_is_read_once(readers: int) -> None:
    seen: list[int] = []
    reads = timed(lambda number: seen.append(number) or 10, range(50), readers, 60)  # type: ignore[func-returns-value]
    assert sorted(seen) == list(range(50))
    assert (len(reads.latencies_s), reads.size) == (50, 500)


@pytest.mark.parametrize("readers", [1, 2])
def test_an_error_while_reading_is_raised(readers: int) -> None:
    with pytest.raises(ZeroDivisionError):
        timed(lambda number: 1 // number, range(5), readers, 60)


def test_time_between_reads_does_not_count() -> None:
    emptied: list[None] = []
    reads = timed_apart(lambda number: 7, range(4), 60, lambda: emptied.append(None))
    assert len(emptied) == 4
    assert reads.wall_s == sum(reads.latencies_s)


def test_a_folder_with_captures_is_its_newest_capture(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Traces are no samples; and packed forms are written beside these, not into the log directory."""
    runs = data.parent / "runs"
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 100).wait(10, 50, "wait::DataLoader")
    builder.worker(0).batch(0, 0, 0, 0, 55, 59, {"sample::Pets": (5, 45)})
    builder.events[-1]["args"]["files"] = [str(data / "4.bin")]
    (runs / "one").mkdir(parents=True)
    trace = builder.write(runs / "one" / "a.1795881791628777713.pt.trace.json")
    before = sorted(os.walk(runs))
    assert main(["probe-storage", str(runs), "--seconds", "0.2", "--format", "json"]) == 0
    answer = capsys.readouterr()
    assert json.loads(answer.out)["samples"]["count"] == 1
    assert f"{runs} has captures: the sample files that the newest one names are probed" in answer.err
    assert sorted(os.walk(runs)) == before
    assert main(["probe-storage", str(trace), "--seconds", "0.2", "--format", "json"]) == 0
    assert "has captures" not in capsys.readouterr().err  # it was named


def test_the_whole_probe_leaves_nothing_behind(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(os.walk(data))
    assert main(["probe-storage", str(data), "--seconds", "0.2", "--need", "1", "--format", "json"]) == 0
    assert sorted(os.walk(data)) == before
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema_version"] == 1
    assert answer["samples"] == {"count": 12, "bytes": 78, "probed": 12, "probed_bytes": 78}
    assert {one["layout"] for one in answer["measurements"]} == {
        "files", "archive (tar)", "memory-mapped array", "database (sqlite)",
    }  # fmt: skip
    assert {one["readers"] for one in answer["measurements"]} == {1, 2, 4, 8, 16, 32}
    assert len(answer["judgements"]) == 4
    assert ("unknown" if answer["cold"] == "no" else "need not be the limit") in answer["needs"][0]


def test_an_interrupt_leaves_what_was_measured_and_no_file(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []

    def interrupted(read: Callable[[int], int], numbers: Sequence[int], readers: int, seconds: float) -> Reads:
        calls.append(None)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return timed(read, numbers, readers, seconds)

    monkeypatch.setattr(probing, "timed", interrupted)
    before = sorted(os.walk(data))
    probed = probe(choose([str(data)], 1000), None, 0.1, lambda line: None)
    assert probed.interrupted
    assert any(series.reads for series in probed.series)
    assert sorted(os.walk(data)) == before


def test_a_folder_that_cannot_be_written_is_said(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = choose([str(data)], 1000)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    probed = probe(samples, None, 0.1, lambda line: None)
    assert "name a folder with --scratch" in probed.notes[0]
    assert {series.layout for series in probed.series} == {"files"}


def test_a_file_system_in_memory_cannot_be_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 5000)
    monkeypatch.setattr(os, "posix_fadvise", lambda *asked: None)  # as one that does nothing
    assert can_be_emptied([path], again=2, pause_s=0) in ("no", "unknown")
    monkeypatch.delattr(os, "posix_fadvise")
    assert can_be_emptied([path]) == "no"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mb", "0"], "--mb must be above 0"),
        (["--seconds", "0"], "--seconds must be above 0"),
        (["--need", "-1"], "--need must be above 0"),
        (["--scratch", "/nowhere"], "--scratch /nowhere is not a folder"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], words: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe-storage", str(data), *arguments]) == 2
    assert words in capsys.readouterr().err
