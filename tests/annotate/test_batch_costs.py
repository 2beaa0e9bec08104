"""What making a batch cost its worker, threads of libraries in it, and the sizes of stages' results."""

from __future__ import annotations

import gc
import io
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import PIL.Image
import pytest
import torch
from torch.utils.data import DataLoader, Dataset
from worker_helpers import batches_of, run, worker_spans

import annotate
from annotate.host import meter
from annotate.recording.sizes import size_of
from annotate.trace_format import BatchCosts
from tb_dataplugin.reader import read_trace

WORK_NS = 3_000_000


class Deeds(Dataset[torch.Tensor]):
    """Batches of one sample: one spins, one sleeps, one reads."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "file"
        self.path.write_bytes(bytes(1 << 20))

    def __len__(self) -> int:
        return 9

    def __getitem__(self, index: int) -> torch.Tensor:
        meter.EVERY_NS = 0  # in this process from here on: the first batch is measured anyway
        if index % 3 == 0:
            begin = time.thread_time_ns()
            while time.thread_time_ns() - begin < WORK_NS:
                pass
        elif index % 3 == 1:
            time.sleep(0.002)
            time.sleep(0.002)
        else:
            self.path.read_bytes()
        return torch.tensor([index])


def costs_of(trace: dict[str, Any]) -> list[dict[str, Any]]:
    """Of each whole batch in the window, by its number."""
    columns = trace["dataPipeline"]["batch_costs"]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    batches = batches_of(trace)
    assert len(batches) == len(rows)
    pairs = sorted(zip(batches, rows, strict=True), key=lambda pair: pair[0]["batch"])
    return [row for batch, row in pairs if batch["finished_us"] is not None]


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.thorough)])
def test_each_batch_tells_what_it_cost_its_worker(method: str, tmp_path: Path) -> None:
    loader = DataLoader(Deeds(tmp_path), batch_size=1, num_workers=2, multiprocessing_context=method)
    trace, _ = run(tmp_path / "run", annotate.loader(loader))
    assert list(trace["dataPipeline"]["batch_costs"]) == list(meter.COLUMNS)
    costs = costs_of(trace)
    assert len(costs) == 9
    for number, cost in enumerate(costs):
        assert None not in cost.values()
        if number % 3 == 0:
            assert cost["process_cpu_us"] >= WORK_NS / 1000 - 1
        elif number % 3 == 1:
            assert cost["voluntary_switches"] >= 2
        else:
            assert cost["read_chars"] >= 1 << 20
    assert min(cost["process_cpu_us"] for cost in costs[1::3]) < WORK_NS / 1000


def test_the_columns_are_those_of_the_trace_format() -> None:
    assert tuple(BatchCosts.__annotations__) == meter.COLUMNS


def test_what_the_system_does_not_tell_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "_open", lambda path: None)
    loader = DataLoader(Deeds(tmp_path), batch_size=1, num_workers=1, multiprocessing_context="fork")
    trace, _ = run(tmp_path / "run", annotate.loader(loader))
    found = set(trace["dataPipeline"]["batch_costs"])
    assert found == set(meter.COLUMNS) - {"run_delay_us", "read_chars", "read_bytes"}


def test_without_workers_there_are_no_costs(tmp_path: Path) -> None:
    trace, _ = run(tmp_path / "run", annotate.loader(DataLoader(Deeds(tmp_path), batch_size=1)))
    assert "batch_costs" not in trace["dataPipeline"]


def test_what_is_unknown_once_is_unknown_between() -> None:
    assert meter.between((1, -1, 3, 9), (5, 7, -1, 8)) == (4, -1, -1, 0)


def test_a_batch_is_measured_when_its_turn_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr(meter, "EVERY_NS", 200)
    monkeypatch.setattr(meter, "perf_counter_ns", lambda: now[0])
    reader = meter.Meter()
    measured = []
    for time_ns in (0, 100, 199, 200, 350, 500):
        now[0] = time_ns
        measured.append(reader.begin()[2] != meter.UNKNOWN)  # context switches
    reader.close()
    assert measured == [True, False, False, True, False, True]


def test_cpu_time_and_collections_are_of_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "EVERY_NS", 10**12)
    reader = meter.Meter()
    reader.begin()  # its turn: the next one's is not
    first, begin = reader.begin(), time.process_time_ns()
    while time.process_time_ns() - begin < WORK_NS:
        pass
    gc.collect()
    spent = dict(zip(meter.COLUMNS, reader.since(first), strict=True))
    reader.close()
    assert spent.pop("process_cpu_us") >= WORK_NS and spent.pop("gc_us") > 0
    assert set(spent.values()) == {meter.UNKNOWN}


@pytest.mark.alone
def test_two_readings_take_less_than_a_tenth_of_a_millisecond() -> None:
    reader = meter.Meter()
    times = []
    for _ in range(51):
        begin = time.perf_counter_ns()
        meter.between(reader.read(), reader.read())
        times.append(time.perf_counter_ns() - begin)
    reader.close()
    reader.close()
    assert median(times) < 100_000


def test_the_threads_of_libraries_in_a_worker_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    loader = DataLoader(Deeds(tmp_path), batch_size=3, num_workers=1, multiprocessing_context="fork")
    trace, _ = run(tmp_path / "run", annotate.loader(loader))
    (worker,) = trace["dataPipeline"]["workers"]
    assert worker["torch_threads"] == 1
    assert worker["cv2_threads"] >= 1  # the tests import it
    assert worker["omp_threads"] == 3


def test_the_reader_understands_what_capture_writes(tmp_path: Path) -> None:
    loader = DataLoader(Deeds(tmp_path), batch_size=1, num_workers=1)
    told, _ = run(tmp_path / "run", annotate.loader(loader), host_sample_ms=5)
    (path,) = (tmp_path / "run").glob("*.gz")
    trace = read_trace(path)
    assert [one.code for one in trace.diagnostics] == []
    pipeline = trace.info.pipeline
    assert pipeline is not None
    assert pipeline.workers[0].torch_threads == 1
    assert pipeline.batch_costs is not None
    columns = told["dataPipeline"]["batch_costs"]
    assert pipeline.batch_costs.voluntary.tolist() == columns["voluntary_switches"]
    assert pipeline.batch_costs.process_cpu_ns.tolist() == [round(us * 1000) for us in columns["process_cpu_us"]]
    assert {"host::cpu", "host::memory", "host::reads"} <= {series.counter for series in trace.counters}


class Pictures(Dataset[int]):
    """Decodes; reads a file by `read` and by `readinto`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = Path(path).stat().st_size

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        buffer = bytearray(self.size + 10_000)  # small reads are not timed
        with open(self.path, "rb") as file:
            if index == 0:
                PIL.Image.open(io.BytesIO(file.read())).convert("L")
            else:
                assert file.readinto(buffer) == self.size
        return index


