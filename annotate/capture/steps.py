"""`Steps`: the batches of a loader, each wait for one in a `wait` span, and a profiler step after each."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sized
from contextlib import AbstractContextManager
from time import perf_counter
from typing import Any, Final, Generic, Protocol, TypeVar

from annotate.capture.handing_over import Weighing
from annotate.capture.headspace import NO_BATCH
from annotate.capture.own_time import OwnTime
from annotate.capture.serving import Serving
from annotate.hooks.wrappers import label_of
from annotate.recording import switch
from annotate.saying import guard
from annotate.trace_format import FIRST_BATCH

B = TypeVar("B")
_END: Final = object()


class Stepping(Protocol):
    """The capture whose steps are taken."""

    loops: int
    """Loops over `Steps` that are going on."""
    is_broken_off: bool
    """The last loop over `Steps` was left in the middle of a step, which ends when the next loop begins."""

    @property
    def headspace(self) -> Serving:
        """Gives the loop batches in place of the loader's, now and then."""

    @property
    def own_time(self) -> OwnTime:
        """Of the loop's own work."""

    @property
    def weighing(self) -> Weighing:
        """Of the batch that a warm-up step begins with."""

    def advance(self) -> None:
        """A step has ended."""


class Steps(Generic[B]):
    """What ``prof.steps`` returns: iterates over the loader's batches, and has its length if it has one."""

    def __init__(self, prof: Stepping, loader: Iterable[B]) -> None:
        self._prof = prof
        self._loader = loader

    def __len__(self) -> int:
        if not isinstance(self._loader, Sized):
            raise TypeError(f"{type(self._loader).__name__} has no length")
        return len(self._loader)

    def __iter__(self) -> Generator[B, None, None]:
        prof, label = self._prof, label_of(self._loader)
        first, later = switch.hand_out("wait", label + FIRST_BATCH), switch.hand_out("wait", label)
        mark = prof.headspace.mark
        if prof.is_broken_off:
            prof.advance()
        prof.headspace.loop_begins(self._loader)
        with _waiting(first):
            iterator = iter(self._loader)
            batch: Any = next(iterator, _END)
        while batch is not _END:
            prof.weighing.look(self._loader, batch)
            prof.loops += 1
            prof.own_time.begin()
            mark(self._loader)
            try:
                yield batch
                mark(self._loader, perf_counter())
                prof.own_time.end()
            except GeneratorExit:
                prof.is_broken_off = True
                raise
            finally:
                prof.loops -= 1
            prof.advance()
            del batch  # the loader may reuse its memory
            batch = prof.headspace.stand_in(self._loader)
            if batch is NO_BATCH:
                with _waiting(later):
                    batch = next(iterator, _END)
                if batch is not _END:
                    prof.headspace.took(self._loader, batch)


class _waiting:  # noqa: N801
    """The loop waits for a batch: a `wait` span while something records."""

    __slots__ = ("_before", "_name", "_span")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        thread = switch.thread.open
        self._before, thread.waiting = thread.waiting, True
        self._span = _span(self._name)
        self._span.__enter__()

    def __exit__(self, *exc: Any) -> None:
        try:
            self._span.__exit__(*exc)
        finally:
            switch.thread.open.waiting = self._before


def _span(name: str) -> AbstractContextManager[object]:
    if switch.RECORDING:
        with guard("annotate.profile does not record a wait"):
            return switch.marker(name)
    return _NO_SPAN


class _NoSpan:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


_NO_SPAN: Final = _NoSpan()
