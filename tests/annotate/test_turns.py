"""Which thread trains, of a program whose batches are taken in several."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import pytest
import torch
from torch.optim import optimizer

from annotate.launch.turns import Source, Turns
from annotate.recording import optimizer_steps

EPOCH = cast(Source, object())
MAIN = threading.main_thread().ident


@pytest.fixture
def seen() -> list[int | None]:
    return []


@pytest.fixture
def turns(seen: list[int | None]) -> Iterator[Turns]:
    found = Turns(lambda epoch: seen.append(threading.get_ident()))
    yield found
    found.end()


@pytest.fixture
def model() -> torch.optim.Optimizer:
    return model_of(0.0)


def model_of(weight: float) -> torch.optim.Optimizer:
    parameter = torch.nn.Parameter(torch.full((1,), weight))
    parameter.grad = torch.ones(1)
    return torch.optim.SGD([parameter], 0.1)


def elsewhere(*functions: Callable[[], Any]) -> int | None:
    """Calls them in another thread, which it returns."""
    thread = threading.Thread(target=lambda: [function() for function in functions])
    thread.start()
    thread.join()
    return thread.ident


def many(turns: Turns) -> None:
    for _ in range(60):
        turns.batch(EPOCH)


def hooks() -> int:
    return len(cast(Any, optimizer)._global_optimizer_post_hooks)


def test_batches_of_the_main_thread_are_turns_and_torch_is_left_alone(turns: Turns, seen: list[int | None]) -> None:
    for _ in range(3):
        turns.batch(EPOCH)
    assert seen == [MAIN] * 3
    assert hooks() == 0


def test_a_thread_that_takes_batches_and_trains_has_the_turns(
    turns: Turns, seen: list[int | None], model: torch.optim.Optimizer
) -> None:
    def loop() -> None:
        for _ in range(3):
            turns.batch(EPOCH)
            model.step()

    thread = elsewhere(loop)
    assert seen[-2:] == [thread] * 2
    assert turns.elsewhere == 1
    assert not turns.is_fed


def test_a_thread_that_is_fed_has_its_turn_when_it_has_trained(
    turns: Turns, seen: list[int | None], model: torch.optim.Optimizer
) -> None:
    for _ in range(3):
        elsewhere(lambda: turns.batch(EPOCH))
        model.step()
    model.step()  # of another optimizer, or again: no new batch
    assert seen == [MAIN] * 3
    assert turns.is_fed


def test_each_of_several_batches_that_were_taken_ahead_is_a_turn(
    turns: Turns, seen: list[int | None], model: torch.optim.Optimizer
) -> None:
    elsewhere(*[lambda: turns.batch(EPOCH)] * 3)
    for _ in range(4):
        model.step()
    assert seen == [MAIN] * 3


def test_one_thread_that_takes_batches_is_presumed_to_use_them_where_nothing_trains(
    turns: Turns, seen: list[int | None]
) -> None:
    thread = elsewhere(lambda: many(turns))
    assert seen == [thread] * 10
    assert turns.is_presumed


def test_of_two_threads_that_take_batches_neither_is_presumed_to_use_them(turns: Turns, seen: list[int | None]) -> None:
    elsewhere(lambda: turns.batch(EPOCH), lambda: elsewhere(lambda: many(turns)))
    assert seen == []
    assert not turns.is_presumed


def test_a_thread_that_feeds_a_training_is_not_presumed_to_use_the_batches(
    turns: Turns, seen: list[int | None], model: torch.optim.Optimizer
) -> None:
    elsewhere(lambda: turns.batch(EPOCH))
    model.step()
    elsewhere(lambda: many(turns))
    assert seen == [MAIN]
    assert not turns.is_presumed


def test_afterwards_torch_is_as_it_was(turns: Turns, model: torch.optim.Optimizer) -> None:
    elsewhere(lambda: turns.batch(EPOCH))
    model.step()
    assert hooks() == 1
    turns.end()
    assert hooks() == 0


def test_a_hook_stays_asleep_while_another_thread_may_be_about_to_call_it(
    turns: Turns, seen: list[int | None], model: torch.optim.Optimizer
) -> None:
    elsewhere(lambda: turns.batch(EPOCH))
    stepped, ended = threading.Event(), threading.Event()

    def step_and_stay() -> None:
        model.step()
        stepped.set()
        ended.wait()

    thread = threading.Thread(target=step_and_stay)
    thread.start()
    stepped.wait()
    turns.end()
    assert hooks() == 1
    before = list(seen)
    model.step()
    ended.set()
    thread.join()
    assert seen == before
    optimizer_steps.remove_hook()
    assert hooks() == 0


def test_a_fault_of_ours_costs_the_step_nothing(model: torch.optim.Optimizer) -> None:
    def fails(epoch: Source) -> None:
        raise RuntimeError("planted")

    turns = Turns(fails)
    elsewhere(lambda: turns.batch(EPOCH))
    with pytest.warns(RuntimeWarning, match="planted"):
        model.step()
    turns.end()
    assert model.param_groups[0]["params"][0].item() == pytest.approx(-0.1)


class Kept:
    """What turns were of."""

    def __init__(self) -> None:
        self.turns: Final = Turns(self._turn)
        self.of: Final[list[Source]] = []

    def _turn(self, epoch: Source) -> None:
        self.of.append(epoch)


@pytest.mark.parametrize("gradients", [True, False])
def test_a_loop_with_two_optimizers_has_its_own_batches_while_a_thread_evaluates(gradients: bool) -> None:
    kept, evaluation = Kept(), cast(Source, object())
    models = [model_of(0.0), model_of(0.0)]

    def evaluate() -> None:
        with torch.set_grad_enabled(gradients):
            kept.turns.batch(evaluation)

    for _ in range(3):
        kept.turns.batch(EPOCH)
        for model in models:
            model.step()
            elsewhere(evaluate)
    kept.turns.end()
    assert kept.of == [EPOCH] * 3
    assert not kept.turns.is_fed


def test_nobody_is_fed_by_a_thread_that_evaluates() -> None:
    kept, evaluation, model = Kept(), cast(Source, object()), model_of(0.0)

    def evaluate() -> None:
        with torch.no_grad():
            kept.turns.batch(evaluation)

    for _ in range(3):
        elsewhere(lambda: kept.turns.batch(EPOCH))
        elsewhere(evaluate)
        model.step()
        model.step()
    kept.turns.end()
    assert kept.of == [EPOCH] * 3


def test_a_thread_that_takes_its_batches_without_gradients_feeds_all_the_same() -> None:
    kept, model = Kept(), model_of(0.0)

    def feed() -> None:
        with torch.no_grad():
            kept.turns.batch(EPOCH)

    for _ in range(3):
        elsewhere(feed)
        model.step()
    kept.turns.end()
    assert kept.of == [EPOCH] * 3
