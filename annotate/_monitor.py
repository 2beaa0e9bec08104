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
import threading
import weakref
from _thread import get_ident
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from itertools import count
from time import perf_counter_ns as clock
from typing import IO, Any, Final, NamedTuple, TypeVar

from annotate import _session, _tally
from annotate._batches import Batch, Batches, Iteration, SamplerProxy, TaggingIterator, is_for_a_batch
from annotate._collate import Collate
from annotate._parcel import Facts
from annotate._patching import Patches
from annotate._timed import set_class, timed_subclass
from annotate._workers import replaced

L = TypeVar("L")

EVERY: Final = 10
VARIABLE: Final = "ANNOTATE_MONITOR"

HEADER: Final = (
    f"{'DataLoader':16} {'worker':>6} {'pid':>8} {'epoch':>5} {'batch':>7} {'first':>9} {'read':>9} {'decode':>9} "
    f"{'transform':>9} {'collate':>9} {'other':>9} {'transfer':>9} | {'data wait':>9} / {'step':<8} seconds"
)
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
        raise TypeError(f"annotate.monitor takes a DataLoader, not {type(loader).__name__}")
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
        _print(None, f"annotate: {VARIABLE} must be 1, or the number of batches per line, not {text!r}: no lines")
        return
    monitor(loader, EVERY if text == "1" else int(text))


class Measured(NamedTuple):
    """A batch that a line can be about; times in nanoseconds."""

    worker: int | None
    """None: the training process itself."""
    pid: int
    epoch: int
    batch: int
    first: object
    """Its first dataset index, where there is one."""
    sums: _tally.Sums
    transfer: int


class Monitor:
    """The lines of one loader."""

    def __init__(self, loader: Any, every: int, file: IO[str] | None, number: int | None = None) -> None:
        self.number: Final = next(_numbers) if number is None else number
        self.every: Final = every
        self.file: Final = file
        self.collate: Final[object] = loader.collate_fn
        self.dataset_name: Final = type(loader.dataset).__name__
        self.measured: Measured | None = None
        """The latest to have been handed out since the last line."""
        self.handed_out = 0
        self.epochs = 0
        self._has_header = False
        self._line_from = 0
        """The number of the first batch after those of the last line; a multiple of `every`."""
        self._waits = self._steps = self._timed = 0
        self._notes: set[str] = set()
        self.at_its_end: weakref.finalize[..., Any] | None = None
        """Forgets this when the loader is gone."""

    def stop(self) -> None:
        """Let go of all iterators. The loader must not be found by `_find` any more."""
        if self.at_its_end is not None:
            self.at_its_end.detach()
        for iterator, watch in list(_watches.items()):
            if watch.monitor is self:
                watch.iteration.is_open = False
                del _watches[iterator]
                if type(iterator) in _bases:
                    set_class(iterator, _bases[type(iterator)])

    def measures(self, number: int) -> bool:
        """Whether to measure the batch that is to be handed out as the `number`-th."""
        period, place = divmod(number, self.every)
        return place == int((period + 1) * _GOLDEN % 1 * self.every)

    def follow(self, loader: Any, original: Callable[[Any], Any]) -> Any:
        """``iter(loader)``, its iterator watched."""
        begin = clock()
        running = getattr(loader, "_iterator", None) if getattr(loader, "persistent_workers", False) else None
        proxy = _proxies.get(running) if running is not None else _Sampler(_sampler_of(loader))
        iteration = Watching(self, loader)
        if getattr(loader, "worker_method", "multiprocessing") != "multiprocessing":
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

    def add(self, watch: Watch, begin: int, now: int) -> None:
        """A batch has been handed out."""
        self.handed_out += 1
        if watch.previous:
            self._timed += 1
            self._steps += now - watch.previous
            self._waits += now - begin + watch.start_up
        watch.previous, watch.start_up = now, 0
        since = self.handed_out - self._line_from
        if since < self.every:
            return
        # Batches that come out of order may keep the measured one waiting, and one that raised never comes.
        if self.measured is not None or since >= 2 * self.every or not watch.iteration.is_followed:
            if not self._has_header:
                self._has_header = True
                _print(self.file, HEADER)
            _print(self.file, self.format(watch.iteration.epoch))
            self._begin_line()

    def skip(self, watch: Watch) -> None:
        """A batch has been handed out while a capture was going on."""
        self.handed_out += 1
        watch.previous = 0
        self._begin_line()

    def _begin_line(self) -> None:
        self.measured = None
        self._line_from = self.handed_out - self.handed_out % self.every
        self._waits = self._steps = self._timed = 0

    def format(self, epoch: int) -> str:
        """A line under `HEADER`, of at most 160 columns."""
        measured = self.measured
        if measured is None:
            worker, pid, number, first, times = "-", "-", "-", "-", [f"{'-':>9}"] * 6
        else:
            worker = "main" if measured.worker is None else str(measured.worker)
            pid, epoch, number, first = str(measured.pid), measured.epoch, str(measured.batch), _index(measured.first)
            times = [f"{time / 1e9:9.5f}" for time in measured.sums]
            times.append(f"{'-':>9}" if measured.worker is None else f"{measured.transfer / 1e9:9.5f}")
        end = f"{'-':>9} / {'-'}"
        if self._timed and self._steps:
            wait, step = self._waits / self._timed / 1e9, self._steps / self._timed / 1e9
            end = f"{wait:9.5f} / {step:<8.5f} {wait / step:4.0%}"
        name = f"{self.number} {self.dataset_name}"[:16]
        return f"{name:16} {worker:>6} {pid:>8} {epoch:>5} {number:>7} {first:>9} {' '.join(times)} | {end}"

    def note(self, text: str) -> None:
        """Say something about the loader, once."""
        if text not in self._notes:
            self._notes.add(text)
            _print(self.file, f"annotate.monitor: DataLoader {self.number} {self.dataset_name}: {text}")


