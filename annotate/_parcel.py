"""What travels between the training process and a worker beside the user's own data, and how it gets off again.

`Tagged` goes to the worker around a batch of indices, `Parcel` comes back around the batch. Both pickle as a call, so
what is unpickled on the other side is the plain thing, and the call itself tells that side when it came. A worker gets
one piece of work after the other, so the last tag that came is that of the batch being made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Facts = tuple[int, int, int, int, int, int, int, int, int]
"""Of a batch, from its worker: iteration, batch (-1, -1: not known), loader, worker, pid; when the worker began, when
it started and when it finished the batch (perf_counter_ns); spans dropped so far."""

begun: Callable[[int, int], None] | None = None
"""In a worker that records: told iteration and batch number when indices come in."""

arrived: Callable[[Facts], None] | None = None
"""In a training process with a session: told when a batch comes in. May be called in torch's pinning thread."""


class Tagged:
    """Indices on their way to a worker."""

    __slots__ = ("batch", "indices", "iteration")

    def __init__(self, indices: object, iteration: int, batch: int) -> None:
        self.indices = indices
        self.iteration = iteration
        self.batch = batch

    def __reduce__(self) -> tuple[Callable[[Any, int, int], Any], tuple[object, int, int]]:
        return take_indices, (self.indices, self.iteration, self.batch)


def take_indices(indices: Any, iteration: int, batch: int) -> Any:
    """Runs in the worker that unpickles a `Tagged`."""
    if begun is not None:
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
        arrived(facts)
    return data
