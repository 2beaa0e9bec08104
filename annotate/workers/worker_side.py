"""Inside a DataLoader worker: hooks go in when its ``worker_init_fn`` is called, and each batch leaves with its facts.

What is known of a batch comes from contents (`content.Content`): spans for a trace window, sums for a monitor. Nothing
in here may break the user's worker: a fault of ours costs records, no more.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.util import Finalize
from time import perf_counter_ns
from typing import Any, Final

from annotate.hooks import libraries, marked, patching, readers
from annotate.hooks.datasets import time_dataset
from annotate.hooks.loaders import time_marked
from annotate.hooks.patching import Patches
from annotate.hooks.readers import registered
from annotate.hooks.stand_ins import callable_label
from annotate.host.watcher_process import let_look
from annotate.passing import pass_over
from annotate.recording import between, span_recorder, switch
from annotate.saying import guard, report_error, send_faults_by
from annotate.workers import naps, spool, sums_content, transport
from annotate.workers.content import Content, Place
from annotate.workers.spans_content import SpansContent
from annotate.workers.sums_content import NoticedContent, SumsContent
from annotate.workers.transport import UNKNOWN, LeanParcel, Parcel, Payload, Tag

CollateFunction = Callable[[Any], Any]


class WorkerInit:
    """Calls the user's ``worker_init_fn``, then puts our hooks into the worker. Pickles whenever the user's does."""

    __slots__ = ("function", "place")

    def __init__(self, function: Callable[[int], object] | None, place: Place) -> None:
        self.function = function
        self.place = place

    def __call__(self, worker: int) -> None:
        called: tuple[int, int] | None = None
        if self.function is not None:
            before = perf_counter_ns()
            self.function(worker)
            called = before, perf_counter_ns()
        if os.getpid() != self.place.training_process:  # a worker that is a thread records nothing
            send_faults_by(transport.note_fault)
            parent = os.getppid()
            with guard(transport.LOST):
                begin(self.place, worker, perf_counter_ns(), called)
            if os.getppid() != parent:  # torch only looks from here on, and would wait for a parent that is gone
                raise SystemExit

    def __reduce__(self) -> tuple[type[WorkerInit], tuple[Any, Place]]:
        return WorkerInit, (self.function, self.place)

    def __repr__(self) -> str:
        return repr(self.function)


class WorkerCollate:
    """A loader's collate function in its workers: sends each batch off in a `Parcel`. Pickles if the function does."""

    __slots__ = ("function",)

    def __init__(self, function: CollateFunction) -> None:
        self.function = function

    def __call__(self, batch: Any) -> Any:
        if current is None:
            return transport.with_fault(self.function(batch))
        try:
            data = self.function(batch)
        except BaseException:
            with guard(transport.LOST):
                current.fail()
            raise
        try:  # a fault of ours costs the batch's records, never the batch
            sent = current.finish(data)
            return sent if transport.fault is None else transport.with_fault(sent)
        except Exception as error:
            report_error(transport.LOST, error)
        return transport.with_fault(data)

    @property
    def __name__(self) -> str:
        return callable_label(self.function)

    def __reduce__(self) -> tuple[type[WorkerCollate], tuple[CollateFunction]]:
        return WorkerCollate, (self.function,)

    def __repr__(self) -> str:
        return repr(self.function)


