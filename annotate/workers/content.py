"""What a DataLoader worker may know of each batch: the seam between the transport and what it carries.

To add a content: a class beside `spans_content` and `sums_content`, a line in `worker_side.begin`, and a listener in
the training process that takes it from the payload (`batches.Listener.arrived`).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from annotate.hooks.readers.registered import Registered
from annotate.workers.transport import Tag


class Place(NamedTuple):
    """Whom a worker works for, and where it may write."""

    training_process: int
    loader: int
    """The loader's number, in the trace and in lines of a monitor."""
    folder: str = ""
    """Of the spool; empty when no capture is on, and no spans are recorded."""
    spool_bytes: int = 0
    buffered_spans: int = 0
    tracer: int = 0
    """A process that the worker has to allow to look at it; 0: none."""
    readers: tuple[Registered, ...] = ()
    """The user's own, which a spawned worker has not been told of."""
    notices: bool = False
    """Failures and slow samples of batches that are not measured are wanted, too."""


class Content(Protocol):
    """Something that a worker knows of each batch that it makes, or of those whose tag wants it by name."""

    @property
    def name(self) -> str:
        """Its key in the payload of a parcel."""

    def begin(self, tag: Tag) -> None:
        """The indices of a batch have come in."""

    def started(self, now: int) -> None:
        """Its making begins: every content has been told of it."""

    def finish(self, started: int, finished: int) -> object | None:
        """The batch is finished (both in ``perf_counter_ns``); what is returned travels with it."""

    def fail(self) -> None:
        """The batch in work has raised."""
