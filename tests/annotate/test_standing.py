"""The user's own profiler records what was annotated, and its file carries it; no line of the profiler changes."""

from __future__ import annotations

import gc
import gzip
import json
import os
import time
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.autograd.profiler
import torch.profiler
from capture_helpers import load
from torch.profiler import ProfilerActivity, tensorboard_trace_handler
from torch.utils.data import DataLoader, Dataset, IterableDataset
from worker_helpers import check_nesting, check_order, consumed

import annotate
from annotate.capture import standing
from annotate.trace_format import MARKER_CATEGORY, parse_span_name

SIZE, BATCH = 48, 2


class Work:
    def __call__(self, item: int) -> int:
        time.sleep(0.001)
        return item


class Numbers(Dataset[int]):
    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self.transform = Work()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        return self.transform(index)


class Stream(IterableDataset[int]):
    def __init__(self) -> None:
        self.transform = Work()

    def __iter__(self) -> Iterator[int]:
        for index in range(SIZE):
            yield self.transform(index)


def cpu(**keywords: Any) -> Any:
    return torch.profiler.profile(activities=[ProfilerActivity.CPU], **keywords)


def scheduled(ready: Callable[[Any], object], *, wait: int = 2, active: int = 6, repeat: int = 1) -> Any:
    schedule = torch.profiler.schedule(wait=wait, warmup=2, active=active, repeat=repeat)
    return cpu(schedule=schedule, on_trace_ready=ready)


def loop(loader: Any, prof: Any = None) -> list[list[int]]:
    seen = []
    for batch in loader:
        seen.append(batch.tolist())
        if prof is not None:
            prof.step()
    return seen


def read(path: Path | str) -> dict[str, Any]:
    text = Path(path).read_bytes()
    found: dict[str, Any] = json.loads(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text)
    return found


def stages(trace: dict[str, Any]) -> Counter[str]:
    return Counter(
        event["name"]
        for event in trace["traceEvents"]
        if event["ph"] == "X" and event.get("cat") == MARKER_CATEGORY and parse_span_name(event["name"])
    )


ALL = [[number, number + 1] for number in range(0, SIZE, BATCH)]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_handler_of_tensorboard_writes_a_file_with_our_rows(tmp_path: Path, workers: int) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH, num_workers=workers))
    with scheduled(tensorboard_trace_handler(str(tmp_path))) as prof:
        assert loop(loader, prof) == ALL
    (path,) = tmp_path.iterdir()
    trace = read(path)
    found = stages(trace)
    for name in ("sample::Numbers", "transform::Work", "collate::default_collate"):
        assert found[name] >= 5, found
    record = trace["dataPipeline"]
    assert record["notes"] == []
    assert record["mode"] == "train"
    assert record["loaders"][0]["num_workers"] == workers
    if workers:
        assert {worker["worker"] for worker in record["workers"]} == {0, 1}
        assert len(consumed(trace)) >= 6
        check_order(trace)
        check_nesting(trace)
    assert any(str(event["name"]).startswith("host::") for event in trace["traceEvents"] if event["ph"] == "C")


def test_the_first_file_of_the_users_profiler_is_told_how_to_look_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH))
    paths = [tmp_path / name for name in ("plain.json", "a.pt.trace.json", "b.pt.trace.json")]
    for path in paths:
        with cpu() as prof:
            loop(loader)
        prof.export_chrome_trace(str(path))
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("annotate: ")]
    look = f"Look at it: tb-dataplugin report {paths[1]}"
    assert said == [f"annotate: what was annotated is in the trace that torch.profiler wrote. {look}"]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_export_chrome_trace_by_the_user(tmp_path: Path, suffix: str) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH))
    path = tmp_path / f"trace{suffix}"
    with cpu() as prof:
        loop(loader)
    prof.export_chrome_trace(str(path))
    assert path.read_bytes()[:2] == (b"\x1f\x8b" if suffix.endswith("gz") else b"{\n") or suffix == ".json"
    assert stages(read(path))["transform::Work"] == SIZE
    assert "dataPipeline" in read(path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_second_export_raises_as_torchs_does(tmp_path: Path) -> None:
    def second_export(prof: Any) -> str:
        prof.export_chrome_trace(str(tmp_path / "first.json"))
        with pytest.raises(RuntimeError) as raised:
            prof.export_chrome_trace(str(tmp_path / "second.json"))
        return str(raised.value)

    with cpu() as prof:
        torch.ones(2).sum()
    of_torch = second_export(prof)
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH))
    with cpu() as prof:
        loop(loader)
    assert second_export(prof) == of_torch
    assert not (tmp_path / "second.json").exists()