def test_reads_and_decodes_tell_their_bytes(photos: list[str], tmp_path: Path) -> None:
    for index in (0, 1):
        dataset = torch.utils.data.Subset(Pictures(photos[0]), [index])
        trace, _ = run(tmp_path, annotate.loader(DataLoader(dataset, num_workers=1)))
        (spans,) = worker_spans(trace).values()
        sizes = {span["name"]: span["args"].get("bytes") for span in spans}
        assert sizes["read::file"] == Path(photos[0]).stat().st_size
        if index == 0:
            assert sizes["decode::PIL.Image"] == 96 * 64 * 3
            assert sizes["read::PIL.Image.open"] is None, "nothing is decoded yet"


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (b"123", 3),
        (bytearray(5), 5),
        (memoryview(bytes(7)), 7),
        (torch.zeros(3, 4), 48),
        (np.zeros((2, 5), np.uint8), 10),
        (PIL.Image.new("RGB", (4, 5)), 60),
        (PIL.Image.new("L", (4, 5)), 20),
        (PIL.Image.new("F", (4, 5)), 80),
        (PIL.Image.new("I;16", (4, 5)), 40),
        ({"x": torch.zeros(2), "y": [b"1", 7]}, 9),
        ([torch.zeros(2)] * 1000, 8000),
        ([[b"12"] * 100] * 10, 2000),
        ([b"1"] * 100 + [object()], 101),
        (7, -1),
        ([0.5] * 100_000, -1),
        (object(), -1),
    ],
)
def test_the_size_of_a_result(value: object, size: int) -> None:
    assert size_of(value) == size


def test_what_a_sample_holds_is_not_counted_to_its_end() -> None:
    looked_at = []

    class Point(float):
        @property
        def nbytes(self) -> int:
            looked_at.append(self)
            return 8

    assert size_of({"points": [[Point(at)] * 50 for at in range(5000)], "more": [Point(0)] * 5000}) > 0
    assert len(looked_at) <= 64


def test_what_was_only_opened_has_no_size(tmp_path: Path) -> None:
    """A dataset of h5py says how large it is, before anything of it was read."""
    lazy = type("Dataset", (), {"__module__": "h5py._hl.dataset", "nbytes": 100_728_832})()
    assert size_of(lazy) == -1
    assert size_of({"images": lazy, "label": b"1"}) == 1
    path = tmp_path / "array.npy"
    np.save(path, np.zeros((100, 5)))
    mapped = np.load(path, mmap_mode="r")
    assert size_of(mapped) == -1
    assert size_of(mapped[3]) == 40
    assert size_of(np.array(mapped)) == 4000
