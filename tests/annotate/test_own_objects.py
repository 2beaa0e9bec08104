"""What we make does not bring the program's next full collection closer."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest
import torch

from annotate import own_objects
from annotate.capture import own_profiler
from annotate.launch import begin
from annotate.launch.site import _annotate_watch as watch
from annotate.own_objects import uncounted


@pytest.fixture
def full() -> Iterator[list[int]]:
    """Grows with each full collection."""
    seen: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            seen.append(1)

    held = [[number] for number in range(200_000)]  # beside which the young that happen to be alive are few
    gc.collect()
    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    del held


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """The test run may have frozen what it holds."""
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    yield
    if frozen:
        gc.freeze()


def work() -> None:
    """Collects the young many times over, and leaves nothing."""
    enough = gc.get_threshold()[0] + 300  # lists that are made anew from others do not count
    for _ in range(12 * 12 * 2):
        kept: list[list[object]] = [[] for _ in range(enough)]
        del kept


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python 3.14 collects in increments")
@pytest.mark.parametrize("is_uncounted", (True, False))
def test_what_is_made_within_brings_no_full_collection(full: list[int], is_uncounted: bool) -> None:
    with uncounted() if is_uncounted else nullcontext():
        made = [[number] for number in range(len(gc.get_objects()))]
    work()
    assert bool(full) is not is_uncounted
    del made


def test_a_program_that_froze_its_objects_or_collects_nothing_is_left_as_it_is() -> None:
    gc.disable()
    try:
        with uncounted():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with uncounted():
            assert gc.isenabled()
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()


def test_it_collects_again_after_an_exception() -> None:
    with pytest.raises(KeyError), uncounted():
        raise KeyError
    assert gc.isenabled() and not gc.get_freeze_count()


class Nobody:
    """Whom the profiler works for."""

    def window_opens(self) -> None: ...

    def save(self, profiler: object) -> None: ...

    def window_lost(self) -> None: ...


class Within:
    """Notes what happens inside of `uncounted`."""

    def __init__(self) -> None:
        self.is_open = False
        self.seen: list[bool] = []

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        self.is_open = True
        yield
        self.is_open = False

    def note(self, *_: object) -> None:
        self.seen.append(self.is_open)


def test_what_a_launch_imports_is_made_within(monkeypatch: pytest.MonkeyPatch) -> None:
    within = Within()
    monkeypatch.setattr(own_objects, "uncounted", within.uncounted)
    monkeypatch.setattr(begin, "begin", within.note)
    watch._begin()
    assert within.seen == [True]


def test_a_step_that_is_tried_begins_within(monkeypatch: pytest.MonkeyPatch) -> None:
    within = Within()
    monkeypatch.setattr(own_profiler, "uncounted", within.uncounted)
    for method in ("prepare_trace", "start_trace", "stop_trace"):
        monkeypatch.setattr(torch.profiler.profile, method, within.note)
    profiler = own_profiler.Profiler(Nobody())
    profiler.begin_trial()
    profiler.end_trial()
    assert within.seen == [True, True, False]
