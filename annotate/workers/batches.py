"""The life of every batch that a followed loader hands out, as the training process sees it: drawn, arrived, consumed.

torch asks the index sampler for one batch of indices each time it hands a batch out (and for some more before the
first). So an iterator around the sampler's sees every batch leave, plain ``for batch in loader`` loops included.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter_ns
from typing import Any, Final, Protocol

from annotate.hooks.stand_ins import Resumable, is_resumable
from annotate.hooks.wrappers import timed_next
from annotate.recording import callers, switch
from annotate.recording.definitions import define
from annotate.saying import guard, report_error
from annotate.workers.content import Place
from annotate.workers.transport import NOTHING_WANTED, Facts, Payload, Tag, Tagged

_COUNTING: Final = ("SequentialSampler", "_InfiniteConstantSampler", "count")
_CUTTING: Final = ("torch", "torchdata")
"""Packages whose batch samplers only cut batches from the sampler inside."""
_LOST: Final = "annotate cannot follow the batches of a DataLoader"
_LATEST: Final = 1024
"""Batches whose drawing is remembered while an iteration is asleep."""


class Batch:
    """One batch; times in ``perf_counter_ns``, None: not yet, or not seen."""

    loader = 0
    """Number and epoch of its loader, as whoever keeps the batch counts them."""
    epoch = 0
    worker: int | None = None
    pid: int | None = None
    started: int | None = None
    finished: int | None = None
    serialise: int | None = None
    serialised: int | None = None
    deserialise: int | None = None
    arrived: int | None = None
    consumed: int | None = None
    taker: int | None = None
    """Thread that it was handed to, by its number in Python."""
    # Of the class until they are known: one is made for every batch, whether anything records or not.

    def __init__(self, iteration: int, batch: int, drawn: int | None, samples: int | None = None) -> None:
        self.iteration = iteration
        self.batch = batch
        self.drawn = drawn
        self.samples = samples
        """Indices drawn for it; None where its dataset has none, or they are not known."""

    def arrive(self, now: int, facts: Facts) -> None:
        _, _, _, self.worker, self.pid, _, started, self.finished, _, *rest = facts
        self.started = max(started, self.drawn or 0) if started else None
        # A batch that was sent without its moments has `UNKNOWN`, which is no time.
        self.serialise, self.serialised, self.deserialise = (at if at >= 0 else None for at in rest)
        self.arrived = now

    def forget_worker(self) -> None:
        """What an earlier window said of a batch that has not arrived: its worker may be gone since."""
        if self.arrived is None:
            self.worker = self.pid = self.started = self.finished = None


class Listener(Protocol):
    """Told of the batches of one epoch."""

    def drawn(self, batch: Batch, indices: object) -> str | None:
        """A batch is about to be made. Returns the name of a content that is wanted with it, if any is."""

    def arrived(self, batch: Batch, facts: Facts, payload: Payload) -> None:
        """It has come in from its worker. May be called in torch's pinning thread."""

    def consumed(self, batch: Batch) -> None:
        """It is handed out."""


class Sampling(Listener, Protocol):
    """One that does without most batches: no reason for an iteration to be awake."""

    def drawn_asleep(self, number: int, indices: object) -> str | None:
        """As `drawn`, of an iteration that is asleep. None: nothing is to be known of this batch."""

    def told(self, facts: Facts, payload: Payload) -> None:
        """A worker took an opportunity: its batch has no number. May be called in torch's pinning thread."""


