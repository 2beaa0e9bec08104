"""A session: from its beginning to its end every marked object is timed, and the read and decode hooks are in."""

from __future__ import annotations

from collections.abc import Sized
from contextlib import ExitStack, suppress
from functools import wraps
from multiprocessing.process import BaseProcess
from typing import Final

from annotate.capture.steadiness import Loop
from annotate.hooks import libraries, marked, patching, readers
from annotate.hooks.collating import Collate
from annotate.hooks.datasets import datasets_in
from annotate.hooks.fastai_loaders import known_as
from annotate.hooks.loaders import describe, start_method, time_loader, time_marked
from annotate.hooks.patching import Patches
from annotate.hooks.wrappers import path_to_loaders, time_generator, time_wrapper
from annotate.options import WorkerLimits
from annotate.passing import pass_over
from annotate.recording import switch
from annotate.saying import deliver, forget_reported, guard, in_short, one_line, report_fault
from annotate.signals import came_by_a_signal
from annotate.trace_format import LoaderMetadata
from annotate.workers import following
from annotate.workers.capturing import WorkerCapture
from annotate.workers.worker_side import WorkerCollate

_NOT_READ: Final = (
    "no sample was recorded: the loop does not read the dataset that annotate.dataset was given ({}). Frameworks may "
    "copy it (the Hugging Face Trainer does). Annotate the loader that is iterated, with prof.steps(...) or "
    "annotate.loader(...); in a Trainer, have get_train_dataloader return "
    "annotate.loader(super().get_train_dataloader())"
)

_on: Session | None = None


