"""`monitor`: one line of text per so many batches, without any profiler, cheap enough to leave on.

Of each `every` batches one is measured in the worker that makes it, another one each time, so that all workers have
their turn; the others cost a number on their way there and back. Nothing is installed in the training process but
``DataLoader.__iter__``, and on each iterator of a watched loader a class of its own that times ``next()``. Without
workers, a measured batch has the other hooks in for as long as it is loaded.
"""

from __future__ import annotations

import contextlib
import os
import sys
import weakref
from collections.abc import Generator
from functools import partial
from itertools import count
from typing import IO, Any, ClassVar, Final, TypeVar

from annotate.hooks import marked, patching, readers
from annotate.hooks.collating import Collate
from annotate.hooks.datasets import time_dataset
from annotate.hooks.loaders import time_marked
from annotate.hooks.patching import Patches
from annotate.hooks.readers.registered import all_registered
from annotate.monitoring import next_calls
from annotate.monitoring.lines import Lines, Watch, WatchedEpoch, print_line
from annotate.monitoring.next_calls import NextCall
from annotate.needs_torch import need_torch
from annotate.recording import sums, switch
from annotate.saying import guard, in_short
from annotate.workers import following
from annotate.workers.batches import Iteration
from annotate.workers.content import Place
from annotate.workers.following import Missed
from annotate.workers.transport import Facts, Payload

L = TypeVar("L")

EVERY: Final = 10
VARIABLE: Final = "ANNOTATE_MONITOR"

_WHY: Final[dict[Missed, str]] = {
    "late": "worker times are not known: its persistent workers were started before annotate.monitor",
    "threads": "worker times are not known: its workers are threads",
}


def monitor(loader: L, every: int = EVERY, file: IO[str] | None = None) -> L:
    """Print a line about one of each `every` batches of a DataLoader, from its next ``iter()`` on.

    A line says which worker made the batch, the batch's number in its epoch and first dataset index, and the
    milliseconds (self times, summed over the batch) that the worker spent in reading, decoding, transforms, collating
    and other code; `transfer` is from the worker's finish to the batch's arrival, less its time in queue. `data wait`
    is the time inside ``next()``, `step` all the time from batch to batch, both the mean over the batches since the
    last line. An epoch's first wait includes the start of its workers.

    Lines pause while `profile` or `replay` records. `epoch` counts the epochs that were watched. The environment
    variable ``ANNOTATE_MONITOR=1`` (or ``=N`` for every N batches) does the same to all that `annotate.loader` gets.

    Args:
        loader: a DataLoader, annotated or not. It is not changed.
        every: batches per line; 0 stops the lines and takes everything out again, at once. Worker processes that run
            on (persistent ones) keep quiet hooks.
        file: where the lines go, stderr by default. One that fails to take a line loses it.

    Returns:
        `loader`, the very same object.

    Raises:
        TypeError: `loader` is no DataLoader, or `file` has no ``write``.
        ValueError: `every` is not a whole number, or negative.
    """
    need_torch("monitor")
    from torch.utils.data import DataLoader

    if not isinstance(loader, DataLoader):
        raise TypeError(
            f"annotate.monitor takes a torch DataLoader, not {in_short(loader)}. Pass the DataLoader that your "
            "loop iterates; for the data wait of any other iterable, loop over prof.steps(...) in annotate.profile"
        )
    if type(every) is not int or every < 0:
        raise ValueError(f"annotate.monitor: every must be a number of batches, 1 or more (0: stop), not {every!r}")
    if file is not None and not hasattr(file, "write"):
        raise TypeError(f"annotate.monitor: file must be open for writing text, not {file!r}")
    with guard("annotate.monitor does not watch a DataLoader"):
        known = _monitors.pop(id(loader), None)
        if known is not None:
            following.remove(known)
            known.stop()
        if not _monitors:
            next_calls.untime_classes()
        if every:
            _watch(loader, Monitor(loader, every, file, None if known is None else known.number))
    return loader


def monitor_by_environment(loader: object) -> None:
    """Do what ``ANNOTATE_MONITOR`` says about a loader that has just been annotated."""
    text = os.environ.get(VARIABLE, "").strip()
    data = sys.modules.get("torch.utils.data")
    if text in ("", "0") or data is None or not isinstance(loader, data.DataLoader) or id(loader) in _monitors:
        return
    if not text.isdecimal():
        print_line(None, f"annotate: {VARIABLE} must be 1, or the number of batches per line, not {text!r}: no lines")
        return
    monitor(loader, EVERY if text == "1" else int(text))


