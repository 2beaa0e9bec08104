"""Whose steps they are where a thread takes from several loaders: by made-up times, all of which are counted once."""

from __future__ import annotations

import json
import random
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from run_helpers import Loaders
from torch.utils.data import DataLoader, TensorDataset

import annotate
from annotate.recording import switch
from annotate.whole_run.iterating import RunIterator
from annotate.whole_run.points import line_of, numbers_of
from annotate.whole_run.series import Series
from annotate.whole_run.tally import Tally

MS = 1_000_000


class Loop:
    """One that takes batches of loaders by name: waits, then works. Milliseconds."""

    def __init__(self) -> None:
        self.now = 0
        self.owner = Loaders()
        self.series: dict[str, Series] = {}
        self._iterators: dict[str, RunIterator] = {}

    def begins(self, name: str) -> None:
        series = self.series.setdefault(name, Series(len(self.series), self.owner, 4, None))
        self._iterators[name] = RunIterator(series, None, nullcontext, self.now)
        series.epochs += 1

    def takes(self, name: str, wait: int, work: int) -> None:
        if name not in self._iterators:
            self.begins(name)
        begin, self.now = self.now, self.now + wait * MS
        self._iterators[name]._came(begin, self.now)
        self.now += work * MS

    def ends(self, name: str) -> None:
        self._iterators.pop(name)._came_none(self.now, StopIteration())

    def leaves(self, name: str) -> None:
        self._iterators.pop(name)

    def taken(self) -> dict[str, Tally]:
        self.owner.here.steps.conclude()
        return {name: series.take() for name, series in self.series.items()}


def known_ms(tallies: dict[str, Tally]) -> float:
    every = (one.step_ns + one.first_wait_ns + one.other_ns + one.between_ns for one in tallies.values())
    return sum(every) / MS


def two_in_a_step(steps: int, labelled: int, unlabelled: int, at_a_time: int = 1) -> Loop:
    """Both begin anew at their ends, after so many batches."""
    loop, taken = Loop(), 0
    for step in range(steps):
        if step and step % labelled == 0:
            loop.ends("labelled")
        loop.takes("labelled", 2, 5)
        for _ in range(at_a_time):
            if taken and taken % unlabelled == 0:
                loop.ends("unlabelled")
            taken += 1
            loop.takes("unlabelled", 60, 10)
    return loop


@pytest.mark.parametrize("at_a_time", [1, 2])
def test_a_step_that_takes_from_two_loaders_waits_for_both(at_a_time: int) -> None:
    loop = two_in_a_step(100, 1000, 1000, at_a_time)
    found = loop.taken()
    labelled, unlabelled = found["labelled"], found["unlabelled"]
    first = 60  # of the other loader's epoch, which is summed separately
    assert (labelled.steps, labelled.unused_steps, unlabelled.steps, unlabelled.unused_steps) == (99, 0, 0, 0)
    assert labelled.step_ns == (99 * (7 + 70 * at_a_time) - first) * MS
    assert labelled.others_wait_ns == (99 * 60 * at_a_time - first) * MS
    assert labelled.wait_ns == labelled.others_wait_ns + 99 * 2 * MS
    assert (labelled.first_wait_ns, unlabelled.first_wait_ns) == (2 * MS, 60 * MS)
    assert unlabelled.joined == 100 * at_a_time - 1
    assert unlabelled.joined_ns == unlabelled.joined * 60 * MS
    assert (labelled.samples, unlabelled.samples) == (400, 400 * at_a_time)


def test_the_terminal_and_the_scalars_have_both_loaders() -> None:
    found = two_in_a_step(100, 1000, 1000).taken()
    lines = {name: line_of(one, 10.0) for name, one in found.items()}
    assert "99 steps, step 76.4 ms, data wait 61.4 ms (80%), 59.4 ms of it for other DataLoaders" in lines["labelled"]
    assert lines["unlabelled"].startswith("99 batches in the steps of another DataLoader, each waited for 60 ms")
    assert numbers_of(found["unlabelled"], 10.0)["joined_data_wait_ms"] == 60


