"""Recording under the profilers of the user's own: whatever was annotated is in each file that one of them exports.

**All standing hooks**, from the first annotate call to `off` or the process's end, each a flag check while no profiler
is at work:

- ``torch.autograd.profiler.profile``, which every profiler of torch passes, those built earlier included:
  ``_prepare_trace``, ``_start_trace``, ``__exit__``, ``export_chrome_trace`` (`_HOOKS`);
- ``__iter__`` and ``_get_iterator`` of DataLoader and of the classes of followed loaders (`workers.following`);
- where `tb-dataplugin run` finds batches taken outside of the main thread, a hook on optimizer steps
  (`recording.optimizer_steps`), until it has recorded;
- under `tb-dataplugin run`, those of libraries with pipelines of their own (`launch.others`), until it has recorded;
- in the workers of followed loaders, dormant hooks (`workers.standing`); their iterators carry a sampler and a collate
  function of ours, which hand everything on.

From a profiler's ``_prepare_trace`` to its ``__exit__`` a session is on (recording hooks); from its ``_start_trace`` on
a window is open. Its rows are kept until the profiler exports, or another one records.
"""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, Final

from annotate.capture import guest, session
from annotate.capture.exported import Exports
from annotate.capture.standing_session import StandingSession
from annotate.capture.torch_profiler import is_open, results_are_whole
from annotate.capture.window import Recorded, Window, names_handed_out
from annotate.hooks import libraries, marked
from annotate.hooks.fastai_loaders import is_stand_in
from annotate.hooks.patching import Patches
from annotate.recording import switch
from annotate.recording.optimizer_steps import remove_hook
from annotate.saying import guard, one_line, report_fault
from annotate.signals import came_by_a_signal, undisturbed
from annotate.trace import writer
from annotate.whole_run import current as whole_run
from annotate.workers import following, worker_side
from annotate.workers.standing import StandingWorkers

_HOST_SAMPLE_MS: Final = 100
_LOST: Final = "annotate does not record what a torch.profiler records"