class Watching(Iteration):
    """One epoch of a watched loader."""

    def __init__(self, monitor: Monitor, loader: Any) -> None:
        from torch.utils.data import IterableDataset

        super().__init__(
            next(_iterations),
            monitor.number,
            monitor.epochs,
            in_order=bool(getattr(loader, "in_order", True)),
            iterable=isinstance(loader.dataset, IterableDataset),
        )
        self.has_workers: Final = bool(loader.num_workers)
        self.is_followed = False
        self.is_measured = False
        """Without workers: this moment."""
        self.asked = 0
        """When the ``next()`` that is going on began."""
        self.asked_by = 0
        self.firsts: Final[dict[int, object]] = {}
        """Of batches that are measured and not handed out: their first index."""
        self._handed_out_before: Final = monitor.handed_out
        self._monitor = monitor
        self._tallies: Final[dict[int, tuple[_tally.Sums, int]]] = {}
        _open[self.number] = self

    def send(self, indices: Any) -> Any:
        """The indices of the next batch, as they go to whoever makes it."""
        number = self.draw(clock()).batch
        measure = self.is_measured or (self.has_workers and self._monitor.measures(self._handed_out_before + number))
        if measure:
            self.firsts[number] = _first_of(indices)
        if self.has_workers:
            return _tally.Watched(indices, self.number, number, measure)
        self.outstanding.clear()
        return indices

    def receive(self, now: int, facts: Facts, sums: _tally.Sums | None) -> None:
        """A batch has arrived."""
        if sums is not None:
            ready = facts[7]
            if get_ident() == self.asked_by:  # it may have lain in the queue, ready
                ready = max(ready, self.asked)
            self._tallies[facts[1]] = sums, max(0, now - ready)
        self.arrive(now, facts)

    def consume(self, now: int) -> Batch | None:
        batch = super().consume(now)
        if batch is not None and batch.batch in self.firsts:
            first = self.firsts.pop(batch.batch)
            tally = self._tallies.pop(batch.batch, None)
            if tally is not None and batch.pid is not None:
                self._monitor.measured = Measured(batch.worker, batch.pid, self.epoch, batch.batch, first, *tally)
        return batch


class _Tagging(TaggingIterator):
    """A sampler's iterator, for one epoch of a watched loader."""

    __slots__ = ()
    _iteration: Watching

    def __next__(self) -> Any:
        iteration = self._iteration
        if not iteration.is_open:
            return next(self._iterator)
        if iteration.has_workers and not iteration.is_starting and is_for_a_batch():
            iteration.consume(clock())
        return iteration.send(next(self._iterator))


class _Sampler(SamplerProxy):
    """Stands for a loader's index sampler; plain unless a watched iterator is just being made."""

    iteration: Watching | None

    def __init__(self, target: Any) -> None:
        super().__init__(target, _NONE_KEPT)

    def __iter__(self) -> Iterator[Any]:
        iterator = iter(self.target)
        return iterator if self.iteration is None else _Tagging(iterator, self.iteration, _NONE_KEPT)


