"""What the handler of a signal raises is the user's, also where it strikes while our code runs."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import annotate
from annotate.recording import switch
from annotate.saying import forget_reported, guard
from annotate.signals import came_by_a_signal, undisturbed
from annotate.workers.standing import StandingEpoch


class TimeLimitError(Exception):
    """Of the user's."""


class Limit:
    def __call__(self, number: int, frame: object) -> None:
        self.strike()

    def strike(self, *args: object) -> None:
        raise TimeLimitError


@pytest.fixture(params=["function", "method", "object", "partial"])
def handler(request: pytest.FixtureRequest) -> Iterator[None]:
    def function(number: int, frame: object) -> None:
        raise TimeLimitError

    known: dict[str, Any] = {
        "function": function,
        "method": Limit().strike,
        "object": Limit(),
        "partial": partial(function),
    }
    before = signal.signal(signal.SIGUSR1, known[request.param])
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture(autouse=True)
def reports_again() -> Iterator[None]:
    forget_reported()
    yield
    forget_reported()


def strike(*args: object) -> None:
    signal.raise_signal(signal.SIGUSR1)


def test_a_guard_lets_it_through(handler: None) -> None:
    with pytest.raises(TimeLimitError), guard("annotate does nothing here"):
        strike()


def test_an_error_of_ours_is_not_taken_for_it(handler: None) -> None:
    with pytest.warns(RuntimeWarning, match="Internal error: KeyError"), guard("annotate does nothing here"):
        raise KeyError
    assert not came_by_a_signal(KeyError())


def test_where_breaking_off_would_be_fatal_it_waits(handler: None) -> None:
    before, done = signal.getsignal(signal.SIGUSR1), []
    with pytest.raises(TimeLimitError), undisturbed():
        strike()
        done.append(1)
    assert done
    assert signal.getsignal(signal.SIGUSR1) is before


def test_it_reaches_the_loop_out_of_the_sampler(handler: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    numbers: Any = list(range(8))
    loader = annotate.loader(DataLoader(numbers, batch_size=2))
    monkeypatch.setattr(StandingEpoch, "_passed", lambda _: strike())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TimeLimitError):
            next(iter(loader))


def test_it_reaches_the_loop_out_of_a_stage(handler: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=1) as prof:
        prof.step()
        monkeypatch.setattr(switch, "opened", strike)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(TimeLimitError), annotate.stage("user", "body"):
                pass
        monkeypatch.undo()
        prof.step()