class Iteration:
    """One ``iter(loader)``: an epoch of a loader, and who listens to it."""

    def __init__(
        self,
        number: int,
        *,
        in_order: bool,
        iterable: bool,
        has_workers: bool,
        in_threads: bool = False,
        is_whole: bool = False,
    ) -> None:
        """
        Args:
            is_whole: what the dataset gives for an index is a batch (``batch_size=None``).
            in_threads: its workers are threads. Nothing travels to them or back, so the batches are only counted.
        """
        self.number: Final = number
        self.iterable: Final = iterable and not in_threads
        self.has_workers: Final = has_workers
        self.in_threads: Final = in_threads
        self._counted: Final = list if is_whole else (list, tuple)
        """What indices come in: a tuple may as well be the index of one sample, where that is a batch."""
        self.listeners: Final[list[Listener]] = []
        """When nobody listens, the epoch's iterators are plain ones."""
        self.sampling: Final[list[Sampling]] = []
        """Those of them that may sleep."""
        self.is_starting = True
        """Until ``iter(loader)`` returns: what is drawn by then fills the queues."""
        self.latest: object = None
        """The indices that were drawn last."""
        self.outstanding: Final[dict[int, Batch]] = {}
        """Drawn and not consumed."""
        self._arrived: Final[dict[int, Batch]] = {}
        """Arrived and not consumed, in order of arrival."""
        self.in_order: Final = in_order or in_threads
        self.asleep: Callable[[], None] | None = None
        """Called for each batch that is handed out, or with zero workers about to be made, while that is all that
        anybody wants to know: nothing travels with the batches then. None: awake."""
        self.drawn = 0
        self.consumed = 0
        self.drawn_asleep: Final[deque[tuple[int, int | None]]] = deque(maxlen=_LATEST)
        """When the latest batches were drawn, and of how many samples."""
        self._sampled: Final[set[int]] = set()
        """Outstanding batches that were drawn asleep."""

    def draw(self, indices: object, now: int) -> Tag:
        """A batch is to be made of `indices`."""
        batch = Batch(self.number, self.drawn, now, self._count(indices))
        self.drawn += 1
        if self.has_workers:
            self.outstanding[batch.batch] = batch
        wanted = [name for listener in self.listeners if (name := listener.drawn(batch, indices)) is not None]
        return Tag(self.number, batch.batch, frozenset(wanted) if wanted else NOTHING_WANTED)

    def _count(self, indices: object) -> int | None:
        """An iterable dataset is asked for as many as a batch may have; what it has shows in its spans."""
        return len(indices) if isinstance(indices, self._counted) and not self.iterable else None

    def draw_asleep(self, indices: object) -> Tag | None:
        """The same, asleep; with workers. None: nothing is to travel with it."""
        number, drawn = self.drawn, (perf_counter_ns(), self._count(indices))
        self.drawn += 1
        self.drawn_asleep.append(drawn)
        wanted = [name for each in self.sampling if (name := each.drawn_asleep(number, indices)) is not None]
        if not wanted:
            return None
        self.outstanding[number] = Batch(self.number, number, *drawn)
        self._sampled.add(number)
        return Tag(self.number, number, frozenset(wanted))

    def arrive(self, now: int, facts: Facts, payload: Payload) -> None:
        batch = self.outstanding.get(facts.batch)
        if facts.batch < 0:
            for each in self.sampling:
                each.told(facts, payload)
        if batch is not None:
            batch.arrive(now, facts)
            self._arrived[batch.batch] = batch
            for listener in self.listeners:
                listener.arrived(batch, facts, payload)

    def consume(self, now: int) -> None:
        """A batch is handed out: the first to have arrived when any order will do, else the lowest number.

        A batch that raised in its worker never arrives. Of a map-style dataset all numbers are handed out; of an
        iterable one not those that went to a worker that had come to its end.
        """
        if not self.in_order:
            number = next(iter(self._arrived), None)
        elif self.iterable:
            number = min(self._arrived, default=None)
        else:
            number, self.consumed = self.consumed, self.consumed + 1
        batch = None if number is None else self.outstanding.pop(number, None)
        if batch is None:
            if self.asleep is not None:
                self.asleep()
        else:
            self._sampled.discard(batch.batch)
            self._arrived.pop(batch.batch, None)
            batch.consumed, batch.taker = now, get_ident()
            for listener in self.listeners:
                listener.consumed(batch)

    def fall_asleep(self, handed_out: Callable[[], None]) -> None:
        """Only count, until `wake`. With workers: where they take turns, so that a batch's number says whose it is.

        Args:
            handed_out: see `asleep`.
        """
        self.drawn_asleep.clear()
        self.asleep = handed_out

    def wake(self) -> list[Batch]:
        """The batches that were drawn meanwhile and are on their way; from now on all is told again."""
        self.asleep = None
        first = max(self.consumed, self.drawn - len(self.drawn_asleep)) if self.has_workers else self.drawn
        found = []
        for number in range(first, self.drawn):
            if number not in self.outstanding:
                self.outstanding[number] = Batch(self.number, number, *self.drawn_asleep[number - self.drawn])
            elif number not in self._sampled:
                continue
            found.append(self.outstanding[number])
        self._sampled.clear()
        return found


