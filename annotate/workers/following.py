"""Following loaders: hooks that a DataLoader carries while it makes an iterator, for whoever wants to know its batches.

Nothing is installed but ``__iter__`` and ``_get_iterator`` of DataLoader and of those of its subclasses that were asked
for (`hook_class`), and that only while there are followers. What an iterator needs (its workers' ``worker_init_fn`` and
collate function, a proxy of its sampler) stands in the loader for the moment in which the iterator is made, and is seen
by nobody else. Where one of these methods calls another, the outermost follows; an ``__iter__`` that is a generator
makes its iterator later, by a call that is seen as well.
"""

from __future__ import annotations

import os
import weakref
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from inspect import isfunction, isgeneratorfunction
from itertools import count
from multiprocessing.process import BaseProcess
from time import perf_counter_ns
from typing import Any, ClassVar, Final, Literal, Protocol

from annotate.hooks import fastai_loaders, marked
from annotate.hooks.collating import Collate
from annotate.hooks.patching import Patches
from annotate.hooks.wrappers import timed_wait, waited_for
from annotate.recording import switch
from annotate.saying import guard
from annotate.trace_format import ITER
from annotate.workers import transport
from annotate.workers.batches import Iteration, Listener, SamplerProxy, stand_in_for
from annotate.workers.content import Place
from annotate.workers.transport import Facts, Payload
from annotate.workers.worker_side import WorkerCollate, WorkerInit

Missed = Literal["late", "threads"]
"""Why batches cannot be followed: persistent workers had started before; the workers are threads."""

_MISSING: Final = object()


class Follower(Protocol):
    """Somebody who wants to know the batches of loaders."""

    counts_threads: ClassVar[bool]
    """Told of batches that are handed out where the workers are threads, too: nothing else can be known of those."""

    def wants(self, loader: Any) -> bool:
        """Whether to follow a loader that is about to be iterated; asked once for each ``iter(loader)``."""

    def place(self, loader: Any) -> Place | None:
        """What the loader's new workers are to be told; None when it cannot be made."""

    def accepts(self, loader: Any, place: Place | None) -> bool:
        """Whether workers that were started with `place` will do."""

    def missed(self, loader: Any, why: Missed) -> None:
        """The batches of a loader that was wanted cannot be followed."""

    def listener(self, loader: Any, iteration: Iteration, hooks: ExitStack) -> Listener | None:
        """Who listens to an epoch that begins, if anybody has to. `hooks` is closed when its iterator has been made."""

    def begun(self, loader: Any, iterator: Any, began: int, iteration: Iteration | None) -> None:
        """An iterator has been made; its making began at `began`."""

    def stray(self, facts: Facts, payload: Payload) -> None:
        """A batch has come in that was drawn without a number: its loader has an ``__iter__`` of its own."""


_followers: Final[list[Follower]] = []
_iterations: Final[weakref.WeakValueDictionary[int, Iteration]] = weakref.WeakValueDictionary()
_numbers: Final = count()
_patches: Final = Patches()
_classes: Final[weakref.WeakSet[type]] = weakref.WeakSet()
_making: Final[set[tuple[int, int]]] = set()
"""Thread and loader of every iterator that is being made."""
METHODS: Final = ("__iter__", "_get_iterator")
"""Of DataLoader classes: what makes an iterator, or has a persistent one begin again."""
_OURS: Final = "_annotate_follows"
_ASLEEP: Final = "annotate_asleep"
"""Of a method that waits for the first iteration (`annotate.launch`): puts the original back, and returns what is to be
called at that iteration."""
_waking: Final[list[Callable[[], None]]] = []


def add(follower: Follower) -> None:
    """Ask `follower` about every loader that is iterated from now on."""
    if follower not in _followers:
        _followers.append(follower)
    if not _patches:
        _install()


def remove(follower: Follower) -> None:
    """Stop asking `follower`. Harmless when it is not asked."""
    if follower in _followers:
        _followers.remove(follower)
    if not _followers:
        _patches.undo()


def workers_are_threads(loader: Any) -> bool:
    """True for a loader whose workers share this process: what is sent to them is never pickled.

    Such are torch's own thread workers, and those of a multiprocessing context whose ``Process`` is a thread.
    """
    if getattr(loader, "worker_method", "multiprocessing") != "multiprocessing":
        return True
    kind = getattr(getattr(loader, "multiprocessing_context", None), "Process", None)
    return isinstance(kind, type) and not issubclass(kind, BaseProcess)


