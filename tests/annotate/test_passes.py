"""When a program's passes over its DataLoaders began and were over."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.launch.notes import Notes
from annotate.launch.recording import note_between_epochs
from annotate.workers.passes import Passes
from annotate.workers.standing import StandingWorkers


class Iterated:
    """An iterator, for as long as somebody holds it."""


class Numbers(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([index])


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    annotate.off()


def let_go_at(moment: int, found: Passes, kept: list[Iterated]) -> None:
    each = found.latest[-1]
    each._let_go(None, lambda: moment)  # type: ignore[arg-type]
    kept.clear()


def test_the_time_between_passes_is_that_in_which_none_is_open() -> None:
    found, kept = Passes(), [Iterated()]
    found.begun(0, kept[0], 1000)
    let_go_at(5000, found, kept)
    kept.append(Iterated())
    found.begun(1, kept[0], 7000)
    inside = Iterated()
    found.begun(2, inside, 8000)  # another loader, in the middle of that pass
    found.latest[-1]._let_go(None, lambda: 9000)  # type: ignore[arg-type]
    found.latest[-2]._let_go(None, lambda: 9500)  # type: ignore[arg-type]
    found.begun(1, Iterated(), 10_000)
    assert (found.times, found.between_ns, found.longest_ns, found.whole_ns) == (2, 2500, 2000, 9000)
    assert found.of(0) == [(1.0, 5.0)]


def test_an_iterator_that_goes_through_it_again_says_nothing_of_the_time_between() -> None:
    """As that of persistent workers does."""
    found, kept = Passes(), Iterated()
    found.begun(0, kept, 1000)
    found.begun(0, kept, 5000)
    assert (found.times, [each.is_over for each in found.latest]) == (0, [True, False])
    assert found.of(0) == [(1.0, None), (5.0, None)]


def test_an_iterator_that_is_gone_is_over_at_once() -> None:
    found, kept = Passes(), Iterated()
    found.begun(0, kept, 1000)
    (only,) = found.latest
    assert only.ended is None
    del kept
    assert only.is_over
    assert found.of(0)[0][1] is not None


def recorded(path: Path) -> list[dict[str, Any]]:
    loaders: list[dict[str, Any]] = json.loads(path.read_text())["dataPipeline"]["loaders"]
    return loaders


@pytest.mark.parametrize("workers", [0, 2])
def test_a_profile_of_the_users_says_which_loaders_are_gone(workers: int, tmp_path: Path) -> None:
    annotate.auto()
    for epoch in range(3):
        loader = DataLoader(Numbers(), batch_size=2, num_workers=workers)
        if epoch < 2:
            assert len(list(loader)) == 4
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        assert len(list(loader)) == 4
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    found = recorded(tmp_path / "trace.json")
    assert [each["gone"] for each in found] == [True, True, False]
    spans = [span for each in found for span in each["passes_us"]]
    assert all(ended <= began for (_, ended), (began, _) in pairwise(spans))


def test_run_is_told_of_loaders_that_follow_each_other_and_of_no_others() -> None:
    annotate.auto()
    anew, held = StandingWorkers(), StandingWorkers()
    for _ in range(3):
        loader = DataLoader(Numbers(), batch_size=2)
        anew.loaders.iterated(loader)
    assert anew.loaders.made_anew() == 3
    kept = [DataLoader(Numbers(), batch_size=2) for _ in range(3)]
    assert [held.loaders.iterated(each) for each in kept] == [0, 1, 2]
    kept.clear()  # as when the program ends
    assert held.loaders.made_anew() == 1, "the program held them all"
    notes = Notes(None)
    note_between_epochs(notes, anew)
    assert notes.between == {"times": 0, "seconds": 0, "longest_s": 0, "whole_s": 0, "made": 3, "loader": 0}


def test_a_fault_of_ours_as_the_program_ends_costs_a_clause_and_no_word() -> None:
    notes, workers = Notes(None), StandingWorkers()
    vars(workers).clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note_between_epochs(notes, workers)
    assert not notes.between


def test_a_wait_shows_in_the_pass_of_its_loader_in_the_traces_own_time(tmp_path: Path) -> None:
    """Also of loaders that are alike in all that is recorded of them, which nothing else tells from each other."""
    annotate.auto()
    training, evaluation = (DataLoader(Numbers(), batch_size=2) for _ in range(2))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        for number, _ in enumerate(training):
            if number == 1:
                assert len(list(evaluation)) == 4
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    record = json.loads((tmp_path / "trace.json").read_text())
    waits = sorted(
        each["ts"] for each in record["traceEvents"] if "DataLoader" in each.get("name", "") and "ts" in each
    )
    ((own, _),), ((began, ended),) = (each["passes_ts_us"] for each in record["dataPipeline"]["loaders"])
    assert [at for at in waits if began <= at < ended] == waits[2:7]
    assert own <= waits[0] < own + 60e6
