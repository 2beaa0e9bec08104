"""Recording in DataLoader workers for a capture: its spool and windows, and the batches that it keeps for the trace."""

from __future__ import annotations

import os
from _thread import get_ident
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from copy import copy
from time import perf_counter_ns
from typing import Any, ClassVar, Final, Protocol

from annotate.hooks.fastai_loaders import is_stand_in
from annotate.hooks.loaders import start_method
from annotate.hooks.patching import Patches
from annotate.hooks.readers.registered import all_registered
from annotate.host.watching import tracer
from annotate.options import WorkerLimits
from annotate.saying import guard
from annotate.workers import following, spans_content
from annotate.workers.batches import Batch, Iteration
from annotate.workers.content import Place
from annotate.workers.following import Missed, worker_hooks, workers_are_threads
from annotate.workers.kept import Kept
from annotate.workers.passes import Passes
from annotate.workers.spans_content import Losses
from annotate.workers.spool import InWork, Spool
from annotate.workers.takes import Takes
from annotate.workers.transport import Facts, Payload

KEPT: Final = 1 << 17
"""Batches remembered at most, the latest ones; about 200 bytes each."""

_WHY: Final[dict[Missed, str]] = {
    "late": (
        "its persistent workers had started before the capture. Enter annotate.profile before the loader's first "
        "iteration, or make a new loader"
    ),
    "threads": "they are threads, which annotate does not record. Use processes for a capture",
}
_NOTHING_CAME: Final = (
    "their loader was not annotated, or was iterated before annotate.profile began (or annotate cannot follow its "
    "class). Pass the loader to annotate.loader or prof.steps, or call annotate.auto(), and start the loop inside "
    "`with annotate.profile(...)`"
)


class Epoch:
    """One epoch of a loader, as a capture listens to it."""

    def __init__(self, batches: Batches, iteration: Iteration, loader: int, epoch: int) -> None:
        self.iteration: Final = iteration
        self.loader: Final = loader
        self.epoch: Final = epoch
        self._batches = batches

    def drawn(self, batch: Batch, indices: object) -> None:
        batch.loader, batch.epoch = self.loader, self.epoch
        self._batches.kept.append(batch)

    def arrived(self, batch: Batch, facts: Facts, payload: Payload) -> None:
        self._batches.note_worker(batch.arrived or 0, facts, payload)

    def consumed(self, batch: Batch) -> None:
        self._batches.takes.took(self.loader)
        self._batches.hand_out(batch.consumed or 0)


class Batches:
    """All batches of a capture."""

    def __init__(self) -> None:
        self.kept: deque[Batch] = deque(maxlen=KEPT)
        self.epochs: Final[dict[int, Epoch]] = {}
        """By the number of the iteration."""
        self.workers: Final[dict[tuple[int, int], Facts]] = {}
        """Loader and pid -> the latest facts from that worker."""
        self.losses: Final[dict[tuple[int, int], Losses]] = {}
        """Loader and pid -> what that worker has not recorded."""
        self.out_of_time = 0
        """Batches that arrived before they had finished, if the clocks of two processes ever disagree."""
        self.takes: Final = Takes()
        self.handed_out = 0
        self.last_handed_out: tuple[int, int] = (0, 0)
        """Thread and moment (ns)."""

    def hand_out(self, now: int) -> None:
        self.handed_out += 1
        self.last_handed_out = (get_ident(), now)

    def note_worker(self, now: int, facts: Facts, payload: Payload) -> None:
        """A batch has arrived."""
        if now < facts.finished:
            self.out_of_time += 1
        self.workers[facts.loader, facts.pid] = facts
        losses = payload.get(spans_content.NAME)
        if losses is not None:
            self.losses[facts.loader, facts.pid] = Losses(*losses)

    def keep_stray(self, facts: Facts, payload: Payload) -> None:
        """A batch without a number has arrived."""
        now = perf_counter_ns()
        self.note_worker(now, facts, payload)
        batch = Batch(-1, -1, None)
        batch.loader = facts.loader
        batch.arrive(now, facts)
        self.kept.append(batch)

    def copy(self, since: int) -> Batches:
        """As they are now, but for what was consumed before a moment."""
        copied = Batches()
        copied.kept.extend(copy(batch) for batch in self.kept if batch.consumed is None or batch.consumed >= since)
        copied.epochs.update(self.epochs)
        copied.workers.update(self.workers)
        copied.losses.update(self.losses)
        copied.out_of_time = self.out_of_time
        return copied

    def take_note(self, in_work: Iterable[InWork]) -> None:
        """Of batches that workers are making as a window closes.

        Not of iterable datasets: a worker that has come to its end is still given batches, and makes none.
        """
        for work in in_work:
            epoch = self.epochs.get(work.iteration)
            if epoch is None or epoch.iteration.iterable:
                continue
            batch = epoch.iteration.outstanding.get(work.batch)
            if batch is not None and batch.arrived is None:
                batch.worker, batch.pid, batch.started = work.worker, work.pid, work.started

    def close(self) -> None:
        """The capture ends, and stops listening."""
        for epoch in self.epochs.values():
            with suppress(ValueError):
                epoch.iteration.listeners.remove(epoch)

    def forget(self, before: int) -> None:
        """Drop what was consumed before a moment, and what is in work: it will be reported again."""
        kept = [batch for batch in self.kept if batch.consumed is None or batch.consumed >= before]
        for batch in kept:
            batch.forget_worker()
        self.kept = deque(kept, maxlen=KEPT)


