"""A recording that waits until `tb-dataplugin attach` asks for it, and then for the next time.

Who asks leaves a file in the folder of the run. At a batch this process looks for it, at most four times a second.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Final

from annotate.capture import session
from annotate.capture.standing import Standing
from annotate.capture.torch_profiler import another_is_open
from annotate.launch.notes import Notes, State
from annotate.launch.order import Order
from annotate.launch.recording import THEIRS, Recording
from annotate.launch.turns import Source
from annotate.launch.waiting import longest_warm_up
from annotate.recording import boundaries
from annotate.trace_format import StepSource

_LOOK_EACH_S: Final = 0.25
_MOST_STEPS: Final = 100_000
_FIRST_STEP_S: Final = 5.0
"""For which the first whole step is waited for beside the seconds that were asked for, at most."""
_SHORT: Final = 0.8
"""Of these seconds: a shorter window makes its reader wonder."""


class Standby(Recording):
    """Records whenever it is asked to."""

    def __init__(self, order: Order, standing: Standing, notes: Notes) -> None:
        super().__init__(order, standing, notes)
        assert order.folder is not None
        self._file: Final = order.folder / f"{os.getpid()}.ask"
        self._look_at = 0.0
        self._opened = 0.0
        self._logdir = order.logdir

    @property
    def _first(self) -> Callable[[Source], None]:
        return self._idle

    @property
    def _chooses_length(self) -> bool:
        return False  # seconds were asked for

    @property
    def _most_steps(self) -> int:
        return _MOST_STEPS

    def _idle(self, epoch: Source) -> None:
        boundaries.took_batch()
        now = perf_counter()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_EACH_S
        if not self._file.exists():
            return
        facts = json.loads(self._file.read_text())
        self._file.unlink()
        self._asked_s, self._logdir = float(facts["seconds"]), Path(facts["logdir"])
        self.notes.state = "waiting"
        if session.is_on() or another_is_open():
            self._end("nothing", THEIRS)
        else:
            self._opened = 0.0
            self._prepare(longest_warm_up(self._taken(epoch).prefetched))

    def _is_enough(self, source: StepSource, times: list[int]) -> bool:
        """The seconds count from the first whole step on: the one before it may have the end of an epoch in it."""
        now = perf_counter()
        self._opened = self._opened or now
        begins = self._opened
        if source == "optimizer":
            begins = max(begins, min(times[1] / 1e9, begins + _FIRST_STEP_S))
        return now >= begins + (self._asked_s or 0.0)

    def _write(self, logdir: Path) -> None:
        super()._write(self._logdir)

    def _notes_of_window(self, times: list[int]) -> list[str]:
        whole = (times[-1] - times[0]) / 1e9 if len(times) > 1 else 0.0
        recorded = perf_counter() - self._opened if self._opened else 0.0
        self.notes.shortened = shorter_than_asked(self._asked_s or 0.0, whole, recorded)
        return []

    def _end(self, state: State, reason: str = "") -> None:
        """Of this window: the next one may be asked for."""
        self._stop()
        if self._others is not None:
            self._others.begin()
        self.notes.state, self.notes.reason = state, reason
        self.notes.write()
        self._then = self._idle


def shorter_than_asked(asked: float, whole: float, recorded: float) -> str:
    """Why a window has only so much of what `attach` asked for; "" where it has most of it.

    Args:
        whole: its steps, in seconds.
        recorded: from when it opened to when it closed.
    """
    if whole >= _SHORT * asked:
        return ""
    window = f"The window has {whole:.3g} s of the {asked:g} s that `tb-dataplugin attach` asked for"
    if recorded < asked:
        return f"{window}: the program ended."
    return (
        f"{window}: only whole steps count, and the first and the last step, which were under way as recording began "
        "and ended, took the rest, with the end of an epoch or an evaluation where one was in them. Ask for more "
        "--seconds."
    )
