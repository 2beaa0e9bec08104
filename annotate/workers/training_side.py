"""The training process's side of recording in workers: the hooks that loaders carry, windows, and what came back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from itertools import count
from multiprocessing.process import BaseProcess
from time import perf_counter_ns
from typing import Any, Final

from annotate.hooks.collating import Collate
from annotate.hooks.patching import Patches
from annotate.options import WorkerLimits
from annotate.saying import one_line, report_fault
from annotate.trace.clock import Anchors
from annotate.workers import transport
from annotate.workers.batches import Batches, Iteration, SamplerProxy
from annotate.workers.spool import Spool
from annotate.workers.worker_side import Place, WorkerCollate, WorkerInit

_iteration_numbers: Final = count()
_MISSING: Final = object()

_BEFORE: Final = (
    "its persistent workers were started before annotate.profile began. Enter annotate.profile before the loader's "
    "first iteration, or make a new loader"
)
_NOTHING_CAME: Final = (
    "none of them sent any. Their loader was iterated before annotate.profile began, or it is of a kind that lets no "
    "hook in: start the loop inside `with annotate.profile(...)`, and pass the loader to annotate.loader or prof.steps"
)


class WorkerCapture:
    """Recording in the workers of one session."""

    def __init__(self, number_of: Callable[[object], int | None], patches: Patches, limits: WorkerLimits) -> None:
        """
        Args:
            number_of: the number of a loader in the trace's metadata; None for one that is not ours.
        """
        self.batches: Final = Batches()
        self.anchors = Anchors()
        self.spool: Spool | None = None
        self.window: tuple[int, int] | None = None
        """perf_counter_ns of the beginning and (0 while it is open) the end of the window."""
        self.iterated: Final[dict[int, int]] = {}
        """Identity of a DataLoader -> how often it has been iterated in the session."""
        self._number_of = number_of
        self._patches = patches
        self._limits = limits
        self._pid = os.getpid()
        self._failed: str | None = None
        self._epochs: dict[int, int] = {}
        self._proxies: dict[int, SamplerProxy] = {}
        self._lost: dict[int, str] = {}

    def begin(self) -> None:
        """Follow every DataLoader that is iterated from now on."""
        from torch.utils.data import DataLoader

        original = DataLoader.__iter__
        capture = self

        @wraps(original)
        def __iter__(self: Any) -> Any:  # noqa: N807
            capture.iterated[id(self)] = capture.iterated.get(id(self), 0) + 1
            if not getattr(self, "num_workers", 0) or os.getpid() != capture._pid:
                return original(self)
            with ExitStack() as hooks:
                try:
                    capture._follow(self, hooks)
                except Exception as error:
                    hooks.close()
                    report_fault(f"annotate does not record the workers of a DataLoader: {one_line(error)}")
                return original(self)

        self._patches.set_attribute(DataLoader, "__iter__", __iter__)
        transport.arrived = self.batches.arrive

    def end(self) -> None:
        """Let go of all loaders and workers. Harmless when nothing has begun."""
        self.batches.close()
        if transport.arrived == self.batches.arrive:
            transport.arrived = None
        if self.spool is not None:
            self.spool.remove()
            self.spool = None

    def open_window(self) -> None:
        """Have the workers record. torch's profiler must be recording."""
        self.anchors = Anchors()
        self.anchors.begin()
        begin = perf_counter_ns()
        self.window = (begin, 0)
        self.batches.forget(begin)
        if self.spool is not None:
            self.spool.clear()
            self.spool.open_window()

    def close_window(self) -> None:
        """Have the workers stop. torch's profiler must still be recording."""
        if self.window is None or self.window[1]:
            return
        self.anchors.end()
        self.window = (self.window[0], perf_counter_ns())
        if self.spool is not None:
            self.batches.take_note(self.spool.in_work())
            self.spool.close_window()

    def hook_for_the_session(self, loader: Any) -> None:
        """Hook a loader whose class does not come by ``DataLoader.__iter__``: its batches have no numbers."""
        from torch.utils.data import DataLoader

        number = self._number_of(loader)
        if number is None or type(loader).__iter__ is DataLoader.__iter__ or not getattr(loader, "num_workers", 0):
            return
        if workers_are_threads(loader):
            self._lost[number] = "they are threads, which are not recorded"
            return
        if not hasattr(loader, "worker_init_fn") or not hasattr(loader, "collate_fn") or not self._has_spool():
            return
        init, collate = self._hooks(loader, number)
        self._patches.set_attribute(loader, "worker_init_fn", init)
        self._patches.set_attribute(loader, "collate_fn", collate)

    def pids(self) -> list[int]:
        """The workers that have sent a batch so far."""
        return [pid for _, pid in list(self.batches.workers)]

    def why_lost(self, recorded: set[int], waited_for_workers: bool) -> list[str]:
        """Sentences about the loaders whose workers sent nothing.

        Args:
            recorded: numbers of the loaders with records in this window.
            waited_for_workers: the trace shows the training process waiting for workers.
        """
        lost = [
            f"no worker records: the DataLoader with number {number} has worker processes, but {reason}."
            for number, reason in self._lost.items()
            if number not in recorded
        ]
        if not lost and not recorded and waited_for_workers:
            lost.append(f"no worker records: a DataLoader with worker processes was in use, but {_NOTHING_CAME}.")
        return lost

    def _follow(self, loader: Any, hooks: ExitStack) -> None:
        """Put hooks into `loader`, seen by the iterator that is made before they are taken out, and by nobody else."""
        number = self._number_of(loader)
        if number is None or not self._can_follow(loader, number):
            return
        self._lost.pop(number, None)
        proxy = self._proxy(loader)
        iteration = self._new_iteration(loader, number)
        init, collate = self._hooks(loader, number)
        proxy.iteration = iteration

        def iterator_is_made() -> None:
            proxy.iteration = None
            iteration.is_starting = False

        hooks.callback(iterator_is_made)
        name = "sampler" if getattr(loader, "batch_sampler", None) is None else "batch_sampler"
        for key, value in (("worker_init_fn", init), ("collate_fn", collate), (name, proxy)):
            hooks.enter_context(replaced(loader, key, value))

    def _can_follow(self, loader: Any, number: int) -> bool:
        running = getattr(loader, "_iterator", None) if getattr(loader, "persistent_workers", False) else None
        if running is not None and id(loader) not in self._proxies:
            self._lost[number] = _BEFORE
            return False
        if workers_are_threads(loader):
            self._lost[number] = "they are threads, which are not recorded"
            return False
        if not self._has_spool():
            self._lost[number] = f"the folder for temporary files cannot be written: {self._failed}. Set TMPDIR"
            return False
        return True

    def _has_spool(self) -> bool:
        if self.spool is None and self._failed is None:
            try:
                self.spool = Spool()
            except OSError as error:
                self._failed = str(error)
                return False
            if self.window is not None and not self.window[1]:
                self.spool.open_window()
        return self.spool is not None

    def _proxy(self, loader: Any) -> SamplerProxy:
        if id(loader) not in self._proxies:
            sampler = loader.sampler if getattr(loader, "batch_sampler", None) is None else loader.batch_sampler
            self._proxies[id(loader)] = SamplerProxy(sampler, self.batches)
        return self._proxies[id(loader)]

    def _new_iteration(self, loader: Any, number: int) -> Iteration:
        from torch.utils.data import IterableDataset

        epoch = self._epochs.get(number, 0)
        self._epochs[number] = epoch + 1
        iteration = Iteration(
            next(_iteration_numbers),
            number,
            epoch,
            in_order=bool(getattr(loader, "in_order", True)),
            iterable=isinstance(loader.dataset, IterableDataset),
        )
        self.batches.iterations[iteration.number] = iteration
        return iteration

    def _hooks(self, loader: Any, number: int) -> tuple[WorkerInit, WorkerCollate]:
        assert self.spool is not None
        place = Place(str(self.spool.folder), self._pid, number, self._limits.spool_bytes, self._limits.buffered_spans)
        function, init = loader.collate_fn, loader.worker_init_fn
        if isinstance(function, WorkerCollate):  # copied from another loader
            function = function.function
        if isinstance(init, WorkerInit):
            init = init.function
        if not isinstance(function, Collate):
            function = Collate(function)
        return WorkerInit(init, place), WorkerCollate(function)


def workers_are_threads(loader: Any) -> bool:
    """True for a loader whose workers share this process: what is sent to them is never pickled.

    Such are torch's own thread workers, and those of a multiprocessing context whose ``Process`` is a thread.
    """
    if getattr(loader, "worker_method", "multiprocessing") != "multiprocessing":
        return True
    kind = getattr(getattr(loader, "multiprocessing_context", None), "Process", None)
    return isinstance(kind, type) and not issubclass(kind, BaseProcess)


@contextmanager
def replaced(loader: Any, name: str, value: object) -> Iterator[None]:
    """``loader.name = value`` for a moment, past DataLoader's refusal to have its sampler set."""
    attributes = vars(loader)
    before = attributes.get(name, _MISSING)
    attributes[name] = value
    try:
        yield
    finally:
        if before is _MISSING:
            del attributes[name]
        elif attributes.get(name) is value:
            attributes[name] = before
