"""The run that is recorded in this process; one at a time."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from time import time
from typing import Final

from annotate.ending import at_end
from annotate.options import CaptureOptions
from annotate.saying import guard, one_line, tell
from annotate.whole_run.recorder import Recorder

_WATCH: Final = "annotate.launch.watch"
"""By its name: it records windows with what stands on this module."""

_recorder: Recorder | None = None
_ends_at_exit = False


def current() -> Recorder | None:
    return _recorder


def begin(recorder: Recorder) -> bool:
    """Record from now on, in place of another run; False, and a warning, where that cannot be."""
    global _recorder, _ends_at_exit
    end()
    try:
        recorder.begin()
    except OSError as error:
        tell(f"annotate.watch does not record: cannot write to {recorder.logdir}: {one_line(error)}")
        return False
    _recorder = recorder
    if not _ends_at_exit:
        _ends_at_exit = True
        at_end(end)
    return True


def begin_beside(options: CaptureOptions) -> None:
    """A capture begins: record the run as well where it asks for that, unless that is done already."""
    if options.watch and _recorder is None:
        with guard("annotate.profile does not record the whole run"):
            import_module(_WATCH).record(options.logdir)


def recorded(path: str | os.PathLike[str], began: float, ended: float | None = None) -> None:
    """A window is in a file: the run's says so. Seconds since 1970, from the profiler's warm-up on; until now for None.

    Not of windows that the run asked for, which its file says with their event.
    """
    if _recorder is not None:
        with guard("annotate.watch does not know of a window"):
            _recorder.recorded(Path(path), began, time() if ended is None else ended)


def end() -> None:
    """Record no more. Harmless when nothing is recorded."""
    global _recorder
    ours, _recorder = _recorder, None
    if ours is not None:
        with guard("annotate.watch left something behind"):
            ours.end()


def _after_fork() -> None:
    """What is recorded is the parent's."""
    global _recorder, _ends_at_exit
    ours, _recorder = _recorder, None
    _ends_at_exit = False
    if ours is not None:
        ours.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