class Records(Protocol):
    """What is known of the workers in a window, for whoever writes its trace."""

    @property
    def batches(self) -> Batches: ...
    @property
    def spool(self) -> Spool | Kept | None: ...
    @property
    def window(self) -> tuple[int, int] | None: ...
    def why_lost(self, recorded: set[int], waited_for_workers: bool) -> list[str]: ...


class Snapshot:
    """The records of a window that was closed: they stay as they are while batches come and go."""

    def __init__(self, capture: WorkerCapture) -> None:
        self.window: Final = capture.window
        self.batches: Final = capture.batches.copy(capture.window[0] if capture.window else 0)
        self.spool: Final = None if capture.spool is None else capture.spool.keep()
        self._lost = dict(capture.lost)
        self._nothing_came: Final = capture.nothing_came

    def why_lost(self, recorded: set[int], waited_for_workers: bool) -> list[str]:
        return _why_lost(self._lost, self._nothing_came, recorded, waited_for_workers)


def _why_lost(lost: dict[int, str], nothing_came: str, recorded: set[int], waited_for_workers: bool) -> list[str]:
    """Sentences about the loaders whose workers sent nothing.

    Args:
        recorded: numbers of the loaders with records in this window.
        waited_for_workers: the trace shows the training process waiting for workers.
    """
    sentences = [
        f"no data from the DataLoader workers of loader {number}: {reason}."
        for number, reason in lost.items()
        if number not in recorded
    ]
    if not sentences and not recorded and waited_for_workers:
        sentences.append(f"no data from DataLoader workers: {nothing_came}.")
    return sentences


