"""Which loader's epoch a loop has, where another one validates in between or in another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from annotate.capture.session import Session
from annotate.capture.steadiness import Loop
from annotate.workers.takes import Takes


@pytest.fixture
def session() -> Iterator[Session]:
    found = Session()
    found.follows_all = True
    found.begin()
    yield found
    found.end()


def numbers(count: int, **settings: Any) -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.arange(count)), **settings)


def elsewhere(function: Callable[[], Any]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_loop_has_the_epochs_of_its_own_loader_not_of_a_validation(
    session: Session, gradients: bool, workers: int
) -> None:
    training, validation = numbers(30), numbers(4, num_workers=workers)
    found = []
    for step, _ in enumerate(training):
        if step % 6 == 5:
            with nullcontext() if gradients else torch.no_grad():
                list(validation)
        found.append(session.loop())
    assert set(found) == {Loop(0, 1, 30)}
    next(iter(training))
    assert session.loop() == Loop(0, 2, 30)


def test_nor_of_an_evaluation_in_another_thread(session: Session) -> None:
    evaluation = numbers(4)
    found = []
    for _ in numbers(30):
        elsewhere(lambda: list(evaluation))
        found.append(session.loop())
    assert set(found) == {Loop(0, 1, 30)}


def test_a_loop_over_two_loaders_ends_with_the_shorter(session: Session) -> None:
    found = {session.loop() for _ in zip(numbers(30), numbers(20), strict=False)}
    assert found == {Loop(0, 2, 20)}


def test_a_loop_that_prof_steps_goes_over_is_known_by_that(session: Session) -> None:
    training, validation = numbers(30), numbers(4)
    session.step_by(training)
    for _ in training:
        list(validation)
        assert session.loop() == Loop(0, 1, 30)


def test_a_loop_that_is_fed_has_the_loader_of_the_thread_that_feeds_it() -> None:
    takes, found = Takes(), []
    for step in range(30):
        elsewhere(lambda: takes.took(0))
        if step % 6 == 5:
            with torch.no_grad():
                takes.took(1)
        found.append(takes.of_loop())
    assert found == [{0}] * 30


def test_a_program_that_goes_on_to_another_loader_has_that_ones_epochs() -> None:
    takes = Takes()
    for loader in [0] * 20 + [1] * 8:
        takes.took(loader)
        found = takes.of_loop()
    assert found == {1}


def test_a_prediction_without_gradients_has_a_loop_too() -> None:
    takes = Takes()
    assert takes.of_loop() == set()
    with torch.no_grad():
        takes.took(3)
    assert takes.of_loop() == {3}