@pytest.mark.parametrize(
    ("labelled", "unlabelled", "leads", "steps"),
    [
        (25, 40, "labelled", 256),
        (25, 1000, "labelled", 256),
        (1000, 7, "labelled", 265),
        (2, 1000, "labelled", 133),
        (1, 50, "unlabelled", 260),
        (50, 1, "labelled", 260),
    ],
)
def test_epochs_of_different_length_have_all_steps_but_their_last(
    labelled: int, unlabelled: int, leads: str, steps: int
) -> None:
    loop = two_in_a_step(266, labelled, unlabelled)
    found = loop.taken()
    assert found[leads].steps == pytest.approx(steps, abs=2)
    assert sum(one.steps for one in found.values()) == found[leads].steps, "a step is one loader's"
    assert sum(one.unused_steps for one in found.values()) <= 1
    assert known_ms(found) == pytest.approx(loop.now / MS, abs=80), "but the last step, which nothing ends"


def test_epochs_of_two_zipped_loaders_are_all_the_time_there_is() -> None:
    loop = Loop()
    for _ in range(5):
        loop.begins("labelled")
        loop.now += 3 * MS  # its workers
        loop.begins("unlabelled")
        for _ in range(20):
            loop.takes("labelled", 2, 0)
            loop.takes("unlabelled", 20, 8)
        loop.ends("labelled")
        loop.leaves("unlabelled")
        loop.now += 50 * MS
        for _ in range(5):
            loop.takes("validation", 1, 1)
        loop.ends("validation")
    found = loop.taken()
    assert {name: (one.steps, one.unused_steps) for name, one in found.items()} == {
        "labelled": (5 * 19, 0),
        "unlabelled": (0, 0),
        "validation": (5 * 4, 0),
    }
    assert found["labelled"].first_wait_ns == 5 * 5 * MS
    assert found["unlabelled"].first_wait_ns == 5 * 20 * MS, "not from when its iterator was made"
    assert found["validation"].between_ns == 5 * 50 * MS
    assert known_ms(found) == loop.now / MS


def test_the_batches_that_itertools_cycle_remembers_leave_the_other_loaders_steps() -> None:
    loop = Loop()
    for step in range(100):
        if step == 20:
            loop.ends("labelled")
        if step < 20:
            loop.takes("labelled", 2, 0)
        loop.takes("unlabelled", 20, 8)
    found = loop.taken()
    assert (found["labelled"].steps, found["unlabelled"].steps) == (19, 79)
    assert known_ms(found) == loop.now / MS - 8, "but the last step"


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("others", [1, 2, 6])
def test_an_evaluation_between_two_steps_leaves_that_one_out(others: int, ends: bool) -> None:
    loop = Loop()
    for step in range(200):
        loop.takes("training", 2, 8)
        if step % 20 == 19:
            for _ in range(others):
                loop.takes("validation", 1, 1)
            if ends:
                loop.ends("validation")
    found = loop.taken()
    assert (found["training"].steps, found["training"].step_ns) == (190, 190 * 10 * MS)
    assert (found["training"].unused_steps, found["training"].others_wait_ns) == (9, 0)
    assert found["validation"].joined == 0
    assert found["validation"].steps == 10 * (others - 1)
    assert found["training"].profiled_steps == 0


def test_a_step_with_an_evaluation_is_left_out_of_those_of_two_loaders() -> None:
    loop = Loop()
    for step in range(100):
        loop.takes("labelled", 2, 8)
        loop.takes("unlabelled", 20, 8)
        if step % 20 == 19:
            for _ in range(6):
                loop.takes("validation", 1, 1)
    found = loop.taken()
    assert found["labelled"].unused_steps == 4
    assert found["labelled"].steps == 95
    assert found["unlabelled"].joined + found["unlabelled"].unused_steps == 99
    assert found["validation"].steps == 5 * 5