class Monitor(Lines):
    """One loader that is watched: its lines; a `following.Follower`."""

    def __init__(self, loader: Any, every: int, file: IO[str] | None, number: int | None = None) -> None:
        super().__init__(next(_numbers) if number is None else number, every, file, type(loader.dataset).__name__)
        self.collate: Final[object] = loader.collate_fn
        self.at_its_end: weakref.finalize[..., Any] | None = None
        """Forgets this when the loader is gone."""
        self._epoch: WatchedEpoch | None = None
        """Of the iterator that is being made."""

    def stop(self) -> None:
        """Let go of all iterators. The loader must no longer be found by `_find`."""
        if self.at_its_end is not None:
            self.at_its_end.detach()
        self.takers.end()
        next_calls.leave_next(self._leaves)

    def _leaves(self, call: NextCall) -> bool:
        """Stop listening to the epoch of one of its iterators."""
        if not isinstance(call, Watch) or call.lines is not self:
            return False
        if call.epoch is not None:
            with contextlib.suppress(ValueError):
                call.epoch.iteration.listeners.remove(call.epoch)
        return True

    # As a follower of loaders:

    counts_threads: ClassVar[bool] = False

    def wants(self, loader: Any) -> bool:
        self._epoch = None
        return not switch.CAPTURING and _find(loader) is self

    def place(self, loader: Any) -> Place:
        return Place(os.getpid(), self.number, readers=all_registered())

    def accepts(self, loader: Any, place: Place | None) -> bool:
        return True

    def missed(self, loader: Any, why: Missed) -> None:
        self.note(_WHY[why])

    def listener(self, loader: Any, iteration: Iteration, hooks: contextlib.ExitStack) -> WatchedEpoch:
        if not iteration.has_workers and iteration.iterable:  # its iterator is made here, to be timed later
            hooks.enter_context(measuring(loader.dataset))
        self._epoch = WatchedEpoch(self, iteration)
        return self._epoch

    def begun(self, loader: Any, iterator: Any, began: int, iteration: Iteration | None) -> None:
        epoch, self._epoch = self._epoch, None
        watch = Watch(self, epoch, partial(measuring, loader.dataset), began)
        self.epochs += 1
        with contextlib.suppress(TypeError):  # of a class that cannot be watched: no lines
            next_calls.time_next(iterator, watch)

    def stray(self, facts: Facts, payload: Payload) -> None:
        pass


_numbers: Final = count()
_monitors: Final[dict[int, Monitor]] = {}
"""By the id of the loader."""


def _watch(loader: object, watching: Monitor) -> None:
    key = id(loader)
    _monitors[key] = watching
    following.add(watching)

    def forget() -> None:
        if _monitors.get(key) is watching:
            del _monitors[key]
            following.remove(watching)
            watching.takers.end()

    watching.at_its_end = weakref.finalize(loader, forget)
    watching.at_its_end.atexit = False


def _find(loader: Any) -> Monitor | None:
    """The monitor of a loader. One that a framework rebuilt from an annotated loader is known by its collate."""
    known = _monitors.get(id(loader))
    function = getattr(loader, "collate_fn", None)
    if known is not None or not isinstance(function, Collate):
        return known
    for watching in list(_monitors.values()):
        if watching.collate is function:
            known = Monitor(loader, watching.every, watching.file, watching.number)
            _watch(loader, known)
            return known
    return None


@contextlib.contextmanager
def measuring(dataset: object) -> Generator[bool, None, None]:
    """Everything that `sums.start` needs in this process, for a moment only; False where nothing may be measured.

    In an `annotate.profile` its hooks are in, and do for this as well: a second layer would count each stage twice.
    """
    session = patching.in_force
    if switch.AT_WORK or (session is not None and not session.has_visited(dataset)):
        yield False
        return
    patches, before = Patches(), switch.recorder
    try:
        if session is None:
            readers.install(patches)
            for role, obj in marked.objects():
                if role != "loader":  # other loaders' datasets are none of this batch's
                    time_marked(patches, role, obj)
            time_dataset(patches, dataset)
        switch.install(sums.RECORDER)
        yield True
    finally:
        switch.set_recording(False)
        switch.install(before)
        patches.undo()


def _after_fork() -> None:
    """A forked child watches the loaders that it is asked to watch."""
    _monitors.clear()
    next_calls.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
