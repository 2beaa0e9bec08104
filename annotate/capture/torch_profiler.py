"""torch's profiler as a capture runs it: never beside another one, its results checked before they are saved.

Kineto has one session in a process, from a profiler's ``_prepare_trace`` to its ``__exit__``. Whoever prepares while
another is in between destroys the other's session, and saving or ending that one is a segmentation fault (torch 2.0 to
2.13). So while a capture is on, it looks at every profiler that begins and ends, at the level that all of them pass
(``torch.autograd.profiler.profile``). The user's own always works as it would without us: ours gives its window up.
"""

from __future__ import annotations

import gc
import gzip
import shutil
import weakref
from _thread import get_ident
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, wraps
from pathlib import Path
from typing import IO, Any, Final, Protocol, cast

from annotate.hooks.patching import Patches

ALREADY_SAVED: Final = "Trace is already saved."
"""What torch says to a second export of a window."""

_GIVEN_UP: Final = (
    "no trace to export: annotate.profile stopped recording this window when another torch.profiler began"
)


class Capture(Protocol):
    """Whom a profiler of ours works for."""

    def save(self, profiler: Any) -> Export | None:
        """Write the window that has just been recorded; None when that failed, which is said there."""

    def window_lost(self) -> None:
        """Another profiler has begun: this window will not be recorded."""


class Export:
    """The trace file of a window, for whoever exports the same window as well."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._is_taken = False

    def write_to(self, path: str) -> None:
        """Write the trace to `path`, packed when that ends in ``.gz``.

        Raises:
            RuntimeError: it has been exported before; torch says the same.
            OSError: `path` cannot be written, or the file is gone.
        """
        if self._is_taken:
            raise RuntimeError(ALREADY_SAVED)
        self._is_taken = True
        with self._file.open("rb") as packed, Path(path).open("wb") as sink:
            source = packed if path.endswith(".gz") else cast("IO[bytes]", gzip.GzipFile(fileobj=packed))
            shutil.copyfileobj(source, sink, 1 << 20)


class OtherProfilers:
    """The profilers of torch in this process that are none of ours, seen while a capture is on."""

    def __init__(self, ours: Callable[[], object], give_way: Callable[[], None]) -> None:
        """
        Args:
            ours: the profiler whose beginnings and ends are not counted.
            give_way: called before another one prepares or starts.
        """
        self._ours = ours
        self._give_way = give_way
        self._open: dict[int, weakref.ref[object]] = {}

    def install(self, patches: Patches) -> None:
        """Look at every profiler from now on, until the undo."""
        from torch.autograd.profiler import profile

        for name in ("_prepare_trace", "_start_trace"):
            if name in vars(profile):
                patches.set_attribute(profile, name, self._beginning(vars(profile)[name]))
        patches.set_attribute(profile, "__exit__", self._ending(profile.__exit__))

    @property
    def is_one_open(self) -> bool:
        """True from the moment that another profiler prepares to its end."""
        return any(reference() is not None for reference in list(self._open.values()))

    def _beginning(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def begin(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            if profiler is not self._ours():
                with suppress(Exception):  # ours may fail; the user's must begin
                    self._give_way()
                self._open[id(profiler)] = weakref.ref(profiler)
            return original(profiler, *args, **kwargs)

        return begin

    def _ending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def end(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(profiler, *args, **kwargs)
            finally:
                self._open.pop(id(profiler), None)

        return end


def another_is_open() -> bool:
    """True while any profiler of torch prepares or records, in any thread of this process.

    One that has prepared and not started shows nowhere but in its own attributes: all objects are looked through.
    """
    import torch
    from torch.autograd.profiler import profile

    is_enabled: Callable[[], bool] = getattr(torch.autograd, "_profiler_enabled", bool)
    if is_enabled():
        return True
    return any(issubclass(type(obj), profile) and _is_open(obj) for obj in gc.get_objects())


def _is_open(profiler: Any) -> bool:
    state: dict[str, Any] = vars(profiler)
    return bool(state.get("entered")) and state.get("kineto_results") is None


def results_are_whole(profiler: Any) -> bool:
    """False when Kineto's session was destroyed by another profiler: saving such results is a segmentation fault."""
    results = getattr(profiler, "kineto_results", None)
    if results is None:
        return False
    for name in ("trace_start_ns", "trace_start_us"):  # torch 2.4 and later, earlier
        began = getattr(results, name, None)
        if began is not None:
            return bool(began() > 0)
    return True


@lru_cache(maxsize=1)
def profiler_class() -> type[Any]:
    """A ``torch.profiler.profile`` that gives way to others, and whose exports carry our rows."""
    import torch.profiler

    class Profiler(torch.profiler.profile):  # what the user's handler gets
        def __init__(self, capture: Capture, **keywords: Any) -> None:
            self._capture = capture
            self._export: Export | None = None
            self._is_open = self._is_recording = False
            self._thread = 0
            self._makes_steps = False
            self.others = OtherProfilers(lambda: self.profiler, self.give_way)
            self.is_given_up = False
            """The window that the schedule is in will not be recorded."""
            super().__init__(**keywords)

        @property
        def record_steps(self) -> bool:
            """Steps are marked while ours records, and never in the trace of another profiler."""
            return self._makes_steps and self._is_recording

        @record_steps.setter
        def record_steps(self, value: bool) -> None:
            self._makes_steps = value

        def prepare_trace(self) -> None:
            self.is_given_up = False
            if self.others.is_one_open:
                self._give_up()
                return
            self._export = None
            if not getattr(self, "acc_events", False):  # torch would warn that it drops the events, which are written
                self.profiler = None
            super().prepare_trace()
            self._is_open, self._thread = True, get_ident()

        def start_trace(self) -> None:
            if not self.is_given_up:
                super().start_trace()
                self._is_recording = True

        def stop_trace(self) -> None:
            if self.is_given_up:
                return
            self._is_open = self._is_recording = False
            super().stop_trace()
            if not results_are_whole(self.profiler):
                self._give_up()

        def _trace_ready(self) -> None:
            if self.is_given_up:
                return
            self._export = self._capture.save(self)
            if self.on_trace_ready:
                self.on_trace_ready(self)

        def give_way(self) -> None:
            """Another profiler begins: stop, before it destroys what Kineto has of ours. Harmless when not open."""
            if self._is_open:
                self.abandon()
                self._give_up()

        def abandon(self) -> None:
            """Stop, and keep nothing. Harmless when not open."""
            if not self._is_open:
                return
            was_recording, self._is_open = self._is_recording, False
            running: Any = self.profiler
            if was_recording and get_ident() == self._thread:
                self._end_step()
                running.__exit__(None, None, None)
            self._is_recording = False
            self.is_given_up = True

        def _end_step(self) -> None:
            if self.step_rec_fn:
                self.step_rec_fn.__exit__(None, None, None)
                self.step_rec_fn = None

        def _give_up(self) -> None:
            self.is_given_up = True
            self._capture.window_lost()

        def save(self, path: str) -> None:
            """Write Kineto's own text; once for each window."""
            super().export_chrome_trace(path)

        def export_chrome_trace(self, path: str, *args: Any, **keywords: Any) -> Any:
            if self._export is not None:
                return self._export.write_to(path)
            if self.is_given_up:
                raise RuntimeError(_GIVEN_UP)
            return super().export_chrome_trace(path, *args, **keywords)

    Profiler.__name__ = Profiler.__qualname__ = "profile"
    return Profiler