class Standing:
    """What stands: the hooks, the workers, and the cycle of a profiler that is on."""

    def __init__(self) -> None:
        self.workers: Final = StandingWorkers()
        self.is_whole = False
        """All hooks are in; if not, that has been reported."""
        self._patches, self._exports = Patches(), Exports()
        self._session: StandingSession | None = None
        self._window: Window | None = None
        self._is_open = False
        self._profiler: weakref.ref[Any] | None = None  # of the session that is on
        self.begins: guest.Whose = "program"
        """Whose profiler begins next. Nobody looks at a guest's tables, nor at anything of a trial."""
        self._kept: Recorded | None = None
        self._kept_of: weakref.ref[Any] | None = None

    def install(self) -> None:
        """Put the hooks in."""
        from torch.autograd.profiler import profile

        with guard("annotate records under annotate.profile only"):
            for name, made in _HOOKS.items():
                method = vars(profile).get(name)
                if method is None:  # of another torch
                    self._patches.note(f"annotate does not know this torch: profile.{name} is not there.")
                else:
                    self._patches.set_attribute(profile, name, made(self, method))
            self.workers.install()
            self.is_whole = True
        with guard(_LOST):
            self._join_one_that_records(profile)

    def look_at(self, loader: object) -> None:
        """A loader has been annotated."""
        from torch.utils.data import DataLoader

        if isinstance(loader, DataLoader) or is_stand_in(loader):
            following.hook_class(type(loader))

    def remove(self) -> None:
        """Take the hooks out; what was recorded and not exported is lost."""
        self.give_up()
        self._kept = self._kept_of = None
        try:
            for end in (remove_hook, libraries.end_early, self.workers.remove):
                with guard("annotate.off left a hook behind"):
                    end()
        finally:
            self._patches.undo()

    def _join_one_that_records(self, profile: type) -> None:
        """The first annotate call came while a profiler was at work."""
        import torch

        is_enabled: Callable[[], bool] = getattr(torch.autograd, "_profiler_enabled", bool)
        if is_enabled() and not session.is_on():
            for obj in gc.get_objects():
                if issubclass(type(obj), profile) and is_open(obj):
                    self.prepare(obj)
                    self.start(obj)
                    return

    # What a profiler of the user's does:

    def prepare(self, profiler: Any) -> None:
        """It prepares: put the recording hooks in."""
        if self._session is not None:  # one that was never left, or that this one destroys
            self.give_up()
        if self.begins == "trial" or session.is_on() or worker_side.current is not None:
            return
        self._profiler = weakref.ref(profiler, self._is_gone)
        self._session = StandingSession(self.workers)
        self._window = Window(
            self._session, host_sample_ms=_HOST_SAMPLE_MS, counts_steps=True, weighs_profiler=self.begins == "guest"
        )
        try:
            if marked.follows_all or self.workers.loaders.may_run_stages:
                following.hook_all_classes()
            self._session.begin()
            for note in self._patches.notes:
                self._session.patches.note(note)
            self._window.begin()
            self.workers.on_batch = self._batch
        except BaseException:
            self.give_up()
            raise

    def start(self, profiler: Any) -> None:
        """It records: open the window."""
        if not self._is_of(profiler):
            self.prepare(profiler)
        if self._window is not None and self._is_of(profiler):
            self._is_open = True
            try:
                self._window.open()
                switch.set_recording(True)
            except BaseException:
                self.give_up()
                raise

    def _batch(self, now: int) -> None:
        """The loop has got a batch."""
        if self._is_open and self._window is not None:
            self._window.batch(now)

    def stop(self, profiler: Any) -> None:
        """It is about to stop: close the window."""
        if self._is_of(profiler):
            switch.set_recording(False)
            if self._is_open and self._window is not None:
                try:
                    self._window.close()
                except BaseException:
                    self.give_up()
                    raise

    def keep(self, profiler: Any) -> None:
        """It has stopped: keep the window until its export."""
        ours = self._session
        if ours is None or not self._is_of(profiler) or not self._is_open:
            return
        if self._window is not None and results_are_whole(profiler):
            self._is_open = False
            for note in self.workers.loaders.notes():
                ours.patches.note(note)
            self._kept = self._window.recorded(is_kept=True)
            self._kept_of = weakref.ref(profiler, self._let_go)

    def leave(self, profiler: Any) -> None:
        """It has stopped: take the recording hooks out."""
        if self._is_of(profiler):
            self.give_up()

    def merge(self, profiler: Any, path: str) -> None:
        """It has exported to `path`: put what is kept into that file."""
        kept = self._kept
        if kept is None or self._kept_of is None or self._kept_of() is not profiler:
            return
        self._kept = self._kept_of = None
        try:
            writer.merge_trace(Path(path), names_handed_out(), kept.metadata, kept.rows)
            self._exports.tell(path)
        except Exception as error:
            if came_by_a_signal(error):
                raise
            report_fault(f"annotate could not add its spans to {path}, which is as torch wrote it: {one_line(error)}")

    @property
    def is_on(self) -> bool:
        return self._session is not None

    @property
    def window(self) -> Window | None:
        return self._window

    @property
    def kept(self) -> Recorded | None:
        return self._kept

    def give_up(self) -> None:
        """End the session, whatever of it is on. Harmless when none is."""
        ours, self._session = self._session, None
        window, self._window = self._window, None
        self._profiler, self._is_open = None, False
        if ours is None:
            return
        switch.set_recording(False)
        self.workers.on_loader = self.workers.on_batch = None
        self.workers.is_armed = False
        try:
            for end in () if window is None else window.ends:
                with guard(_LOST):
                    end()
        finally:
            ours.end()

    def _is_of(self, profiler: Any) -> bool:
        return self._session is not None and self._profiler is not None and self._profiler() is profiler

    def _is_gone(self, dead: object) -> None:
        if self._profiler is dead:
            with guard(_LOST):
                self.give_up()

    def _let_go(self, dead: object) -> None:
        if self._kept_of is dead:
            self._kept = self._kept_of = None


