"""`annotate.watch`: the whole run, always on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, TypeVar

from annotate import marks
from annotate.capture import standing
from annotate.launch.on_alarm import MOST, AlarmWindows
from annotate.needs_torch import need_torch
from annotate.options import absolute
from annotate.saying import guard, in_short
from annotate.whole_run import current
from annotate.whole_run.recorder import INTERVAL_S, Recorder

L = TypeVar("L")
VARIABLE: Final = "ANNOTATE_WATCH"
_SHORTEST_S: Final = 0.1


def watch(
    loader: L | None = None,
    logdir: str | os.PathLike[str] | None = None,
    *,
    interval_s: float = INTERVAL_S,
    captures: int = MOST,
    prints: bool = False,
) -> L | None:
    """Record the whole run, cheaply: step time, data wait, stages, DataLoader workers, memory, into `logdir`.

        annotate.watch(loader, logdir="runs/exp1")
        for batch in loader: ...

    Each interval becomes a line of ``<host>_<pid>.<ns>.watch.jsonl`` (bounded: old intervals are merged) and points of
    TensorBoard's Scalars. When step time or data wait leaves its usual range, a window is recorded by itself, as
    `profile` would, unless another profiler is at work. `tb-dataplugin report` shows both.

    The process's end and `annotate.off` end it. A second call ends the first. Whatever it meets (a full disk, a fault
    of ours) ends the recording with one warning, and never the training.

    Args:
        loader: a DataLoader, given to `annotate.loader`. All DataLoaders that are iterated from now on are recorded;
            with None they are followed as by `annotate.auto`.
        logdir: folder of the run; created when it does not exist. None: what ``ANNOTATE_WATCH`` says.
        interval_s: seconds that one line sums up.
        captures: windows to record at most; at least five minutes lie between two.
        prints: also write a line of each interval to stderr.

    Returns:
        `loader`, the very same object.

    Raises:
        TypeError: `loader` is no DataLoader and holds none.
        ValueError: there is no `logdir`, or a number is out of range.
    """
    need_torch("watch")
    if isinstance(loader, (str, os.PathLike)):
        raise TypeError(
            f"annotate.watch takes a DataLoader first, not {in_short(loader)}. Did you mean "
            f"annotate.watch(logdir={os.fspath(loader)!r})?"
        )
    folder = os.environ.get(VARIABLE) if logdir is None else logdir
    if not folder:
        raise ValueError('annotate.watch needs a folder: annotate.watch(loader, logdir="runs/exp1")')
    if isinstance(interval_s, bool) or not isinstance(interval_s, (int, float)) or not interval_s >= _SHORTEST_S:
        raise ValueError(f"annotate.watch: interval_s must be {_SHORTEST_S} seconds or more, not {interval_s!r}")
    if type(captures) is not int or captures < 0:
        raise ValueError(f"annotate.watch: captures must be a number of windows, 0 or more, not {captures!r}")
    if loader is None:
        marks.auto()
    else:
        marks.loader(loader)
    record(absolute(folder), float(interval_s), captures, prints=bool(prints))
    return loader


def record(logdir: Path, interval_s: float = INTERVAL_S, captures: int = MOST, prints: bool = False) -> None:
    """Begin to record the loaders that are iterated from now on; what fails is one warning."""
    with guard("annotate.watch does not record the run"):
        standing.stand()
        recorder = Recorder(logdir, interval_s, prints)
        if captures:
            recorder.windows = AlarmWindows(recorder, captures)
        current.begin(recorder)


def watch_by_environment() -> None:
    """A DataLoader is about to be iterated: do what ``ANNOTATE_WATCH`` says, unless the program watches itself."""
    if os.environ.get(VARIABLE) and current.current() is None:
        watch()