class Session:
    """Times what is marked, between `begin` and `end`. One at a time per process."""

    def __init__(self, limits: WorkerLimits | None = None, workers: WorkerCapture | None = None) -> None:
        """
        Args:
            workers: those of a capture that outlasts the session; None: they are followed by this session alone.
        """
        self.patches = Patches()
        self.loaders: list[object] = []
        self.stepped: list[object] = []
        """The loaders whose batches drive the steps."""
        self.follows_all = False
        """Every DataLoader that is iterated while the session is on, whether it was marked or not."""
        self._lengths: dict[int, int | None] = {}
        """Of the loaders that were iterated, by identity."""
        self._epochs = 0
        """Of the loop, so far."""
        self._iterated: dict[int, int] = {}
        """How often the loaders of the loop had been iterated then, by identity."""
        self._is_alone = workers is None
        self.workers = workers or WorkerCapture(self._number_of, self.patches, limits or WorkerLimits())

    def begin(self, *, reports_again: bool = True) -> None:
        """Install every hook. No other session may be on.

        Args:
            reports_again: faults that were reported before are reported again.
        """
        global _on
        assert _on is None
        _on = self
        early = patching.adopted(self.patches)
        patching.in_force = self.patches
        try:
            if early is not self.patches:
                early.undo()
            switch.set_capturing(True)
            if self._is_alone and reports_again:
                forget_reported()
            pass_over()
            switch.load_marker()
            readers.install(self.patches)
            libraries.install(self.patches)
            _install_process_start(self.patches)
            self.workers.begin()
            if self.follows_all or marked.follows_all:
                following.hook_all_classes()
            for role, obj in marked.objects():
                self._time(role, obj)
            marked.listener = self._time
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Take every hook out again. Harmless when nothing is in."""
        global _on
        switch.set_recording(False)
        if _on is self:
            marked.listener = None
            patching.in_force = None
            switch.set_capturing(False)
            switch.set_at_work(False)
            _on = None
        try:
            self.workers.end()
        finally:
            self.loaders.clear()
            self.stepped = []
            self.patches.undo()
            deliver()

    def refresh(self) -> None:
        """Hook the libraries that were imported since the session began."""
        readers.install(self.patches)
        self.patches.look_again()
        libraries.install(self.patches)

    def step_by(self, loader: object) -> None:
        """Let a loader's batches drive the steps. What neither is nor holds a DataLoader is only iterated."""
        loaders, wrappers, generators = path_to_loaders(loader)
        self.stepped = loaders or [loader]
        for each in self.stepped:
            self.time_loader(each)
        for wrapper in wrappers:
            time_wrapper(self.patches, wrapper)
        for held in generators:
            time_generator(self.patches, held)

    def time_loader(self, loader: object) -> None:
        """Time a loader for this session only."""
        self._remember(loader)
        following.hook_class(type(loader))
        time_loader(self.patches, loader, collating=True)
        self.workers.hook_for_the_capture(loader)

    def unread(self) -> list[str]:
        """A sentence, if what was given to `annotate.dataset` is read by no loader; for windows without a sample."""
        read = [ds for loader in self._known_loaders() for ds in datasets_in(getattr(loader, "dataset", None))]
        unread = {
            type(ds).__name__
            for role, ds in marked.objects()
            if role == "dataset" and not any(ds is other for other in read)
        }
        return [_NOT_READ.format(", ".join(sorted(unread)))] if unread else []

    def describe_loaders(self) -> list[LoaderMetadata]:
        """The settings of every loader, and which of them were in use."""
        found = []
        for number, loader in enumerate(self.loaders):
            facts = describe(loader)
            facts["iterated"] = self.workers.iterated.get(id(loader), 0)
            facts["iterated_in_window"] = self.workers.iterated_in_window.get(number, 0)
            facts["stepped"] = any(loader is stepped for stepped in self.stepped)
            if len(self.loaders) > 1:
                facts["passes_us"] = self.workers.passes.of(number)
            found.append(facts)
        return found

    def forks_workers(self) -> bool:
        """Whether all DataLoader workers are forked from this process."""
        known = self._known_loaders()
        return all(start_method(loader) == "fork" for loader in known if getattr(loader, "num_workers", 0))

    def loop(self) -> Loop:
        """What the loaders of the calling thread's loop keep ready, and how far they go."""
        looped = self._looped()
        for loader in looped:
            if id(loader) not in self._lengths:
                self._lengths[id(loader)] = length_of(loader)
        lengths = [length for loader in looped if (length := self._lengths[id(loader)]) is not None]
        return Loop(
            prefetched=max((_prefetched(loader) for loader in looped), default=0),
            epochs=self._epochs_of(looped),
            length=min(lengths, default=None),
        )

    def _looped(self) -> list[object]:
        """Those that were iterated, without what validates in between or in another thread, where that shows."""
        used = {number: each for number, each in enumerate(self.loaders) if id(each) in self.workers.iterated}
        stepped = [loader for loader in used.values() if any(loader is each for each in self.stepped)]
        takes = self.workers.batches.takes
        if stepped or not used.keys() <= takes.followed:  # the loop may be over one whose batches are not seen
            return stepped or list(used.values())
        return [used[number] for number in takes.of_loop() if number in used] or list(used.values())

    def _epochs_of(self, looped: list[object]) -> int:
        """How often the loop has begun anew. Another loader in it is none of its epochs if it was there before."""
        for loader in looped:
            iterated = self.workers.iterated.get(id(loader), 0)
            self._epochs += max(0, iterated - self._iterated.get(id(loader), 0))
            self._iterated[id(loader)] = iterated
        return self._epochs

    def _time(self, role: marked.Role, obj: object) -> None:
        try:
            time_marked(self.patches, role, obj)
            if role == "loader":
                self._remember(obj)
                self.workers.hook_for_the_capture(obj)
        except Exception as error:  # of one object; the others are timed
            if came_by_a_signal(error):
                raise
            self.patches.note(f"{in_short(obj)} could not be timed: {one_line(error)}")
            report_fault(f"annotate does not time {in_short(obj)}. Internal error: {one_line(error)}")

    def _number_of(self, loader: object) -> int | None:
        """The place of a loader in `loaders`. One that a framework rebuilt is known by what it has of ours."""
        for number, known in enumerate(self.loaders):
            if known is loader:
                return number
        if not self._is_wanted(loader):
            return None
        self._remember(loader)
        number = len(self.loaders) - 1
        self.time_loader(loader)
        return number

    def _is_wanted(self, loader: object) -> bool:
        """Whether a loader that was not given to us is followed all the same."""
        if self.follows_all or marked.follows_all:
            return not marked.is_skipped(loader)
        has_collate = isinstance(getattr(loader, "collate_fn", None), (Collate, WorkerCollate))
        return has_collate or self.patches.has_visited(getattr(loader, "dataset", None))

    def _known_loaders(self) -> list[object]:
        return self.loaders

    def _remember(self, loader: object) -> None:
        if not any(known is loader for known in self.loaders):
            self.loaders.append(loader)


def _prefetched(loader: object) -> int:
    return (getattr(loader, "num_workers", 0) or 0) * (getattr(loader, "prefetch_factor", None) or 0)


def length_of(loader: object) -> int | None:
    """Batches of an epoch. Not asked of iterable datasets: torch warns later, when the answer turns out wrong."""
    from torch.utils.data import IterableDataset

    loader = known_as(loader)
    if isinstance(getattr(loader, "dataset", None), IterableDataset) or not isinstance(loader, Sized):
        return None
    with suppress(Exception):  # code of the user's
        return len(loader)
    return None


def is_on() -> bool:
    """True between the beginning and the end of a session."""
    return _on is not None


def current() -> Session | None:
    """The session that is on."""
    return _on


def _install_process_start(patches: Patches) -> None:
    """Start every process without our replacements of global functions (see `Patches.without_globals`)."""
    start = BaseProcess.start

    @wraps(start)
    def start_without_globals(self: BaseProcess) -> None:
        with ExitStack() as globals_are_back:
            with guard("annotate could not take its hooks out before a process started"):
                globals_are_back.enter_context(patches.without_globals())
            start(self)

    patches.set_attribute(BaseProcess, "start", start_without_globals)
