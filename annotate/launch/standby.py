"""A recording that waits until `tb-dataplugin attach` asks for it, and then for the next time.

Who asks leaves a file in the folder of the run. At a batch this process looks for it, at most four times a second.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

from annotate.capture import session
from annotate.capture.standing import Standing
from annotate.capture.torch_profiler import another_is_open
from annotate.launch.notes import Notes, State
from annotate.launch.order import Order
from annotate.launch.recording import THEIRS, Recording
from annotate.launch.turns import Source
from annotate.launch.waiting import longest_warm_up

_LOOK_EACH_S: Final = 0.25
_MOST_STEPS: Final = 100_000


class Asked(NamedTuple):
    """What `attach` asks for."""

    seconds: float
    logdir: Path


class Standby(Recording):
    """Records whenever it is asked to."""

    def __init__(self, order: Order, standing: Standing, notes: Notes) -> None:
        super().__init__(order, standing, notes)
        assert order.folder is not None
        self._file: Final = order.folder / f"{os.getpid()}.ask"
        self._look_at = 0.0
        self._until = 0.0
        self._asked: Asked | None = None

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
        now = perf_counter()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_EACH_S
        if not self._file.exists():
            return
        facts = json.loads(self._file.read_text())
        self._file.unlink()
        self._asked = Asked(float(facts["seconds"]), Path(facts["logdir"]))
        self.notes.state = "waiting"
        if session.is_on() or another_is_open():
            self._end("nothing", THEIRS)
        else:
            self._until = 0.0
            self._prepare(longest_warm_up(self._taken(epoch).prefetched))

    def _is_enough(self, boundaries: int) -> bool:
        now = perf_counter()
        if not self._until and self._asked is not None:
            self._until = now + self._asked.seconds
        return now >= self._until

    def _write(self, logdir: Path) -> None:
        super()._write(logdir if self._asked is None else self._asked.logdir)

    def _notes_of_window(self, steps: int) -> list[str]:
        return []

    def _end(self, state: State, reason: str = "") -> None:
        """Of this window: the next one may be asked for."""
        self._stop()
        if self._others is not None:
            self._others.begin()
        self.notes.state, self.notes.reason = state, reason
        self.notes.write()
        self._then = self._idle