def worker_hooks(loader: Any, place: Place) -> tuple[WorkerInit, WorkerCollate]:
    """What stands in for a loader's ``worker_init_fn`` and collate function in its workers."""
    init, function = loader.worker_init_fn, loader.collate_fn
    if isinstance(function, WorkerCollate):  # copied from another loader
        function = function.function
    if isinstance(init, WorkerInit):
        init = init.function
    if not isinstance(function, Collate) and not fastai_loaders.is_stand_in(loader):
        function = Collate(function)
    return WorkerInit(init, place), WorkerCollate(function)


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


def hook_class(cls: type) -> None:
    """Look at all classes from `cls` up to DataLoader when they make iterators, while there are followers."""
    from torch.utils.data import DataLoader

    _hook_fastai()
    if cls not in _classes:
        _classes.add(cls)
        for base in cls.__mro__ if _patches else ():
            if issubclass(base, DataLoader):
                _hook_methods(base)


def hook_all_classes() -> None:
    """`hook_class` for every class of loaders that there is by now."""
    from torch.utils.data import DataLoader

    waiting: list[type] = [DataLoader]
    while waiting:
        cls = waiting.pop()
        hook_class(cls)
        waiting += type.__subclasses__(cls)


def _install() -> None:
    from torch.utils.data import DataLoader

    transport.arrived = _arrived  # for good: epochs that have begun go on when nobody asks about new ones
    for cls in (DataLoader, *_classes):
        for base in cls.__mro__:
            if issubclass(base, DataLoader):
                _hook_methods(base)
    _hook_fastai()


def _hook_fastai() -> None:
    """Look at what fastai's DataLoader makes its iterators of, and at the generator around them."""
    module = fastai_loaders.module()
    if module is None or not _patches or hasattr(vars(module.DataLoader).get("__iter__"), _OURS):
        return
    _hook_methods(module.DataLoader)
    makers = tuple(_followed(_as_function(maker)) for maker in getattr(module, fastai_loaders.MAKERS))
    _patches.set_attribute(module, fastai_loaders.MAKERS, makers)


def _as_function(maker: type) -> Callable[[Any], Any]:
    return lambda loader: maker(loader)


def _hook_methods(cls: type) -> None:
    for name in METHODS:
        method = vars(cls).get(name)
        if hasattr(method, _ASLEEP):
            _waking.append(getattr(method, _ASLEEP)())
            method = vars(cls).get(name)
        if isfunction(method) and not hasattr(method, _OURS):
            _patches.set_attribute(cls, name, _followed(method))


def _followed(original: Callable[..., Any]) -> Callable[..., Any]:
    """A method that makes iterators, seen by the followers."""
    pid = os.getpid()
    makes_it_later = isgeneratorfunction(original)

    @wraps(original)
    def make_iterator(self: Any, *args: Any, **kwargs: Any) -> Any:
        key = (get_ident(), id(self))
        if makes_it_later and _followers and os.getpid() == pid and not marked.is_skipped(self):
            return waited_for(original(self, *args, **kwargs), type(self).__name__)
        if makes_it_later or not _followers or key in _making or os.getpid() != pid:
            return original(self, *args, **kwargs)
        _making.add(key)
        try:
            return _in_a_wait(self, lambda loader: _iterate(loader, lambda it: original(it, *args, **kwargs)))
        finally:
            _making.discard(key)

    setattr(make_iterator, _OURS, True)
    return make_iterator


def _in_a_wait(loader: Any, make: Callable[[Any], Any]) -> Any:
    """An iterator, in a `wait` span while something records: the loop waits until DataLoader workers are started. What
    follows in here belongs to it, as new workers take the CPU away from that as well.
    """
    if not switch.RECORDING or not getattr(loader, "num_workers", 0):
        return make(loader)
    return timed_wait(switch.hand_out("wait", type(loader).__name__ + ITER), make, loader)


def _iterate(loader: Any, original: Callable[[Any], Any]) -> Any:
    """``iter(loader)``, followed by whoever wants to."""
    began = perf_counter_ns()
    followers: list[Follower] = []
    iteration: Iteration | None = None
    with ExitStack() as hooks:
        with guard(f"annotate cannot follow the batches of a {type(loader).__name__}"):
            for wake in tuple(_waking):
                _wake(wake)
            followers = [follower for follower in _followers if follower.wants(loader)]  # asking may add one
            if followers:
                iteration = _follow(loader, followers, hooks)
        iterator = original(loader)
    with guard(f"annotate cannot follow the batches of a {type(loader).__name__}"):
        for follower in followers:
            follower.begun(loader, iterator, began, iteration)
    return iterator