class Worker:
    """This process, as a worker whose batches are followed."""

    def __init__(
        self,
        place: Place,
        worker: int,
        began: int,
        contents: list[Content],
        wanted: list[Content] | None = None,
        patches: Patches | None = None,
        sleep: naps.Naps | None = None,
    ) -> None:
        """
        Args:
            contents: told of each batch.
            wanted: told of batches whose tag wants them.
            patches: of this process.
            sleep: None where batches without a tag are not counted.
        """
        self._patches: Final = patches or Patches()
        self._loader = place.loader
        self._worker = worker
        self._pid: Final = os.getpid()
        self._began: Final = began
        self._contents: Final = contents
        self._wanted: Final = wanted or []
        self._naps: Final = sleep
        self._now = contents
        """Those that are told of the batch in work."""
        self._tag: Tag | None = None
        self._started = 0
        self._iteration = UNKNOWN
        """Of the latest batch that came with its tag, as the first ones of an epoch do."""
        self._latest = UNKNOWN
        """When a batch was finished last."""

    def begin(self, tag: Tag) -> None:
        """The indices of a batch have come in."""
        if self._naps is not None:
            self._naps.tagged(tag)
        self._begin(tag)

    def _begin(self, tag: Tag) -> None:
        if self._now is not self._contents:  # the batch before has raised
            self.fail()
        self._tag = tag
        if switch.RECORDING:
            self._patches.look_again()
        if tag.wanted:
            self._now = self._contents + [content for content in self._wanted if content.name in tag.wanted]
        for content in self._now:
            content.begin(tag)
        self._started = now = perf_counter_ns()
        for content in self._now:
            content.started(now)

    def finish(self, data: Any) -> Any:
        """`data` in a parcel; as it is while there is nobody to tell."""
        tag, started, finished = self._tag, self._started, perf_counter_ns()
        before, self._latest = self._latest, finished
        self._note_built(tag, started, finished, before)
        if tag is None and self._naps is not None:
            if self._naps.passes(finished):
                return self._told(data, finished)
            if (found := self._naps.awake()) is not None:
                tag, started = found
        payload: Payload = {}
        contents, self._now = self._now, self._contents
        self._tag, self._started = None, 0
        for content in contents:
            said = content.finish(started, finished)
            if said is not None:
                payload[content.name] = said
        if not payload and tag is not None and (due := sums_content.due(finished)) is not None:
            payload = due
        if tag is not None and self._naps is not None and (passed := self._naps.take()):
            payload[naps.NAME] = passed
        if tag is None:
            if not payload:
                return self._told(data, finished)
            iteration = batch = UNKNOWN
        else:
            iteration, batch, _ = tag
        facts = (iteration, batch, self._loader, self._worker, self._pid, self._began, started, finished, before)
        if self._naps is not None and (following := self._naps.next_one()) is not None:
            self._begin(following)
        return Parcel(data, facts, payload) if payload or switch.RECORDING else LeanParcel(data, facts)

    def _told(self, data: Any, finished: int) -> Any:
        """A batch that nothing is to be known of: takes along what has come together, once in a while."""
        if self._iteration == UNKNOWN or (payload := sums_content.due(finished)) is None:
            return data
        where = self._iteration, UNKNOWN, self._loader, self._worker, self._pid
        return Parcel(data, (*where, self._began, 0, finished, UNKNOWN), payload)

    def _note_built(self, tag: Tag | None, started: int, finished: int, before: int) -> None:
        """Of every batch: a stall that is rare lies in none of few measured ones."""
        if tag is not None and tag.iteration != self._iteration:  # the training process knows what was no wait
            self._iteration, before = tag.iteration, UNKNOWN
        between.built(started, finished, before)

    def batch_in_work(self) -> tuple[int, int]:
        """Its iteration and number."""
        if self._tag is not None:
            return self._tag[:2]
        return (UNKNOWN, UNKNOWN) if self._naps is None else self._naps.in_work()

    def fail(self) -> None:
        """The batch in work has raised: nothing of it will leave."""
        contents, self._now = self._now, self._contents
        for content in contents:
            content.fail()


current: Worker | None = None
"""This process as a worker; None in every other process, and in workers whose batches are not followed."""


def begin(place: Place, worker: int, began: int, called: tuple[int, int] | None = None) -> None:
    """Put the hooks in. Whatever it raises leaves the worker as it was, but for hooks that stay quiet.

    Args:
        called: when the user's ``worker_init_fn`` began and returned; None without one.
    """
    global current
    current = None
    pass_over()
    patches = _inherited_patches()
    contents: list[Content] = []
    if place.tracer:
        let_look(place.tracer)
    info = _worker_info()
    sleep: naps.Naps | None = None
    if place.folder:
        spans = SpansContent(place, worker, os.getpid(), began, patches, called)
        contents.append(spans)
        sleep = None if info is None else naps.Naps(info.num_workers, spans.is_dormant)
        Finalize(None, spool.remove_orphan, args=(place.folder,), exitpriority=0)
    sums = SumsContent(patches)
    registered.adopt(place.readers)
    readers.install(patches)
    libraries.install(patches)
    for role, obj in marked.objects():
        time_marked(patches, role, obj)
    if info is not None:
        time_dataset(patches, info.dataset)
    marked.listener = lambda role, obj: time_marked(patches, role, obj)
    ready = perf_counter_ns()  # putting the hooks in is part of its start-up
    current = Worker(place, worker, ready, contents, wanted=[sums, NoticedContent()], patches=patches, sleep=sleep)
    if place.notices:
        between.begin(current.batch_in_work)
    transport.begun = current.begin


def _inherited_patches() -> Patches:
    """The capture's own, in a forked worker: its objects are timed already, and must not be timed twice."""
    patches = patching.early if patching.in_force is None else patching.in_force
    if patches is None:
        return Patches()
    patches.visit_again()
    patches.set_globals_again()
    return patches


def _worker_info() -> Any:
    from torch.utils.data import get_worker_info

    return get_worker_info()


def _after_fork() -> None:
    """A process forked by a worker is no worker; one forked by the training process becomes one in `begin`."""
    global current
    current = None
    transport.begun = transport.arrived = None
    send_faults_by(None)
    span_recorder.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
