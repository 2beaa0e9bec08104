"""What travels between the training process and a worker beside the user's own data, and how it gets off again.

`Tagged` goes to the worker around a batch of indices, `Parcel` comes back around the batch. Both pickle as a call, so
what is unpickled on the other side is the plain thing, and the call itself tells that side when it came. A worker gets
one piece of work after the other, so the last tag that came is that of the batch being made.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple


class Facts(NamedTuple):
    """Of a batch, from its worker; times in ``perf_counter_ns``."""

    iteration: int
    """-1: not known."""
    batch: int
    """-1: not known."""
    loader: int
    worker: int
    pid: int
    began: int
    """When the worker was ready to work."""
    started: int
    finished: int
    dropped: int
    """Spans dropped so far at the worker's limits."""
    elsewhere: int
    """Spans so far that ran in other threads of the worker, where nothing is recorded."""


begun: Callable[[int, int], None] | None = None
"""In a worker that records: told iteration and batch number when indices come in."""

arrived: Callable[[Facts], None] | None = None
"""In a training process with a session: told when a batch comes in. May be called in torch's pinning thread."""


class Tagged:
    """Indices on their way to a worker. Where nobody unpickles it, it serves as the indices."""

    __slots__ = ("batch", "indices", "iteration")

    def __init__(self, indices: object, iteration: int, batch: int) -> None:
        self.indices = indices
        self.iteration = iteration
        self.batch = batch

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return take_indices, (self.indices, self.iteration, self.batch)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.indices)  # type: ignore[call-overload, no-any-return]

    def __len__(self) -> int:
        return len(self.indices)  # type: ignore[arg-type]

    def __getitem__(self, key: Any) -> Any:
        return self.indices[key]  # type: ignore[index]

    def __index__(self) -> int:
        return operator.index(self.indices)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return bool(self.indices == other)

    def __hash__(self) -> int:
        return hash(self.indices)

    def __getattr__(self, name: str) -> Any:
        if name in Tagged.__slots__:
            raise AttributeError(name)
        return getattr(self.indices, name)


def take_indices(indices: Any, iteration: int, batch: int) -> Any:
    """Runs in the worker that unpickles a `Tagged`."""
    if begun is not None:
        with suppress(Exception):  # a fault of ours costs a record, never a batch
            begun(iteration, batch)
    return indices


class Parcel:
    """A finished batch on its way to the training process."""

    __slots__ = ("data", "facts")

    def __init__(self, data: object, facts: Facts) -> None:
        self.data = data
        self.facts = facts

    def __reduce__(self) -> tuple[Callable[[Any, Facts], Any], tuple[object, Facts]]:
        return unpack, (self.data, self.facts)


def unpack(data: Any, facts: Facts) -> Any:
    """Runs in the process that unpickles a `Parcel`."""
    if arrived is not None:
        with suppress(Exception):
            arrived(facts)
    return data
