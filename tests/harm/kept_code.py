"""The user's steps in attributes of a class and in lists of lists, and what user code sees of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any, ClassVar

import torch


class Same:
    """A transform that gives back what it gets."""

    def __call__(self, row: torch.Tensor) -> torch.Tensor:
        return row


def unchanged(row: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
    return row * factor


class KeepsSteps:
    """A part of a dataset: some of its steps are its class's, some are in lists of lists."""

    same: ClassVar[Any] = Same()
    steps: ClassVar[Any] = (unchanged, Same())

    def keep(self) -> None:
        self.groups: Any = [[partial(unchanged, factor=1.0), Same()], (unchanged, [{"in a dict": Same()}, unchanged])]

    def through(self, row: torch.Tensor) -> torch.Tensor:
        for step in (self.same, *_steps(self.steps), *_steps(self.groups)):
            row = step(row)
        return row

    def is_as_it_was_made(self) -> float:
        """1 where user code gets what it has put there; of a function only type() and `is` may tell a stand-in."""
        kinds = [step.__class__ for step in _steps(self.groups)]
        as_made = kinds == [partial, Same, FunctionType, Same, FunctionType]
        as_made = as_made and [type(group) for group in self.groups] == [list, tuple]
        as_made = as_made and type(self.same) is Same and self.same is vars(KeepsSteps)["same"]
        as_made = as_made and type(self.steps) is tuple and self.steps[0] == unchanged
        as_made = as_made and self.steps is vars(KeepsSteps)["steps"] and type(self.steps[1]) is Same
        return float(as_made)


def _steps(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _steps(item)
    else:
        yield value
