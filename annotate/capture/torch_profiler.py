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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import IO, Any, Final, cast

from annotate.hooks.patching import Patches
from annotate.recording import switch
from annotate.saying import guard

ALREADY_SAVED: Final = "Trace is already saved."
"""What torch says to a second export of a window."""
_DROPPED_EVENTS: Final = "Warning: Profiler clears events at the end of each cycle"


class Export:
    """The trace file of a window, for whoever exports the same window as well."""

    def __init__(self, file: Path) -> None:
        self.file: Final = file
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
        with self.file.open("rb") as packed, Path(path).open("wb") as sink:
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
                with guard("annotate.profile lost its window to another torch.profiler"):  # the user's must begin
                    self._give_way()
                self._open[id(profiler)] = weakref.ref(profiler)
                switch.set_at_work(True)
            return original(profiler, *args, **kwargs)

        return begin

    def _ending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def end(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(profiler, *args, **kwargs)
            finally:
                if self._open.pop(id(profiler), None) is not None:
                    switch.set_at_work(self.is_one_open)

        return end


@contextmanager
def unwarned() -> Iterator[None]:
    """Have torch not say that its profiler drops the events of each cycle, which ours has written by then.

    Up to torch 2.12 it says so before the first cycle as well. Of the module's two ways to warn only this text is held
    back: a filter of Python's warnings would be every thread's, and make others' warnings appear anew.
    """
    from torch.profiler import profiler

    with ExitStack() as stack:
        for name in ("warn", "_warn_once"):
            theirs = getattr(profiler, name, None)
            if theirs is not None:
                setattr(profiler, name, _all_but_dropped_events(theirs))
                stack.callback(setattr, profiler, name, theirs)
        yield


def _all_but_dropped_events(theirs: Callable[..., None]) -> Callable[..., None]:
    def warn(message: Any, *arguments: Any, **keywords: Any) -> None:
        if not str(message).startswith(_DROPPED_EVENTS):
            theirs(message, *arguments, **keywords)

    return warn


def another_is_open() -> bool:
    """True while any profiler of torch prepares or records, in any thread of this process.

    One that has prepared and not started shows nowhere but in its own attributes: all objects are looked through.
    """
    import torch
    from torch.autograd.profiler import profile

    is_enabled: Callable[[], bool] = getattr(torch.autograd, "_profiler_enabled", bool)
    if is_enabled():
        return True
    return any(issubclass(type(obj), profile) and is_open(obj) for obj in gc.get_objects())


def is_open(profiler: Any) -> bool:
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
