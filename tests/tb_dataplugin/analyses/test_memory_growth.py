"""Memory that grows through a window, in made traces and in a real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import annotate
from tb_dataplugin import read_report
from tb_dataplugin.pipeline import analyse
from tests.trace_builder import TraceBuilder

MB = 1e6


def grows(
    *sizes: float, series: str = "training_process_bytes", operators: int = 0, in_use: float | None = None
) -> list[str]:
    """Of a window in which that memory was sampled at even times. `in_use`: grows by so many bytes; else as it does."""
    grown = (sizes[-1] - sizes[0]) * len(sizes) / (len(sizes) - 1) if in_use is None else in_use
    heap = [] if in_use == 0 else [0, round(grown)] if grown > 0 else [round(-grown), 0]
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}], overhead={"heap_bytes": heap})
    for number in range(10):
        builder.step(100_000 * number, 100_000)
    for number in range(operators):
        builder.operator(1_000_000 * number / operators, 1)
    for number, size in enumerate(sizes):
        builder.counter("host::processes", 1_000_000 * number / len(sizes), **{series: size})
    return [note.message for note in analyse(builder.trace()).capture.diagnostics if note.code == "memory_grows"]


@pytest.mark.parametrize(("series", "notes"), [("training_process_bytes", 0), ("workers_bytes", 1)])
def test_what_the_profiler_keeps_of_the_training_process_is_no_growth(series: str, notes: int) -> None:
    sizes = [1000 * MB + 3 * MB * number for number in range(40)]
    assert len(grows(*sizes, series=series, operators=100_000)) == notes


@pytest.mark.parametrize(("series", "notes"), [("training_process_bytes", 0), ("workers_bytes", 1)])
@pytest.mark.parametrize("in_use", [10 * MB, 0])
def test_what_stays_resident_without_being_in_use_is_no_growth(series: str, notes: int, in_use: float) -> None:
    """Under torch's profiler the training process has freed blocks that stay; 0: what is in use is not known."""
    sizes = [1000 * MB + 10 * MB * number for number in range(40)]
    assert len(grows(*sizes, series=series, in_use=in_use)) == notes


def test_growth_is_what_came_into_use_where_that_is_less() -> None:
    (note,) = grows(*(1000 * MB + 20 * MB * number for number in range(40)), in_use=400 * MB)
    assert "by 300 MB, from 1.09 GB to 1.39 GB" in note


@pytest.mark.parametrize(("started", "notes"), [(-2_000_000.0, 1), (-500_000.0, 0), (100_000.0, 0)])
def test_memory_of_workers_that_have_just_begun_may_still_grow(started: float, notes: int) -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).worker(0, started=started)
    for number in range(10):
        builder.step(100_000 * number, 100_000)
    for number in range(40):
        builder.counter("host::processes", 25_000 * number, workers_bytes=1000 * MB + 20 * MB * number)
    said = [note for note in analyse(builder.trace()).capture.diagnostics if note.code == "memory_grows"]
    assert len(said) == notes


def test_even_growth_is_a_note_with_its_size_per_step() -> None:
    (note,) = grows(*(1000 * MB + 20 * MB * number for number in range(40)))
    assert note.startswith(
        "Memory of the training process grows from the first to the last quarter of this window by 600 MB, "
        "from 1.09 GB to 1.69 GB"
    )
    assert "about 80.0 MB per step" in note
    (note,) = grows(*(1000 * MB + 20 * MB * number for number in range(40)), series="workers_bytes")
    assert "the DataLoader workers" in note


@pytest.mark.parametrize(
    "sizes",
    [
        [1000 * MB] * 40,
        [1000 * MB + min(400 * MB, 80 * MB * number) for number in range(40)],  # a start
        [1000 * MB + (500 * MB if number > 20 else 0) for number in range(40)],  # one allocation
        [1000 * MB + 1 * MB * number for number in range(40)],  # little
        [1000 * MB + 300 * MB * (number % 2) for number in range(40)],  # back and forth
        [1000 * MB + 100 * MB * number for number in range(8)],  # too few samples
    ],
)
def test_a_start_one_allocation_and_noise_are_not_growth(sizes: list[float]) -> None:
    assert grows(*sizes) == []


class Leaks:
    """An iterator that is no DataLoader, and keeps every batch."""

    def __init__(self) -> None:
        self.kept: list[np.ndarray] = []

    def __iter__(self) -> Iterator[np.ndarray]:
        for _ in range(80):
            self.kept.append(np.ones(1_000_000))
            yield self.kept[-1]


def test_an_iterable_that_keeps_its_batches_is_found_out(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=1, warmup=1, active=60, host_sample_ms=5, verdict=False) as prof:
        for _ in prof.steps(Leaks()):
            np.ones(2_000_000).sum()
    (capture,) = read_report(tmp_path)
    (note,) = [note.message for note in capture.diagnostics if note.code == "memory_grows"]
    assert "Memory of the training process grows from" in note
    rows = [row.title for row in capture.load_rows if row.counter == "host::processes"]
    assert rows == ["Memory of this job"]