class WorkerCapture:
    """Recording in the workers of one capture; a `following.Follower`."""

    why: ClassVar[dict[Missed, str]] = _WHY
    nothing_came: str = _NOTHING_CAME
    counts_threads: ClassVar[bool] = False

    def __init__(self, number_of: Callable[[object], int | None], patches: Patches, limits: WorkerLimits) -> None:
        """
        Args:
            number_of: the number of a loader in the trace's metadata; None for one that is not ours.
        """
        self.batches: Final = Batches()
        self.spool: Spool | None = None
        self.window: tuple[int, int] | None = None
        """perf_counter_ns of the beginning and (0 while it is open) the end of the window."""
        self.iterated: Final[dict[int, int]] = {}
        """Identity of a DataLoader -> how often it has been iterated in the capture."""
        self.iterated_in_window: Final[dict[int, int]] = {}
        """Number of a loader -> how often it has been iterated in the window."""
        self.passes: Final = Passes()
        self._number_of = number_of
        self._patches = patches
        self._limits = limits
        self._failed: str | None = None
        self._spools: Final[dict[str, Spool]] = {}
        """The one that has the spans of all workers: two threads may begin to iterate, and make one, at once."""
        self._epochs: dict[int, int] = {}
        self._forked: dict[int, None] = {}
        """Their pids, in order."""
        self.on_forked: Callable[[], None] | None = None
        """Called when there are more of them."""
        self.lost: dict[int, str] = {}
        """Number of a loader -> why its workers sent nothing."""

    def begin(self) -> None:
        """Follow every DataLoader that is iterated from now on."""
        following.add(self)

    def end(self) -> None:
        """Let go of all loaders and workers. Harmless when nothing has begun."""
        with guard("annotate goes on listening to a DataLoader"):
            following.remove(self)
            self.batches.close()
        if self.spool is not None:
            self.spool.remove()
            self.spool = None
            self._spools.clear()

    def open_window(self) -> None:
        """Tell the workers to record."""
        begin = perf_counter_ns()
        self.window = (begin, 0)
        self.iterated_in_window.clear()
        self.batches.forget(begin)
        if self.spool is not None:
            self.spool.clear()
            self.spool.open_window()

    def close_window(self, *, is_last: bool = False) -> None:
        """Tell the workers to leave the window, and to stop after the last one. Harmless when no window is open."""
        if self.window is None or self.window[1]:
            return
        self.window = (self.window[0], perf_counter_ns())
        if self.spool is not None:
            self.batches.take_note(self.spool.in_work())
            self.spool.close_window(is_last=is_last)

    def pids(self) -> list[int]:
        """The workers that have sent a batch so far, and those that have been forked to do so."""
        return list(dict.fromkeys((*(pid for _, pid in list(self.batches.workers)), *self._forked)))

    def hook_for_the_capture(self, loader: Any) -> None:
        """Hook a loader whose class does not come by ``DataLoader.__iter__``: its batches have no numbers."""
        from torch.utils.data import DataLoader

        number = self._number_of(loader)
        if number is None or type(loader).__iter__ is DataLoader.__iter__ or not getattr(loader, "num_workers", 0):
            return
        if is_stand_in(loader):  # fastai's, whose iterators are followed
            return
        if workers_are_threads(loader):
            self.lost[number] = self.why["threads"]
            return
        place = self.place(loader)
        if not hasattr(loader, "worker_init_fn") or not hasattr(loader, "collate_fn") or place is None:
            return
        init, collate = worker_hooks(loader, place)
        self._patches.set_attribute(loader, "worker_init_fn", init)
        self._patches.set_attribute(loader, "collate_fn", collate)

    def why_lost(self, recorded: set[int], waited_for_workers: bool) -> list[str]:
        return _why_lost(self.lost, self.nothing_came, recorded, waited_for_workers)

    # As a follower of loaders:

    def wants(self, loader: Any) -> bool:
        self.iterated[id(loader)] = self.iterated.get(id(loader), 0) + 1
        number = self._number_of(loader)
        self._note_iterated(number)
        return number is not None

    def place(self, loader: Any) -> Place | None:
        number = self._number_of(loader)
        spool = self._made_spool()
        if number is None:
            return None
        if spool is None:
            self.lost[number] = f"the folder for temporary files cannot be written: {self._failed}. Set TMPDIR"
            return None
        self.lost.pop(number, None)
        limits = self._limits
        return Place(
            os.getpid(),
            number,
            str(spool.folder),
            limits.spool_bytes,
            limits.buffered_spans,
            tracer=tracer(),
            readers=all_registered(),
        )

    def accepts(self, loader: Any, place: Place | None) -> bool:
        return self.spool is not None and place is not None and place.folder == str(self.spool.folder)

    def missed(self, loader: Any, why: Missed) -> None:
        number = self._number_of(loader)
        if number is not None and self._failed is None:
            self.lost[number] = self.why[why]

    def listener(self, loader: Any, iteration: Iteration, hooks: ExitStack) -> Epoch:
        number = self._number_of(loader) or 0
        epoch = self._epochs.get(number, 0)
        self._epochs[number] = epoch + 1
        self.batches.takes.followed.add(number)
        self.batches.epochs[iteration.number] = heard = Epoch(self.batches, iteration, number, epoch)
        return heard

    def begun(self, loader: Any, iterator: Any, began: int, iteration: Iteration | None) -> None:
        """Workers that were forked are known at once, for their first batch may take long. Not those that have yet to
        start Python, or to allow that somebody looks at them.
        """
        number = self._number_of(loader) or 0
        self.passes.begun(number, iterator, began)
        if iteration is not None and not iteration.has_workers and iteration.number not in self.batches.epochs:
            iteration.listeners.append(self.batches.takes.listener(number))
        if iteration is None or start_method(loader) != "fork" or tracer():
            return
        before = len(self._forked)
        self._forked.update(dict.fromkeys(each.pid for each in getattr(iterator, "_workers", ()) if each.pid))
        if self.on_forked is not None and len(self._forked) > before:
            self.on_forked()

    def stray(self, facts: Facts, payload: Payload) -> None:
        self.batches.keep_stray(facts, payload)

    def _note_iterated(self, number: int | None) -> None:
        if number is not None and self.window is not None and not self.window[1]:
            self.iterated_in_window[number] = self.iterated_in_window.get(number, 0) + 1

    def _made_spool(self) -> Spool | None:
        if self.spool is None and self._failed is None:
            try:
                made = Spool()
            except OSError as error:
                self._failed = str(error)
                return None
            self._publish(made)
        return self.spool

    def _publish(self, made: Spool) -> bool:
        """Whether that spool is the capture's; else another thread has made it meanwhile. No thread gets one whose
        window is yet to be opened: its workers would not record their first batches.
        """
        if self.window is not None and not self.window[1]:
            made.open_window()
        self.spool = self._spools.setdefault("first", made)  # one step: no lock that a fork may copy locked
        if self.spool is not made:
            made.remove()
        return self.spool is made
