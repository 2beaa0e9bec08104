"""Puts random state and samplers back as they were, so that a replay leaves no trace in the program."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

_SAMPLER_ATTRIBUTES = ("batch_sampler", "sampler")


class Snapshot:
    """The random state of the process (torch on the CPU, Python, numpy) and of a loader's generators and samplers."""

    def __init__(self, loader: object) -> None:
        import torch

        self._restore: list[Callable[[], object]] = [
            _later(torch.set_rng_state, torch.get_rng_state()),
            _later(random.setstate, random.getstate()),
        ]
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            self._restore.append(_later(numpy.random.set_state, numpy.random.get_state()))
        _keep_generator(self._restore, getattr(loader, "generator", None))
        for sampler in samplers(loader):
            self._keep_attributes(sampler)

    def restore(self) -> None:
        """Put everything back."""
        for action in self._restore:
            action()

    def _keep_attributes(self, sampler: object) -> None:
        attributes: dict[str, Any] | None = getattr(sampler, "__dict__", None)
        if attributes is None:
            return
        before = dict(attributes)

        def back() -> None:
            attributes.clear()
            attributes.update(before)

        self._restore.append(back)
        for value in before.values():
            _keep_generator(self._restore, value)
            _keep_contents(self._restore, value)


def samplers(loader: object) -> Iterator[object]:
    """The loader's samplers, outer to inner, each once."""
    waiting = [getattr(loader, name, None) for name in _SAMPLER_ATTRIBUTES]
    seen: list[object] = []
    while waiting:
        sampler = waiting.pop(0)
        if sampler is None or any(sampler is one for one in seen):
            continue
        seen.append(sampler)
        yield sampler
        waiting += [getattr(sampler, name, None) for name in _SAMPLER_ATTRIBUTES]


def _later(function: Callable[[Any], object], value: object) -> Callable[[], object]:
    return lambda: function(value)


def _keep_generator(restore: list[Callable[[], object]], value: Any) -> None:
    """Remember the state of a generator of torch, Python or numpy."""
    module = type(value).__module__.partition(".")[0]
    if module == "torch" and hasattr(value, "set_state"):
        restore.append(_later(value.set_state, value.get_state()))
    elif isinstance(value, random.Random):
        restore.append(_later(value.setstate, value.getstate()))
    elif module == "numpy" and hasattr(value, "set_state"):  # RandomState
        restore.append(_later(value.set_state, value.get_state()))
    elif module == "numpy" and hasattr(value, "bit_generator"):
        bits = value.bit_generator
        state = bits.state
        restore.append(lambda: setattr(bits, "state", state))


def _keep_contents(restore: list[Callable[[], object]], value: Any) -> None:
    """Remember what a sampler may shuffle in place: a list of indices, an array."""
    if isinstance(value, list):
        items = list(value)

        def back() -> None:
            value[:] = items

        restore.append(back)
    elif type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
        array = value.copy()

        def put_back() -> None:
            value[...] = array

        if value.flags.writeable:
            restore.append(put_back)