def test_what_comes_in_most_steps_of_an_epoch_counts_though_it_did_not_in_those_before() -> None:
    loop = Loop()
    for epoch in range(6):
        for _ in range(30):
            loop.takes("labelled", 2, 8)
            if epoch > 2:
                loop.takes("unlabelled", 20, 8)
        loop.ends("labelled")
    found = loop.taken()
    assert (found["labelled"].steps, found["labelled"].unused_steps) == (6 * 29, 0)
    assert known_ms(found) == loop.now / MS


@pytest.mark.parametrize("steps", range(5))
@pytest.mark.parametrize("labelled", [1, 2, 1000])
def test_a_run_that_ends_early_has_every_batch(steps: int, labelled: int) -> None:
    found = two_in_a_step(steps, labelled, 1000).taken()
    for one in found.values():
        assert one.steps + one.joined + one.unused_steps + one.first_waits == steps


def test_loaders_that_take_turns_by_chance_have_steps_of_their_own() -> None:
    loop, numbers = Loop(), random.Random(1)
    for _ in range(1000):
        loop.takes(numbers.choice("ab"), 2, 8)
    found = loop.taken()
    assert sum(one.joined for one in found.values()) == 0
    assert all(one.step_ns == one.steps * 10 * MS for one in found.values())


def test_a_loader_that_gives_many_batches_in_a_step_leads() -> None:
    loop = two_in_a_step(60, 1000, 1000, at_a_time=3)
    found = loop.taken()
    assert (found["labelled"].steps, found["unlabelled"].steps) == (0, 120)


def test_a_step_in_which_a_profiler_is_at_work_is_left_out_for_both() -> None:
    loop = Loop()
    for step in range(50):
        loop.takes("labelled", 2, 8)
        if step == 30:
            switch.disturb()
        loop.takes("unlabelled", 20, 8)
    found = loop.taken()
    assert (found["labelled"].steps, found["unlabelled"].joined) == (48, 48)
    for one in found.values():
        assert (one.unused_steps, one.profiled_steps, one.profiled_samples) == (1, 1, 4)


def test_what_is_made_inside_of_another_loaders_next_is_no_second_wait() -> None:
    """A dataset that takes its samples from a DataLoader of its own."""
    loop = Loop()
    for step in range(50):
        begin = loop.now
        loop.takes("inner", 20, 1)
        if not step:
            loop.begins("outer")
        loop._iterators["outer"]._came(begin, loop.now)
        loop.now += 8 * MS
    found = loop.taken()
    assert sum(one.others_wait_ns + one.joined for one in found.values()) == 0


def test_a_run_that_takes_from_two_loaders_is_recorded_and_is_as_without_it(tmp_path: Path) -> None:
    def trains() -> list[float]:
        torch.manual_seed(0)
        labelled = DataLoader(TensorDataset(torch.arange(40.0)), 4, shuffle=True)
        unlabelled = DataLoader(TensorDataset(torch.arange(70.0)), 7, shuffle=True)
        seen = []
        for _ in range(3):
            for (x,), (u,) in zip(labelled, unlabelled, strict=True):
                seen += [*x.tolist(), *u.tolist(), torch.rand(1).item()]
        return seen

    plain = trains()
    annotate.watch(logdir=tmp_path)
    watched = trains()
    annotate.off()
    assert watched == plain
    (path,) = tmp_path.glob("*.watch.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    (interval,) = (line for line in lines if line["kind"] == "interval")
    first, second = interval["loaders"]
    assert (first["steps"], second["joined"]) == (3 * 9, 3 * 9)
    assert 0 < first["others_wait_us"] < first["wait_us"] < first["step_us"]
    assert "unused_steps" not in first and "unused_steps" not in second