def test_the_profiler_of_autograd(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH))
    prof: Any = torch.autograd.profiler.profile()
    with prof:
        loop(loader)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert stages(read(tmp_path / "trace.json"))["sample::Numbers"] == SIZE


def test_a_profiler_that_was_built_before(tmp_path: Path) -> None:
    prof = scheduled(tensorboard_trace_handler(str(tmp_path)))
    older: Any = torch.autograd.profiler.profile()
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH))
    with prof:
        loop(loader, prof)
    with older:
        loop(loader)
    older.export_chrome_trace(str(tmp_path / "older.json"))
    assert all(stages(read(path))["sample::Numbers"] >= 12 for path in tmp_path.iterdir())


def test_each_of_two_cycles_has_its_own_rows(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH, num_workers=2))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Warning: Profiler clears events", UserWarning)
        with scheduled(tensorboard_trace_handler(str(tmp_path)), repeat=2) as prof:
            loop(loader, prof)
    traces = [read(path) for path in sorted(tmp_path.iterdir())]
    assert len(traces) == 2
    handed_out = [{(batch["epoch"], batch["batch"]) for batch in consumed(trace)} for trace in traces]
    for trace, other in zip(handed_out, reversed(handed_out), strict=True):
        assert len(trace - other) >= 5


def test_what_nobody_exports_is_let_go(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH))
    with cpu() as prof:
        loop(loader)
    ours = standing.current()
    assert ours is not None
    assert ours._kept is not None
    with cpu() as other:
        loop(loader)
    prof.export_chrome_trace(str(tmp_path / "first.json"))
    assert "dataPipeline" not in read(tmp_path / "first.json"), "of cycles that nobody exported only the last is kept"
    del other
    gc.collect()
    assert ours._kept is None


def test_a_late_export_has_the_workers_rows(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH, num_workers=2))
    with scheduled(lambda prof: None) as prof:
        assert loop(loader, prof) == ALL
    assert loop(loader) == ALL
    gc.collect()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = read(tmp_path / "trace.json")
    assert stages(trace)["transform::Work"] >= 10
    assert len(consumed(trace)) >= 6


def test_annotated_while_the_profiler_records(tmp_path: Path) -> None:
    loader: DataLoader[int] = DataLoader(Numbers(), batch_size=BATCH)
    with cpu() as prof:
        torch.ones(2).sum()
        annotate.loader(loader)
        loop(loader)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert stages(read(tmp_path / "trace.json"))["transform::Work"] == SIZE


@pytest.mark.parametrize("workers", [0, 1])
def test_iterable_datasets_whose_loop_had_begun(tmp_path: Path, workers: int) -> None:
    loader = annotate.loader(DataLoader(Stream(), batch_size=BATCH, num_workers=workers))
    with scheduled(tensorboard_trace_handler(str(tmp_path)), wait=4) as prof:
        assert loop(loader, prof) == ALL
    (path,) = tmp_path.iterdir()
    assert stages(read(path))["sample::Stream"] >= 10
    assert stages(read(path))["transform::Work"] >= 10


def test_the_dataset_of_a_loader_that_nobody_keeps(tmp_path: Path) -> None:
    """Its loader is gone when the profiler begins; its iterator keeps the dataset."""
    annotate.auto()
    path = f"{tmp_path}/a.json"
    with scheduled(lambda prof: prof.export_chrome_trace(path)) as prof:
        for _ in DataLoader(Numbers(), batch_size=BATCH):
            prof.step()
    found = stages(read(path))
    assert found["sample::Numbers"] == found["transform::Work"] >= 5 * BATCH


def test_a_loader_of_a_window_is_let_go_when_the_program_does(tmp_path: Path) -> None:
    loader: Any = annotate.loader(DataLoader(Numbers(), batch_size=BATCH))
    gone = weakref.ref(loader)
    with cpu():
        loop(loader)
        del loader
        gc.collect()
        assert gone() is None


def test_persistent_workers_followed_since_their_start_are_recorded(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH, num_workers=2, persistent_workers=True))
    assert loop(loader) == ALL
    with scheduled(tensorboard_trace_handler(str(tmp_path))) as prof:
        assert loop(loader, prof) == ALL
    (path,) = tmp_path.iterdir()
    trace = read(path)
    assert trace["dataPipeline"]["notes"] == []
    assert {batch["epoch"] for batch in consumed(trace)} == {1}
    assert stages(trace)["sample::Numbers"] >= 10


