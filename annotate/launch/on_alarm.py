"""Windows that a watched run records by itself, when step time or data wait has left its usual range."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic, time
from typing import Final

from annotate.capture import guest, session, standing
from annotate.capture.torch_profiler import another_is_open
from annotate.launch.notes import Notes, State
from annotate.launch.order import ACTIVE, Order
from annotate.launch.recording import Recording, settled
from annotate.launch.waiting import LEAD, longest_warm_up
from annotate.whole_run.recorder import Recorder
from annotate.whole_run.series import Event
from annotate.whole_run.tally import Facts

MOST: Final = 3
"""Windows of one run."""
BETWEEN_S: Final = 300.0
_NO_STEP: Final = "the run ended before the window had a whole step"
_BEFORE: Final = 3
"""Batches of an epoch that are recorded with the beginning of the next one."""


class AlarmRecording(Recording):
    """One window; says what came of it to whoever asked."""

    def __init__(
        self, order: Order, standing: standing.Standing, ended: Callable[[AlarmRecording, State, str], None]
    ) -> None:
        super().__init__(order, standing, Notes(None))
        self._ended: Final = ended
        self.began: float | None = None
        """Seconds since 1970: from then on the loop also does what recording takes."""

    def _prepare(self, warm_up: int) -> None:
        self.began = time()
        super()._prepare(warm_up)

    def _wrote(self, path: Path, began: float) -> None:
        """The run's file says it with the event, in `AlarmWindows`."""
        self.notes.files.append(str(path))

    def give_up(self, why: str) -> None:
        """Harmless when it is over."""
        if self.notes.state in ("waiting", "recording"):
            self._end("nothing", why)

    def close(self) -> None:
        """The run is over: what was recorded until now is written."""
        self._close()

    def _write(self, logdir: Path) -> None:
        """Without a whole step there is no file: that shows the loop's end, and whatever the program does then."""
        window = self._standing.window
        if window is not None and len(settled(*window.boundaries(), self._most_steps)[1]) < 2:
            self._end("nothing", _NO_STEP)
        else:
            super()._write(logdir)

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
    """At most `most` in a run, `between_s` apart, never beside another profiler; a `recorder.Windows`.

    A stall is over before its window opens, a slow time is not: the last window is kept for one, and it waits for none
    that a stall has had.
    """

    def __init__(self, recorder: Recorder, most: int = MOST, between_s: float = BETWEEN_S) -> None:
        self._recorder: Final = recorder
        self._left = most
        self._kept = 1 if most > 1 else 0
        """Windows that no stall may have."""
        self._between_s = between_s
        self._not_before = {"stall": 0.0, "slow": 0.0}
        self._recording: AlarmRecording | None = None
        self._events: dict[int, str] = {}
        """What the window is of: number and change."""

    def happened(self, number: int, event: Event) -> None:
        """Begin to record, or say in the file why not."""
        if event.change == "slow" and self._is_recorded_now():
            self._events[number] = event.change
            return
        why = self._why_not(event.change)
        if why:
            self._note(number, missed=why)
            return
        stands = standing.install()
        if stands is None:
            return
        self._events = {number: event.change}
        order = Order(logdir=self._recorder.logdir, wait=self._batches_until(event, stands), active=ACTIVE)
        self._recording = AlarmRecording(order, stands, self._ended)
        self._recording.begin()

    def end(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.close()

    def _is_recorded_now(self) -> bool:
        """Whether a window of what was a stall at first shows the slow time that follows."""
        return self._recording is not None and self._recording.began is not None

    def _why_not(self, change: str) -> str:
        stands = standing.current()
        if not self._left:
            return "the run has recorded all the windows that it may"
        if change == "stall" and self._left <= self._kept:
            return "the run's last window is kept for a slow time"
        if self._recording is not None:
            return "another window is being recorded"
        if monotonic() < self._not_before[change]:
            return f"the latest window is less than {self._between_s:.0f} s ago"
        if session.is_on() and not standing.is_recording():
            return "the loop was inside of an annotate.profile, which records its own windows"
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
            self._not_before.update(dict.fromkeys({"stall", *self._events.values()}, monotonic() + self._between_s))
            facts: Facts = {"capture": Path(files[-1]).name}
            if recording.began is not None:
                facts["from"] = round(recording.began, 3)
        else:
            facts = {"missed": reason or "the run ended before the window was recorded"}
        for number in self._events:
            self._note(number, **facts)

    def _note(self, number: int, **facts: object) -> None:
        self._recorder.note({"kind": "capture", "event": number, **facts})
