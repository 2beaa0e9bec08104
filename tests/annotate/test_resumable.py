"""What stands for a sampler or an iterator with a state_dict has one itself, however it is asked for.

From Python 3.12 on isinstance() of a runtime protocol looks at the class and not at ``__getattr__``; what that finds,
``inspect.getattr_static`` finds in every version.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import pytest

from annotate.hooks.stand_ins import timed_iterator
from annotate.workers.batches import Iteration, SamplerProxy, stand_in_for


@runtime_checkable
class Stateful(Protocol):
    """As torchdata's."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...


class Counting:
    """A sampler, and an iterator, that can say where it is."""

    def __init__(self) -> None:
        self.at = 0

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        self.at += 1
        return self.at

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.at = state_dict["at"]


def stand_ins(target: Any) -> list[Any]:
    proxy: Any = stand_in_for(target, None)
    proxy.iteration = Iteration(0, in_order=True, iterable=False, has_workers=False)
    return [proxy, iter(proxy), timed_iterator(iter(target), "sample::Counting")]


@pytest.mark.parametrize("which", range(3), ids=["sampler", "sampler's iterator", "dataset's iterator"])
def test_a_stand_in_for_what_has_a_state_has_it_in_its_class(which: int) -> None:
    stand_in = stand_ins(Counting())[which]
    inspect.getattr_static(stand_in, "state_dict")
    is_stateful = isinstance(stand_in, Stateful)
    assert is_stateful
    next(iter(stand_in))
    assert stand_in.state_dict() == {"at": 1}
    stand_in.load_state_dict({"at": 7})
    assert stand_in.state_dict() == {"at": 7}
    assert next(iter(stand_in)) == 8


@pytest.mark.parametrize("which", range(3), ids=["sampler", "sampler's iterator", "dataset's iterator"])
def test_a_stand_in_for_anything_else_has_none(which: int) -> None:
    stand_in = stand_ins([1, 2])[which]
    assert not isinstance(stand_in, Stateful)
    with pytest.raises(AttributeError):
        inspect.getattr_static(stand_in, "state_dict")


def test_drawing_indices_goes_by_the_sampler_inside_of_torchdatas_batch_sampler() -> None:
    class RandomSampler(list[int]):
        pass

    class BatchSampler:
        sampler = RandomSampler()

    BatchSampler.__module__ = "torchdata.stateful_dataloader.sampler"
    assert SamplerProxy(BatchSampler(), None).name == "sampler::RandomSampler"
    BatchSampler.__module__ = "mine"
    assert SamplerProxy(BatchSampler(), None).name == "sampler::BatchSampler"