class Watch:
    """What is known of an iterator."""

    __slots__ = ("dataset", "iteration", "monitor", "previous", "start_up")

    def __init__(self, monitor: Monitor, iteration: Watching, dataset: object, begin: int) -> None:
        self.monitor = monitor
        self.iteration = iteration
        self.dataset = dataset
        self.previous = begin
        """When its last batch was handed out, or its making began; 0: a capture came between."""
        self.start_up = clock() - begin
        """Time in ``iter()``, part of the first wait."""

    def next_of(self, iterator: Any, method: Callable[[Any], Any]) -> Any:
        monitor, iteration = self.monitor, self.iteration
        if _session.is_on():
            data = method(iterator)
            monitor.skip(self)
            return data
        begin = clock()
        if iteration.has_workers:
            iteration.asked, iteration.asked_by = begin, get_ident()
            data = method(iterator)
        elif monitor.measures(monitor.handed_out) and _one_at_a_time.acquire(blocking=False):
            try:
                data = self._measured(iterator, method)
            finally:
                _one_at_a_time.release()
        else:
            data = method(iterator)
        monitor.add(self, begin, clock())
        return data

    def _measured(self, iterator: Any, method: Callable[[Any], Any]) -> Any:
        """The next batch, made in this thread."""
        iteration = self.iteration
        iteration.is_measured = True
        try:
            with _tally.hooks(self.dataset):
                _tally.start()
                begin = clock()
                data = method(iterator)
                sums = _tally.stop(clock() - begin)
        finally:
            iteration.is_measured = False
        for number, first in iteration.firsts.items():
            self.monitor.measured = Measured(None, os.getpid(), iteration.epoch, number, first, sums, 0)
        iteration.firsts.clear()
        return data


_GOLDEN: Final = 0.6180339887498949
_NONE_KEPT: Final = Batches()
_numbers: Final = count()
_iterations: Final = count()
_one_at_a_time: Final = threading.Lock()
_monitors: Final[dict[int, Monitor]] = {}
"""By the id of the loader."""
_open: Final[weakref.WeakValueDictionary[int, Watching]] = weakref.WeakValueDictionary()
_watches: Final[weakref.WeakKeyDictionary[Any, Watch]] = weakref.WeakKeyDictionary()
"""By iterator."""
_proxies: Final[weakref.WeakKeyDictionary[Any, _Sampler]] = weakref.WeakKeyDictionary()
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
    if not _monitors or _session.is_on():
        _patches.undo()
    elif not _patches:
        _install()


def _install() -> None:
    from torch.utils.data import DataLoader

    original = DataLoader.__iter__

    @wraps(original)
    def __iter__(self: Any) -> Any:  # noqa: N807
        one = None if _session.is_on() else _find(self)
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
def _hooked(loader: Any, number: int, proxy: _Sampler) -> Generator[None, None, None]:
    """Our hooks in `loader`, seen by the iterator that is made meanwhile and by nobody else."""
    function = loader.collate_fn
    if not isinstance(function, Collate):
        function = Collate(function)
    with contextlib.ExitStack() as stack:
        if loader.num_workers:
            function = _tally.TallyCollate(function)
            stack.enter_context(replaced(loader, "worker_init_fn", _tally.TallyInit(loader.worker_init_fn, number)))
        elif _dataset_is_iterable(loader):  # its iterator is made here, to be timed later
            stack.enter_context(_tally.hooks(loader.dataset))
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


def _first_of(indices: Any) -> object:
    """The first dataset index of a batch; of a loader that does not batch, the only one."""
    if isinstance(indices, (str, bytes, dict)) or not hasattr(indices, "__len__"):
        return indices
    try:
        return indices[0]
    except Exception:  # of no dimension, empty, or a class of its own
        return indices


def _index(first: object) -> str:
    """A dataset index in at most nine columns; ``-`` for what is none."""
    if isinstance(first, str):
        return first[:9]
    try:
        return str(int(first))[:9]  # type: ignore[call-overload]
    except Exception:  # None; whatever a sampler may give
        return "-"


def _print(file: IO[str] | None, line: str) -> None:
    """A line that cannot be written is lost: training goes on."""
    with contextlib.suppress(Exception):
        out = sys.stderr if file is None else file
        out.write(line + "\n")
        out.flush()


def _arrived(facts: Facts, sums: _tally.Sums | None) -> None:
    iteration = _open.get(facts[0])
    if iteration is not None:
        iteration.receive(clock(), facts, sums)


def _after_fork() -> None:
    """A forked child watches the loaders that it is asked to watch."""
    _monitors.clear()
    _watches.clear()
    _patches.undo()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
_tally.arrived = _arrived
_session.around = _follow_session
