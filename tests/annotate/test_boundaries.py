"""Where steps end in a window whose batches another thread takes ahead."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from time import perf_counter_ns

import pytest
import torch

from annotate.recording.boundaries import Boundaries


@pytest.fixture
def window() -> Iterator[Boundaries]:
    found = Boundaries()
    found.open()
    yield found
    found.close()


def optimizer() -> torch.optim.Optimizer:
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.ones(1)
    return torch.optim.SGD([weight], 0.1)


def taken(window: Boundaries, batches: int) -> None:
    """By another thread."""

    def take() -> None:
        for _ in range(batches):
            window.batch(perf_counter_ns())

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()


def steps(window: Boundaries) -> int:
    source, times = window.found()
    assert source == "optimizer"
    return len(times) - 1


def test_each_batch_that_was_taken_ahead_is_a_step_of_its_own(window: Boundaries) -> None:
    model = optimizer()
    for _ in range(5):
        taken(window, 3)
        for _ in range(3):
            model.step()
    assert steps(window) == 15


def test_two_optimizers_make_one_step_of_a_batch(window: Boundaries) -> None:
    generator, critic = optimizer(), optimizer()
    for _ in range(5):
        taken(window, 2)
        for _ in range(2):
            for _ in range(4):
                critic.step()
            generator.step()
    assert steps(window) == 10


def test_accumulated_gradients_make_one_step_of_several_batches(window: Boundaries) -> None:
    model = optimizer()
    for _ in range(5):
        taken(window, 4)
        model.step()
    assert steps(window) == 5


def test_a_loop_that_takes_its_batches_itself_has_one_step_of_each(window: Boundaries) -> None:
    generator, critic = optimizer(), optimizer()
    for _ in range(5):
        window.batch(perf_counter_ns())
        critic.step()
        critic.step()
        generator.step()
    assert steps(window) == 5


def test_batches_of_a_thread_that_evaluates_are_no_steps_of_a_loop_that_takes_its_own(window: Boundaries) -> None:
    generator, critic = optimizer(), optimizer()
    for _ in range(5):
        window.batch(perf_counter_ns())
        critic.step()
        taken(window, 3)
        generator.step()
    assert steps(window) == 5


def test_nor_are_they_where_no_optimizer_steps(window: Boundaries) -> None:
    own = [perf_counter_ns() for _ in range(4)]
    for now in own:
        window.batch(now)
        taken(window, 3)
    assert window.found() == ("batch", own)


def test_a_loop_that_is_fed_and_evaluates_itself_has_a_step_of_each_batch(window: Boundaries) -> None:
    model = optimizer()
    with torch.no_grad():
        window.batch(perf_counter_ns())
    for _ in range(5):
        taken(window, 1)
        model.step()
    assert steps(window) == 5