class TaggingIterator:
    """A sampler's iterator whose indices know their batch."""

    __slots__ = ("_iteration", "_iterator", "_name")

    def __init__(self, iterator: Iterator[Any], iteration: Iteration, name: str | None) -> None:
        """
        Args:
            name: marker name of a span for each draw; None for no span.
        """
        self._iterator = iterator
        self._name = name
        self._iteration = iteration

    def __iter__(self) -> TaggingIterator:
        return self

    def __next__(self) -> Any:
        iteration = self._iteration
        handed_out = iteration.asleep
        if callers.of_the_window is not None:
            callers.saw_batch()
        if handed_out is None and not iteration.listeners:
            iteration.latest = indices = timed_next(self._name, self._iterator)
            return indices
        try:  # a fault of ours costs a record, never a batch
            if not iteration.has_workers or iteration.is_starting:
                pass
            elif handed_out is not None and not iteration.outstanding:  # as few calls as can be: caches are cold here
                iteration.consumed += 1
                handed_out()
            elif handed_out is not None or is_for_a_batch():
                iteration.consume(perf_counter_ns())
        except Exception as error:
            report_error(_LOST, error)
        is_plain = self._name is None or not switch.RECORDING
        indices = iteration.latest = next(self._iterator) if is_plain else timed_next(self._name, self._iterator)
        try:
            handed_out = iteration.asleep
            if handed_out is not None and not iteration.has_workers:
                iteration.drawn += 1
                handed_out()
                return indices
            if handed_out is not None:
                sampled = iteration.draw_asleep(indices)
                return indices if sampled is None else Tagged(indices, sampled)
            tag = iteration.draw(indices, perf_counter_ns())
            return Tagged(indices, tag) if iteration.has_workers and not iteration.in_threads else indices
        except Exception as error:
            report_error(_LOST, error)
        return indices

    def __getattr__(self, name: str) -> Any:
        if name in TaggingIterator.__slots__:
            raise AttributeError(name)
        return getattr(self._iterator, name)


class ResumableTagging(TaggingIterator, Resumable):
    """One with a state_dict."""

    __slots__ = ()


class SamplerProxy:
    """Stands for a loader's index sampler in its iterators; plain unless one for a followed epoch is being made."""

    def __init__(self, target: Any, place: Place | None) -> None:
        self.target = target
        self.name: Final = _span_name(target)
        self.place: Final = place
        """Of the workers that the iterator starts; None without workers."""
        self.iteration: Iteration | None = None

    def __iter__(self) -> Iterator[Any]:
        iterator: Iterator[Any] = iter(self.target)
        if self.iteration is not None:
            with guard(_LOST):
                kind = ResumableTagging if is_resumable(iterator) else TaggingIterator
                return kind(iterator, self.iteration, self.name)
        return iterator

    def __len__(self) -> int:
        return len(self.target)

    def __getattr__(self, name: str) -> Any:
        if name == "target":
            raise AttributeError(name)
        return getattr(self.target, name)

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        """As the sampler: fastai's stand-in for a loader is its workers' dataset as well, and may be pickled."""
        return _itself, (self.target,)


class ResumableProxy(SamplerProxy, Resumable):
    """One with a state_dict."""


def stand_in_for(sampler: Any, place: Place | None) -> SamplerProxy:
    """What stands for a loader's index sampler while an iterator is made."""
    return (ResumableProxy if is_resumable(sampler) else SamplerProxy)(sampler, place)


def _itself(sampler: Any) -> Any:
    return sampler


def _span_name(index_sampler: Any) -> str | None:
    """The marker name of drawing indices: by the class of a batch sampler, and where that only cuts batches, as torch's
    and torchdata's do, of the sampler inside. None for those that count, which take no time worth a span.
    """
    inner = getattr(index_sampler, "sampler", None)
    only_cuts = type(index_sampler).__module__.partition(".")[0] in _CUTTING
    cls = type(inner if only_cuts and inner is not None else index_sampler)
    if cls.__qualname__ in _COUNTING:
        return None
    name = switch.hand_out("sampler", cls.__name__)
    define(
        switch.HANDED_OUT[name], next((vars(one)["__iter__"] for one in cls.__mro__ if "__iter__" in vars(one)), cls)
    )
    return name


def is_for_a_batch() -> bool:
    """True when torch draws because it hands a batch out.

    The other occasion: a worker of an iterable dataset has come to its end. Told apart by the name of torch's own
    method (unchanged since torch 1.2); where that is not to be found, each draw is taken to be for a batch.
    """
    frame = sys._getframe(2)
    for _ in range(4):
        name = frame.f_code.co_name
        if name == "_process_data":
            return True
        if name in ("_next_data", "_reset"):
            return False
        if frame.f_back is None:
            break
        frame = frame.f_back
    return True