def _wake(wake: Callable[[], None]) -> None:
    """It stays in `_waking` until it has returned: another thread that makes an iterator meanwhile waits in it, too."""
    try:
        wake()
    finally:
        with suppress(ValueError):
            _waking.remove(wake)


def _follow(loader: Any, followers: list[Follower], hooks: ExitStack) -> Iteration | None:
    """Put hooks into `loader`, to be taken out by `hooks`; None when its batches cannot be followed."""
    has_workers = bool(getattr(loader, "num_workers", 0))
    in_threads = has_workers and workers_are_threads(loader)
    if in_threads:
        _miss(loader, followers, "threads")
        followers = [follower for follower in followers if follower.counts_threads]
        if not followers:
            return None
    running = getattr(loader, "_iterator", None) if getattr(loader, "persistent_workers", False) else None
    if running is None:
        place: Place | None = None
        if has_workers and not in_threads:
            places = [place for follower in followers if (place := follower.place(loader)) is not None]
            if not places:
                return None
            place = max(places, key=lambda each: bool(each.folder))
            place = place._replace(notices=any(each.notices for each in places))
        proxy = stand_in_for(getattr(loader, _sampler_name(loader)), place)
    else:
        found = getattr(running, "_index_sampler", None)
        if not isinstance(found, SamplerProxy):
            _miss(loader, followers, "threads" if in_threads else "late")
            return None
        proxy = found
    accepting = [follower for follower in followers if follower.accepts(loader, proxy.place)]
    if has_workers and not in_threads:
        _miss(loader, [follower for follower in followers if follower not in accepting], "late")
    iteration = _new_iteration(loader, has_workers, in_threads)
    listeners = [follower.listener(loader, iteration, hooks) for follower in accepting]
    iteration.listeners.extend(listener for listener in listeners if listener is not None)
    _arm(proxy, iteration, hooks)
    if running is None:
        _hook(loader, proxy, hooks)
    return iteration


def _miss(loader: Any, followers: list[Follower], why: Missed) -> None:
    for follower in followers:
        follower.missed(loader, why)


def _new_iteration(loader: Any, has_workers: bool, in_threads: bool) -> Iteration:
    from torch.utils.data import IterableDataset

    iteration = Iteration(
        next(_numbers),
        in_order=bool(getattr(loader, "in_order", True)),
        iterable=isinstance(loader.dataset, IterableDataset) or fastai_loaders.is_stand_in(loader),
        has_workers=has_workers,
        in_threads=in_threads,
        is_whole=getattr(loader, "batch_sampler", None) is None,
    )
    _iterations[iteration.number] = iteration
    return iteration


def _arm(proxy: SamplerProxy, iteration: Iteration, hooks: ExitStack) -> None:
    """Let the next iterator of `proxy` belong to `iteration`."""
    proxy.iteration = iteration

    def iterator_is_made() -> None:
        proxy.iteration = None
        iteration.is_starting = False

    hooks.callback(iterator_is_made)


def _hook(loader: Any, proxy: SamplerProxy, hooks: ExitStack) -> None:
    stand_ins: dict[str, object] = {_sampler_name(loader): proxy}
    if proxy.place is not None:
        stand_ins["worker_init_fn"], stand_ins["collate_fn"] = worker_hooks(loader, proxy.place)
    elif not isinstance(loader.collate_fn, Collate) and not fastai_loaders.is_stand_in(loader):
        stand_ins["collate_fn"] = Collate(loader.collate_fn)
    for name, value in stand_ins.items():
        hooks.enter_context(replaced(loader, name, value))


def _sampler_name(loader: Any) -> str:
    if fastai_loaders.is_stand_in(loader):
        return fastai_loaders.INDEX_SAMPLER
    return "sampler" if getattr(loader, "batch_sampler", None) is None else "batch_sampler"


def _arrived(facts: Facts, payload: Payload) -> None:
    """A parcel has been unpacked."""
    iteration = _iterations.get(facts.iteration)
    if iteration is not None:
        iteration.arrive(perf_counter_ns(), facts, payload)
    elif facts.iteration < 0:
        for follower in _followers:
            follower.stray(facts, payload)


def _after_fork() -> None:
    """A forked child follows nobody's loaders."""
    _followers.clear()
    _making.clear()
    _waking.clear()
    _patches.undo()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
