"""Steps on copies of batches: what the loop gets, that the loader's own batches stay, and what is refused."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from capture_helpers import load
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.capture.batch_copies import MOST, CannotCopy, copy_of, most_bytes
from annotate.capture.headspace import NO_BATCH, WARM_UP, Headspace
from annotate.trace.writer import add_to_record

ASKED = 8


def drive(headspace: Headspace, loader: list[list[int]], seen: list[list[int]], stop_after: int = 10**6) -> None:
    """As `Steps` does; each batch is emptied by the loop."""
    headspace.loop_begins(loader)
    real = iter(loader)
    batch: Any = next(real, None)
    while batch is not None and len(seen) < stop_after:
        headspace.mark(loader)
        seen.append(list(batch))
        batch.clear()
        headspace.mark(loader)
        batch = headspace.step(loader)
        if batch is NO_BATCH:
            batch = next(real, None)
            if batch is not None:
                headspace.took(loader, batch)


def numbered(count: int) -> list[list[int]]:
    return [[number] for number in range(count)]


def started(ahead: int = 0) -> Headspace:
    headspace = Headspace(ASKED, sleep=lambda _: None)
    headspace.begin(ahead)
    return headspace


def test_copies_come_once_each_and_the_loaders_batches_stay_in_order() -> None:
    seen: list[list[int]] = []
    headspace = started()
    drive(headspace, numbered(30), seen)
    served = seen[17:25]
    assert served == seen[9:17], "the copied ones, as they were before the loop emptied them"
    assert seen[:17] + seen[25:] == numbered(30)
    assert headspace.record is not None
    assert len(headspace.record["own_us"]) == ASKED
    assert len(headspace.record["step_us"]) == ASKED - WARM_UP


def test_what_lies_between_two_bodies_is_none_of_the_loops_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count()
    monkeypatch.setattr("annotate.capture.headspace.perf_counter", lambda: float(next(now)) ** 2)
    headspace = started()
    drive(headspace, numbered(30), [])
    assert headspace.record is not None
    first = ASKED + 1 + 2 * WARM_UP  # readings before it: one for each step of its own, two for each body
    assert headspace.record["step_us"][0] == 1e6 * ((first + 1) ** 2 - first**2)
    assert len(headspace.record["step_us"]) == ASKED - WARM_UP


def test_steps_in_which_the_queue_is_not_yet_as_before_are_left_out() -> None:
    seen: list[list[int]] = []
    drive(started(ahead=4), numbered(60), seen)
    assert len(seen) == 60 + ASKED
    assert seen[29:37] == seen[21:29], "12 steps later: three times the prefetched batches"


def test_workers_get_time_to_fill_their_queues() -> None:
    slept: list[float] = []
    headspace = Headspace(ASKED, sleep=slept.append)
    headspace.begin(2)
    drive(headspace, numbered(60), [])
    assert len(slept) == 1


def test_own_steps_start_anew_with_each_epoch() -> None:
    headspace, seen = started(), list[list[int]]()
    for _ in range(3):
        drive(headspace, numbered(6), seen)
    assert len(seen) == 18
    headspace.end()
    assert headspace.record is None
    assert "the loop ended" in headspace.why_not


def test_another_loop_gets_no_copies() -> None:
    headspace, loader, other = started(), numbered(40), numbered(3)
    drive(headspace, loader, [], stop_after=20)
    seen: list[list[int]] = []
    drive(headspace, other, seen)
    assert seen == numbered(3)


def test_a_loop_that_is_left_in_between_gets_its_own_batches_next_time() -> None:
    headspace, seen = started(), list[list[int]]()
    loader = numbered(40)
    drive(headspace, loader, seen, stop_after=20)
    again: list[list[int]] = []
    fresh = numbered(40)
    loader[:] = fresh
    drive(headspace, loader, again)
    assert again == numbered(40)
    assert headspace.record is None


def test_a_batch_that_cannot_be_copied_ends_it_and_says_why() -> None:
    headspace = started()
    loader: Any = [iter(()) for _ in range(20)]
    headspace.loop_begins(loader)
    for batch in loader:
        headspace.took(loader, batch)
        assert headspace.step(loader) is NO_BATCH
    assert "parts of type tuple_iterator" in headspace.why_not


class Pair(NamedTuple):
    x: torch.Tensor
    y: dict[str, Any]


def test_copies_are_deep_and_no_random_state_changes() -> None:
    batch = Pair(torch.arange(4.0), {"names": ["a", "b"], "more": SimpleNamespace(z=torch.zeros(2))})
    before = torch.get_rng_state(), random.getstate()
    copied = copy_of(batch, MOST)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert copied is not None
    batch.x.zero_()
    batch.y.clear()
    assert isinstance(copied.batch, Pair)
    assert copied.batch.x.tolist() == [0, 1, 2, 3]
    assert copied.batch.y["names"] == ["a", "b"]
    assert copied.bytes == 4 * 4 + 2 + 2 * 4


def test_tensors_on_a_device_are_not_copied() -> None:
    with pytest.raises(CannotCopy, match=r"on a device \(meta\)"):
        copy_of([torch.zeros(2, device="meta")], MOST)


def test_a_batch_that_is_too_large_is_not_copied() -> None:
    assert copy_of(torch.zeros(100), 399) is None


def test_a_quarter_of_the_free_memory_is_used_at_most(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9 kB\nMemAvailable:  4096 kB\n")
    assert most_bytes(meminfo) == 1 << 20
    assert most_bytes(tmp_path / "none") == MOST


class Numbers(Dataset[int]):
    def __len__(self) -> int:
        return 34

    def __getitem__(self, index: int) -> int:
        return index


def batches(prof: Any) -> Iterator[torch.Tensor]:
    yield from prof.steps(DataLoader(Numbers(), batch_size=1))


def test_a_capture_has_the_record_and_the_loop_all_its_batches(tmp_path: Path) -> None:
    seen: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with annotate.profile(tmp_path, wait=0, warmup=1, active=3, headspace=ASKED, lines=False) as prof:
            for batch in batches(prof):
                seen.append(int(batch))
                batch.zero_()
    assert sorted(set(seen)) == list(range(34))
    assert len(seen) == 34 + ASKED
    record = load(prof.trace_files[0])["dataPipeline"]["headspace"]
    assert record["asked"] == ASKED
    assert all(time > 0 for time in record["own_us"] + record["step_us"])


def test_the_profilers_steps_wait_while_steps_are_timed_and_none_is_lost(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=3, headspace=ASKED, lines=False) as prof:
        numbers = [(prof.headspace.is_timing, prof.step_num) for _ in batches(prof)]
    timed = [number for is_timing, number in numbers if is_timing]
    assert len(set(timed)) < len(timed) / 2
    assert [number for is_timing, number in numbers if not is_timing][-1] == len(numbers) - 1
    assert prof.step_num == len(numbers)


def test_a_loop_that_ends_among_copies_has_all_its_steps(tmp_path: Path) -> None:
    taken = 0
    with annotate.profile(tmp_path, wait=0, warmup=1, active=3, headspace=20, lines=False) as prof:
        for _ in batches(prof):
            taken += 1
            if taken == 30:
                break
        assert prof.headspace.is_timing or taken == 30
    assert prof.step_num == 29  # the step that was left is not ended


def test_an_error_of_the_loop_among_copies_is_the_loops(tmp_path: Path) -> None:
    taken = 0
    with pytest.raises(KeyError, match="mine"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with annotate.profile(tmp_path, wait=0, warmup=1, active=3, headspace=ASKED, lines=False) as prof:
            for _ in batches(prof):
                taken += 1
                if taken == 25:
                    raise KeyError("mine")


@pytest.mark.parametrize("name", ["step", "mark", "took"])
def test_a_fault_of_ours_is_one_warning_and_the_loop_has_all_its_batches(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(Headspace, name, broken)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with annotate.profile(tmp_path, wait=0, warmup=1, active=3, headspace=ASKED, lines=False) as prof:
            seen = [int(batch) for batch in batches(prof)]
    assert sorted(set(seen)) == list(range(34))
    assert len([one for one in said if "planted" in str(one.message)]) == 1


def test_a_loop_that_is_too_short_is_said_so_once(tmp_path: Path) -> None:
    with (
        pytest.warns(UserWarning, match="did not measure the headspace: the loop ended before its steps") as caught,
        annotate.profile(tmp_path, wait=0, warmup=1, active=3, headspace=20, lines=False) as prof,
    ):
        for _ in batches(prof):
            pass
    assert len(caught) == 1


@pytest.mark.parametrize(("active", "taken"), [(3, 4), (20, 12)], ids=["its window is the last", "its window is cut"])
def test_a_loop_that_ends_with_its_window_is_said_so_too(tmp_path: Path, active: int, taken: int) -> None:
    """An epoch of 20 batches, captured alone, had neither the headspace nor a word about it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with annotate.profile(tmp_path, wait=0, warmup=1, active=active, headspace=20, lines=False) as prof:
            for _ in itertools.islice(batches(prof), taken):
                pass
    (warning,) = [str(one.message) for one in said if "headspace" in str(one.message)]
    assert "did not measure the headspace: the loop ended" in warning and "at least 41 batches, 21 of them" in warning
    assert "headspace" not in load(prof.trace_files[0])["dataPipeline"]
    assert not prof.headspace.is_timing


def test_where_nothing_is_recorded_that_alone_is_said(tmp_path: Path) -> None:
    with (
        pytest.warns(UserWarning, match="recorded nothing") as caught,
        annotate.profile(tmp_path, wait=50, warmup=1, active=3, headspace=20, lines=False) as prof,
    ):
        for _ in batches(prof):
            pass
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"headspace": 3}, "headspace must be 0 or at least 8 steps"),
        ({"headspace": 8, "repeat": 0}, "repeat=0 has none"),
        ({"headspace": 8, "schedule": lambda _: None}, "give one of both"),
    ],
)
def test_headspace_needs_enough_steps_and_a_last_window(tmp_path: Path, wanted: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        annotate.profile(tmp_path, **wanted)


def test_a_file_that_is_not_ours_stays_as_it_is(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "other.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": []}'))
    before = path.read_bytes()
    with pytest.raises(ValueError, match="no record of annotate"):
        add_to_record(path, "headspace", {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
