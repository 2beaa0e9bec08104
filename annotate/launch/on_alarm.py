"""Windows that a watched run records by itself, when step time or data wait has left its usual range."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Final

from annotate.capture import guest, session, standing
from annotate.capture.torch_profiler import another_is_open
from annotate.launch.notes import Notes, State
from annotate.launch.order import ACTIVE, Order
from annotate.launch.recording import Recording
from annotate.launch.waiting import LEAD, longest_warm_up
from annotate.whole_run.recorder import Recorder
from annotate.whole_run.series import Event

MOST: Final = 3
"""Windows of one run."""
BETWEEN_S: Final = 300.0
_BEFORE: Final = 3
"""Batches of an epoch that are recorded with the beginning of the next one."""


class AlarmRecording(Recording):
    """One window; says what came of it to whoever asked."""

    def __init__(
        self, order: Order, standing: standing.Standing, ended: Callable[[AlarmRecording, State, str], None]
    ) -> None:
        super().__init__(order, standing, Notes(None))
        self._ended: Final = ended

    def give_up(self, why: str) -> None:
        """Harmless when it is over."""
        if self.notes.state in ("waiting", "recording"):
            self._end("nothing", why)

    def close(self) -> None:
        """The run is over: what was recorded until now is written."""
        self._close()

    def _end(self, state: State, reason: str = "") -> None:
        was_on = self.notes.state in ("waiting", "recording")
        super()._end(state, reason)
        if was_on:
            guest.receive(None)
            self._standing.workers.on_exit = None
            self._ended(self, state, reason)

    def _say(self) -> None:
        """The run's file says it."""


class AlarmWindows:
    """At most `most` in a run, `between_s` apart, never beside another profiler; a `recorder.Windows`."""

    def __init__(self, recorder: Recorder, most: int = MOST, between_s: float = BETWEEN_S) -> None:
        self._recorder: Final = recorder
        self._left = most
        self._between_s = between_s
        self._not_before = 0.0
        self._recording: AlarmRecording | None = None
        self._number = 0

    def happened(self, number: int, event: Event) -> None:
        """Begin to record, or say in the file why not."""
        why = self._why_not()
        if why:
            self._note(number, missed=why)
            return
        stands = standing.install()
        if stands is None:
            return
        self._number = number
        order = Order(logdir=self._recorder.logdir, wait=self._batches_until(event, stands), active=ACTIVE)
        self._recording = AlarmRecording(order, stands, self._ended)
        self._recording.begin()

    def end(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.close()

    def _why_not(self) -> str:
        stands = standing.current()
        if not self._left:
            return "the run has recorded all the windows that it may"
        if self._recording is not None:
            return "another window is being recorded"
        if monotonic() < self._not_before:
            return f"the latest window is less than {self._between_s:.0f} s ago"
        if session.is_on() or another_is_open():
            return "the program's own profiler was at work"
        if stands is not None and stands.workers.on_any_batch is not None:
            return "`tb-dataplugin run` or `attach` records this program"
        return ""

    def _batches_until(self, event: Event, stands: standing.Standing) -> int:
        """0: at once. What was slow is an epoch's beginning: until shortly before the next one."""
        if event.what != "first batch" or event.length is None:
            return 0
        settings = self._recorder.loaders.settings[event.loader]
        warm_up = longest_warm_up(settings.get("num_workers", 0) * settings.get("prefetch_factor", 0))
        return max(0, event.length - warm_up - LEAD - _BEFORE)

    def _ended(self, recording: AlarmRecording, state: State, reason: str) -> None:
        if self._recording is recording:
            self._recording = None
        files = recording.notes.files
        if files:
            self._left -= 1
            self._not_before = monotonic() + self._between_s
            self._note(self._number, capture=Path(files[-1]).name)
        else:
            self._note(self._number, missed=reason or "the run ended before the window was recorded")

    def _note(self, number: int, **what: str) -> None:
        self._recorder.note({"kind": "capture", "event": number, **what})