def test_persistent_workers_from_before_are_said(tmp_path: Path) -> None:
    loader: DataLoader[int] = DataLoader(Numbers(), batch_size=BATCH, num_workers=2, persistent_workers=True)
    loop(loader)
    annotate.loader(loader)
    with scheduled(tensorboard_trace_handler(str(tmp_path))) as prof:
        assert loop(loader, prof) == ALL
    (path,) = tmp_path.iterdir()
    (note,) = read(path)["dataPipeline"]["notes"]
    assert note.startswith("no data from the DataLoader workers of loader 0: its workers had started before")


def test_spawned_workers(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH, num_workers=1, multiprocessing_context="spawn"))
    with scheduled(tensorboard_trace_handler(str(tmp_path))) as prof:
        assert loop(loader, prof) == ALL
    (path,) = tmp_path.iterdir()
    assert stages(read(path))["transform::Work"] >= 10


def test_off_takes_everything_out(tmp_path: Path) -> None:
    before = {name: vars(torch.autograd.profiler.profile)[name] for name in standing._HOOKS}
    methods = DataLoader.__iter__, DataLoader._get_iterator
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH, num_workers=1))
    loop(loader)
    annotate.off()
    assert {name: vars(torch.autograd.profiler.profile)[name] for name in standing._HOOKS} == before
    assert (DataLoader.__iter__, DataLoader._get_iterator) == methods
    with cpu() as prof:
        loop(loader)
        with annotate.stage("user", "body"):
            pass
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "dataPipeline" not in read(tmp_path / "trace.json")
    assert standing.current() is None, "a stage does not put the hooks in again"


def test_off_in_the_middle_of_a_window(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH, num_workers=2))
    seen = []
    with cpu() as prof:
        for batch in loader:
            seen.append(batch.tolist())
            if len(seen) == 3:
                annotate.off()
    assert seen == ALL
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "dataPipeline" not in read(tmp_path / "trace.json")


def test_loaders_are_let_go(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH))
    with scheduled(tensorboard_trace_handler(str(tmp_path))) as prof:
        loop(loader, prof)
    gone = weakref.ref(loader)
    del loader, prof
    gc.collect()
    assert gone() is None


def test_an_export_into_a_folder_that_cannot_take_ours_is_as_torch_wrote_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH))
    with cpu() as prof:
        loop(loader)

    def full(*args: object, **keywords: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("annotate.trace.writer.tempfile.mkstemp", full)
    with pytest.warns(RuntimeWarning, match="could not add its spans to .*No space left"):
        prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = read(tmp_path / "trace.json")
    assert "dataPipeline" not in trace
    assert [each.name for each in tmp_path.iterdir()] == ["trace.json"]


def test_the_file_has_the_mode_that_torch_gives_it(tmp_path: Path) -> None:
    def mode(name: str) -> int:
        path = tmp_path / name
        path.touch(0o640)
        with cpu() as prof:
            loop(loader)
        prof.export_chrome_trace(str(path))
        return path.stat().st_mode

    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH))
    ours = mode("ours.json")
    annotate.off()
    assert ours == mode("torchs.json")
    assert "dataPipeline" in read(tmp_path / "ours.json")


def test_trace_handler_writes_under_our_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH, num_workers=1))
    handler = annotate.trace_handler(tmp_path / "runs" / "x")
    with scheduled(handler) as prof:
        loop(loader, prof)
    (path,) = (tmp_path / "runs" / "x").iterdir()
    assert handler.trace_files == [str(path)]
    assert path.name.endswith(".pt.trace.json.gz")
    assert str(os.getpid()) in path.name
    assert stages(load(path))["transform::Work"] >= 10
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("annotate: ")]
    assert line == f"annotate: wrote 1 capture. Look at it: tb-dataplugin report {path}"


@pytest.mark.parametrize("given", [None, 5])
def test_trace_handler_refuses_what_is_no_folder(given: Any) -> None:
    with pytest.raises(TypeError, match=r"annotate\.trace_handler takes the folder of the run, not .*Pass it"):
        annotate.trace_handler(given)


def test_annotate_profile_keeps_its_own_way(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=BATCH, num_workers=2))
    with scheduled(tensorboard_trace_handler(str(tmp_path / "theirs"))) as prof:
        loop(loader, prof)
    with annotate.profile(tmp_path / "ours", wait=1, warmup=1, active=4) as ours:
        for _ in ours.steps(loader):
            pass
    with pytest.raises(RuntimeError, match=r"another torch\.profiler is open"), cpu():
        annotate.profile(tmp_path / "ours").__enter__()
    trace = load(ours.trace_files[0])
    assert trace["dataPipeline"]["notes"] == []
    assert len(consumed(trace)) >= 4
