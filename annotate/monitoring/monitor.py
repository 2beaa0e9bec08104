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
from collections.abc import Callable, Generator
from functools import wraps
from itertools import count
from time import perf_counter_ns as clock
from typing import IO, Any, Final, TypeVar

from annotate.capture import session
from annotate.hooks.collating import Collate
from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import set_class, timed_subclass
from annotate.monitoring.lines import Lines, Sampler, Watch, Watching, print_line
from annotate.recording import sums
from annotate.saying import in_short
from annotate.workers.training_side import replaced, workers_are_threads

L = TypeVar("L")

EVERY: Final = 10
VARIABLE: Final = "ANNOTATE_MONITOR"

_LATE: Final = "worker times are not known: its persistent workers were started before annotate.monitor"
_THREADS: Final = "worker times are not known: its workers are threads"


def monitor(loader: L, every: int = EVERY, file: IO[str] | None = None) -> L:
    """Print a line about one of each `every` batches of a DataLoader, from its next ``iter()`` on.

    A line says which worker made the batch, the batch's number in its epoch and first dataset index, and the seconds
    (self times, summed over the batch) that the worker spent in reading, decoding, transforms, collating and other
    code; `transfer` is from the worker's finish to the batch's arrival, less the time that it lay ready and nobody
    asked. `data wait` is the time inside ``next()``, `step` all the time from batch to batch, both the mean over the
    batches since the last line. An epoch's first wait includes the start of its workers.

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
    from torch.utils.data import DataLoader

    if not isinstance(loader, DataLoader):
        raise TypeError(
            f"annotate.monitor takes a DataLoader of torch, and not {in_short(loader)}. Pass the DataLoader that your "
            "loop iterates; for the data wait of any other iterable, loop over prof.steps(...) in annotate.profile"
        )
    if type(every) is not int or every < 0:
        raise ValueError(f"annotate.monitor: every must be a number of batches, 1 or more (0: stop), not {every!r}")
    if file is not None and not hasattr(file, "write"):
        raise TypeError(f"annotate.monitor: file must be open for writing text, not {file!r}")
    known = _monitors.pop(id(loader), None)
    if known is not None:
        known.stop()
    if every:
        _watch(loader, Monitor(loader, every, file, None if known is None else known.number))
    _follow_session()
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
    """One loader that is watched: its lines, and the hooks in it."""

    def __init__(self, loader: Any, every: int, file: IO[str] | None, number: int | None = None) -> None:
        super().__init__(next(_numbers) if number is None else number, every, file, type(loader.dataset).__name__)
        self.collate: Final[object] = loader.collate_fn
        self.at_its_end: weakref.finalize[..., Any] | None = None
        """Forgets this when the loader is gone."""

    def stop(self) -> None:
        """Let go of all iterators. The loader must not be found by `_find` any more."""
        if self.at_its_end is not None:
            self.at_its_end.detach()
        for iterator, watch in list(_watches.items()):
            if watch.lines is self:
                watch.iteration.is_open = False
                del _watches[iterator]
                if type(iterator) in _bases:
                    set_class(iterator, _bases[type(iterator)])

    def follow(self, loader: Any, original: Callable[[Any], Any]) -> Any:
        """``iter(loader)``, its iterator watched."""
        begin = clock()
        running = getattr(loader, "_iterator", None) if getattr(loader, "persistent_workers", False) else None
        proxy = _proxies.get(running) if running is not None else Sampler(_sampler_of(loader))
        iteration = Watching(self, loader)
        if loader.num_workers and workers_are_threads(loader):
            self.note(_THREADS)
            proxy = None
        elif proxy is None:
            self.note(_LATE)
        self.epochs += 1
        if proxy is None:
            iterator = original(loader)
        else:
            proxy.iteration = iteration
            try:
                with _hooked(loader, self.number, proxy):
                    iterator = original(loader)
            finally:
                proxy.iteration = None
                iteration.is_starting = False
            iteration.is_followed = True
        with contextlib.suppress(TypeError):  # of a class that cannot be watched: no lines
            _time(iterator, Watch(self, iteration, loader.dataset, begin))
            if proxy is not None:
                _proxies[iterator] = proxy
        return iterator


_numbers: Final = count()
_monitors: Final[dict[int, Monitor]] = {}
"""By the id of the loader."""
_watches: Final[weakref.WeakKeyDictionary[Any, Watch]] = weakref.WeakKeyDictionary()
"""By iterator."""
_proxies: Final[weakref.WeakKeyDictionary[Any, Sampler]] = weakref.WeakKeyDictionary()
"""By iterator, also of those that are no longer watched: persistent workers are, when they are watched again."""
_timed: Final[dict[type, type]] = {}
_bases: Final[dict[type, type]] = {}
_patches: Final = Patches()


def _watch(loader: object, one: Monitor) -> None:
    key = id(loader)
    _monitors[key] = one

    def forget() -> None:
        if _monitors.get(key) is one:
            del _monitors[key]
            _follow_session()

    one.at_its_end = weakref.finalize(loader, forget)
    one.at_its_end.atexit = False


def _find(loader: Any) -> Monitor | None:
    """The monitor of a loader. One that a framework rebuilt from an annotated loader is known by its collate."""
    known = _monitors.get(id(loader))
    function = getattr(loader, "collate_fn", None)
    if known is not None or not isinstance(function, Collate):
        return known
    for one in list(_monitors.values()):
        if one.collate is function:
            known = Monitor(loader, one.every, one.file, one.number)
            _watch(loader, known)
            return known
    return None


def _follow_session() -> None:
    """Be in ``DataLoader.__iter__`` while there are loaders to watch and no session is on."""
    if not _monitors or session.is_on():
        _patches.undo()
    elif not _patches:
        _install()


def _install() -> None:
    from torch.utils.data import DataLoader

    original = DataLoader.__iter__

    @wraps(original)
    def __iter__(self: Any) -> Any:  # noqa: N807
        one = None if session.is_on() else _find(self)
        return original(self) if one is None else one.follow(self, original)

    _patches.set_attribute(DataLoader, "__iter__", __iter__)


def _time(iterator: Any, watch: Watch) -> None:
    """Have ``next(iterator)`` timed.

    Raises:
        TypeError: its class does not allow it.
    """
    kind = type(iterator)
    if kind not in _bases:
        if kind not in _timed:
            _timed[kind] = timed_subclass(kind, {"__next__": _timed_next(kind.__next__)})
            _bases[_timed[kind]] = kind
        set_class(iterator, _timed[kind])
    _watches[iterator] = watch


def _timed_next(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(method)
    def __next__(self: Any) -> Any:  # noqa: N807
        watch = _watches.get(self)
        return method(self) if watch is None else watch.next_of(self, method)

    return __next__


@contextlib.contextmanager
def _hooked(loader: Any, number: int, proxy: Sampler) -> Generator[None, None, None]:
    """Our hooks in `loader`, seen by the iterator that is made meanwhile and by nobody else."""
    function = loader.collate_fn
    if not isinstance(function, Collate):
        function = Collate(function)
    with contextlib.ExitStack() as stack:
        if loader.num_workers:
            function = sums.TallyCollate(function)
            stack.enter_context(replaced(loader, "worker_init_fn", sums.TallyInit(loader.worker_init_fn, number)))
        elif _dataset_is_iterable(loader):  # its iterator is made here, to be timed later
            stack.enter_context(sums.hooks(loader.dataset))
        stack.enter_context(replaced(loader, "collate_fn", function))
        stack.enter_context(replaced(loader, _sampler_name(loader), proxy))
        yield


def _dataset_is_iterable(loader: Any) -> bool:
    from torch.utils.data import IterableDataset

    return isinstance(loader.dataset, IterableDataset)


def _sampler_name(loader: Any) -> str:
    return "sampler" if getattr(loader, "batch_sampler", None) is None else "batch_sampler"


def _sampler_of(loader: Any) -> Any:
    return getattr(loader, _sampler_name(loader))


def _after_fork() -> None:
    """A forked child watches the loaders that it is asked to watch."""
    _monitors.clear()
    _watches.clear()
    _patches.undo()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
session.around = _follow_session
