"""What the profiler adds to an operator is measured by operators of our own, which the program must not notice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

import annotate
from annotate.recording import operator_cost
from annotate.recording.operator_cost import OperatorCost


class Seen(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A program that looks at each operator."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Numbers:
    """A dataset, of which annotate keeps a weak reference: nothing of it is left for other tests."""

    def __getitem__(self, index: int) -> int:
        return index


def measured() -> OperatorCost:
    cost = OperatorCost()
    cost.begin()
    cost.open()
    return cost


def test_random_numbers_are_as_without_it() -> None:
    before = torch.get_rng_state()
    assert measured().added_us is not None
    assert torch.equal(torch.get_rng_state(), before)


def test_a_program_that_looks_at_each_operator_sees_none_of_ours() -> None:
    with Seen() as seen:
        cost = measured()
    assert seen.names == []
    assert cost.added_us is None


def test_a_window_without_a_beginning_has_no_cost() -> None:
    cost = OperatorCost()
    cost.open()
    assert cost.added_us is None


def test_it_works_where_gradients_are_off() -> None:
    with torch.inference_mode():
        assert measured().added_us is not None


def test_a_profiler_of_the_users_shows_none_of_it() -> None:
    annotate.dataset(numbers := Numbers())
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        torch.ones(2) + 1
    names = {event.key for event in prof.key_averages()}
    assert "aten::add" in names
    assert "aten::item" not in names
    del numbers


def test_a_cpu_that_is_slower_for_a_while_does_not_make_the_operators_dearer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one was said to cost doubled from capture to capture of one program."""

    def cost(slower: int) -> float | None:
        now = [0]
        speed = [1]
        looks = iter([(2_000, 5_000)] * 11 + [(2_000, 15_000)] * 11)  # of a sum, of 20 calls, ns

        def clock() -> int:
            taken = next(durations)
            now[0] += taken
            return now[0]

        def ticks() -> Iterator[int]:
            for sum_ns, calls_ns in looks:
                yield from (0, speed[0] * sum_ns, 0, speed[0] * calls_ns)

        durations = ticks()
        monkeypatch.setattr(operator_cost, "thread_time_ns", clock)
        found = OperatorCost()
        found.begin()
        speed[0] = slower
        found.open()
        return found.added_us

    assert cost(1) == cost(2) == pytest.approx(0.25)