def _prepare_trace(standing: Standing, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def _prepare_trace(self: Any, *args: Any, **kwargs: Any) -> Any:
        if standing is _standing:
            with guard(_LOST), undisturbed():
                standing.prepare(self)
        return original(self, *args, **kwargs)

    return _prepare_trace


def _start_trace(standing: Standing, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def _start_trace(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if standing is _standing:
            with guard(_LOST), undisturbed():
                standing.start(self)
        return result

    return _start_trace


def _exit(standing: Standing, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def __exit__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if standing is not _standing or standing._session is None:
            return original(self, *args, **kwargs)
        try:
            with guard(_LOST), undisturbed():
                standing.stop(self)
        finally:
            result = stopped(self, *args, **kwargs)
        return result

    def stopped(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        finally:
            with guard(_LOST), undisturbed():
                try:
                    standing.keep(self)
                finally:
                    standing.leave(self)

    return __exit__


def _export(standing: Standing, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def export_chrome_trace(self: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, path, *args, **kwargs)
        if standing is _standing:
            with guard("annotate could not add its spans to a trace"):
                standing.merge(self, path)
        return result

    return export_chrome_trace


_HOOKS: Final = {
    "_prepare_trace": _prepare_trace,
    "_start_trace": _start_trace,
    "__exit__": _exit,
    "export_chrome_trace": _export,
}
"""Method of ``torch.autograd.profiler.profile`` -> what makes its replacement."""

_standing: Standing | None = None
_is_off = False
"""The hooks were taken out on purpose, or this process was forked."""


def install() -> Standing | None:
    """Put the standing hooks in, where torch has been imported; called by every annotate call."""
    global _standing, _is_off
    if _standing is None and "torch" in sys.modules:
        _is_off = False
        new = Standing()
        with guard(_LOST):
            _standing = new
            new.install()
    return _standing


def current() -> Standing | None:
    return _standing


def stand(loader: object = None) -> None:
    """Something has been annotated: put the hooks in, and look at a loader's class."""
    ours = _standing or install()
    if ours is not None and loader is not None:
        with guard("annotate does not follow a DataLoader"):
            ours.look_at(loader)


def stand_for_a_stage() -> None:
    """A stage has been made, perhaps in the middle of a loop: not again after `off`.

    All loaders are followed from then on, since any of them may run it in its workers.
    """
    ours = _standing or (None if _is_off else install())
    if ours is not None and not ours.workers.loaders.may_run_stages:
        with guard("annotate does not follow all DataLoaders"):
            ours.workers.loaders.may_run_stages = True
            following.hook_all_classes()


def follow_everything(skipped: Iterable[object]) -> None:
    """As `annotate.auto`."""
    ours = _standing or install()
    if ours is not None:
        with guard("annotate.auto does not follow DataLoaders"):
            marked.follow_all(skipped)
            following.hook_all_classes()


def off() -> None:
    """Take every standing hook out again, and record nothing more under the profilers of others.

    Worker processes that run on keep quiet hooks. The next call of `annotate.loader`, `dataset`, `compose`, `collate`,
    `auto` or `trace_handler` puts the hooks in again.
    """
    global _standing, _is_off
    whole_run.end()
    guest.give_way("the program called annotate.off")
    ours, _standing, _is_off = _standing, None, True
    marked.follow_marked_only()
    if ours is not None:
        ours.remove()


def is_recording() -> bool:
    """True while a session of the standing hooks is on."""
    return _standing is not None and _standing.is_on


def is_broken() -> bool:
    """True when the hooks could not be put in, which has been reported."""
    return _standing is not None and not _standing.is_whole


def give_way() -> None:
    """An annotate.profile begins: it records for itself, and its hooks go in on top of the standing ones."""
    stand()
    if _standing is not None:
        _standing.give_up()


def _after_fork() -> None:
    """A forked child has no profiler and no hooks."""
    global _standing, _is_off
    ours, _standing, _is_off = _standing, None, True
    if ours is not None:
        ours._patches.undo()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
