"""What travels between the training process and a DataLoader worker beside the user's own data, and how it gets off.

`Tagged` goes to the worker around a batch of indices, `Parcel` comes back around the finished batch. Both pickle as a
call, so what is unpickled on the other side is the plain thing, and the call itself tells that side when it came. A
worker gets one piece of work after the other, so the last tag that came is that of the batch being made.

One transport for everything that is known per batch: a `Parcel` carries the batch's `Facts` and a payload, to which
each content of the worker (`content.Content`) adds under its own name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

from annotate.saying import guard, report_error, report_fault

UNKNOWN: Final = -1
LOST: Final = "annotate does not record the batches of a DataLoader worker"

Payload = dict[str, Any]
"""Name of a content -> what it says of the batch; contents with nothing to say are left out."""


class Tag(NamedTuple):
    """Which batch a worker is to make, and what is wanted beside it."""

    iteration: int
    batch: int
    wanted: frozenset[str]
    """Names of contents that are asked for this batch."""


class Facts(NamedTuple):
    """Of a finished batch; times in ``perf_counter_ns``. The last three are known when it has arrived."""

    iteration: int
    """`UNKNOWN` when the indices came without a tag; so is `batch`."""
    batch: int
    loader: int
    worker: int
    pid: int
    began: int
    """When the worker was ready to work."""
    started: int
    finished: int
    before: int = UNKNOWN
    """Its worker finished the batch before."""
    serialise: int = UNKNOWN
    """Its worker began to serialise it."""
    serialised: int = UNKNOWN
    deserialise: int = UNKNOWN
    """The training process began to deserialise it: before that it was on its way."""


NOTHING_WANTED: Final[frozenset[str]] = frozenset()
NO_PAYLOAD: Final[Payload] = {}

begun: Callable[[Tag], None] | None = None
"""In a worker of ours: told of a batch when its indices come in. Set by `worker_side`."""

fault: str | None = None
"""In a worker: words that no batch has taken along yet."""

arrived: Callable[[Facts, Payload], None] | None = None
"""In a training process that follows loaders: told of a batch when it comes in. Set by `following`.

May be called in torch's pinning thread.
"""


class Tagged:
    """Indices on their way to a worker. Where nobody unpickles it, it serves as the indices."""

    __slots__ = ("indices", "tag")

    def __init__(self, indices: Any, tag: Tag) -> None:
        self.indices = indices
        self.tag = tag

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        iteration, batch, wanted = self.tag
        if not wanted:
            return take_indices, (self.indices, iteration, batch)
        return take_indices, (self.indices, iteration, batch, *sorted(wanted))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.indices)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, key: Any) -> Any:
        return self.indices[key]

    def __index__(self) -> int:
        return operator.index(self.indices)

    def __eq__(self, other: object) -> bool:
        return bool(self.indices == other)

    def __hash__(self) -> int:
        return hash(self.indices)

    def __getattr__(self, name: str) -> Any:
        if name in Tagged.__slots__:
            raise AttributeError(name)
        return getattr(self.indices, name)


def take_indices(indices: Any, iteration: int, batch: int, *wanted: str) -> Any:
    """Runs in the worker that unpickles a `Tagged`."""
    if begun is not None:
        try:
            begun(Tag(iteration, batch, frozenset(wanted) if wanted else NOTHING_WANTED))
        except Exception as error:  # a fault of ours costs a record, never a batch
            report_error(LOST, error)
    return indices


class _WhenPickled:
    """Unpickles as the time at which it was pickled."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Callable[[int], int], tuple[int]]:
        return int, (perf_counter_ns(),)


class _WhenUnpickled:
    """Unpickles as the time at which it is unpickled."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Callable[[], int], tuple[()]]:
        return perf_counter_ns, ()


_SERIALISE: Final = _WhenPickled()
_SERIALISED: Final = _WhenPickled()
_DESERIALISE: Final = _WhenUnpickled()


class Parcel:
    """A finished batch on its way to the training process. What stands around the data tells when it was reached."""

    __slots__ = ("data", "facts", "payload")

    def __init__(self, data: object, facts: tuple[int, ...], payload: Payload) -> None:
        """
        Args:
            facts: as in `Facts`, up to `finished`.
        """
        self.data = data
        self.facts = facts
        self.payload = payload

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return unpack, (_DESERIALISE, _SERIALISE, self.data, _SERIALISED, self.facts, self.payload)


def unpack(
    deserialise: int, serialise: int, data: Any, serialised: int, facts: tuple[int, ...], payload: Payload
) -> Any:
    """Runs in the process that unpickles a `Parcel`."""
    if arrived is not None:
        with guard(LOST):
            arrived(Facts._make((*facts, serialise, serialised, deserialise)), payload)
    return data


class LeanParcel:
    """A finished batch on its way while nothing records: only its facts travel with it, not when they were pickled."""

    __slots__ = ("data", "facts")

    def __init__(self, data: object, facts: tuple[int, ...]) -> None:
        self.data = data
        self.facts = facts

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return unpack_lean, (self.data, self.facts)


def unpack_lean(data: Any, facts: tuple[int, ...]) -> Any:
    """Runs in the process that unpickles a `LeanParcel`."""
    if arrived is not None:
        try:
            arrived(Facts(*facts), NO_PAYLOAD)
        except Exception as error:
            report_error(LOST, error)
    return data


class Faulty:
    """A batch, or its parcel, on its way to the training process with the words for a fault of ours in its worker."""

    __slots__ = ("data", "fault")

    def __init__(self, data: object, fault: str) -> None:
        self.data = data
        self.fault = fault

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return take_fault, (self.data, self.fault)


def note_fault(text: str) -> None:
    """In a worker: have the next batch carry the words to the training process."""
    global fault
    fault = text


def with_fault(data: Any) -> Any:
    """`data`, on its way with the fault that has been noted, if one has."""
    global fault
    if fault is None:
        return data
    text, fault = fault, None
    return Faulty(data, text)


def take_fault(data: Any, fault: str) -> Any:
    """Runs in the process that unpickles a `Faulty`."""
    report_fault(fault)
    return data


for _travels in (
    Tagged,
    Parcel,
    LeanParcel,
):  # found in the pickler's first table: a miss in all of them costs 2 us a batch
    ForkingPickler.register(_travels, _travels.__reduce__)
