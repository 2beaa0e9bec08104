"""The profiler that a capture runs. Imports torch: only once a capture is made.

What it must know of other profilers stands in `torch_profiler`.
"""

from __future__ import annotations

from _thread import get_ident
from time import perf_counter, time
from typing import Any, Final, Protocol

import torch.profiler

from annotate.capture.steadiness import Pause
from annotate.capture.torch_profiler import Export, OtherProfilers, results_are_whole, unwarned
from annotate.own_objects import uncounted
from annotate.recording import recording_time, switch
from annotate.saying import guard
from annotate.signals import undisturbed
from annotate.whole_run import current as whole_run

_RECORDING: Final = (torch.profiler.ProfilerAction.RECORD, torch.profiler.ProfilerAction.RECORD_AND_SAVE)

_GIVEN_UP: Final = (
    "no trace to export: annotate.profile stopped recording this window when another torch.profiler began"
)
_NO_TRIAL: Final = "annotate does not know how long the program will pause for its trace"
WHOLE: Final = 2.4
"""The pause that each event of a window adds, in times of what torch's end of the profiler takes for it in a trial. It
was measured: 1.9, 2.3, 3.1 (docs/lines.md).
"""


class Capture(Protocol):
    """Whom a profiler of ours works for."""

    def window_opens(self) -> None:
        """Recording has begun, and the first step of the window has not."""

    def save(self, profiler: Any) -> Export | None:
        """Write the window that has just been recorded; None when that failed, which is said there."""

    def window_lost(self) -> None:
        """Another profiler has begun: this window will not be recorded."""


class Profiler(torch.profiler.profile):
    """A profiler of torch that gives way to others, and whose exports carry our rows. The user's handler gets it."""

    def __init__(self, capture: Capture, **keywords: Any) -> None:
        self._capture = capture
        self._export: Export | None = None
        self._is_open = self._is_recording = False
        self.is_trying = False
        """What it records is a trial."""
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

    def begin_trial(self) -> None:
        """Record a step that is thrown away, for what its events cost: those of an open window are not counted."""
        if self._is_open or self.others.is_one_open or self._would_notice:
            return
        self.profiler = None
        switch.disturb()
        with recording_time.taken(), guard(_NO_TRIAL), undisturbed(), unwarned(), uncounted():
            super().prepare_trace()
            self._is_open, self._thread = True, get_ident()
            super().start_trace()
            self._is_recording = self.is_trying = True

    @property
    def is_at_work(self) -> bool:
        """Whether it prepares or records, or another profiler does: steps take longer than without."""
        in_window = self.current_action != torch.profiler.ProfilerAction.NONE and not self.is_given_up
        return in_window or self.is_trying or self.others.is_one_open

    @property
    def _would_notice(self) -> bool:
        """Whether the program would find a step more in what it has asked of the profiler."""
        return bool(getattr(self, "acc_events", False) or getattr(self, "execution_trace_observer", None))

    def end_trial(self) -> Pause | None:
        """What that step's events cost; None where none was recorded. Harmless when there is no trial."""
        if not self.is_trying or get_ident() != self._thread:
            return None
        pause = None
        switch.disturb()
        with guard(_NO_TRIAL):
            began = perf_counter()
            with recording_time.taken(), undisturbed():
                self._is_open = self._is_recording = self.is_trying = False
                super().stop_trace()
            seconds = perf_counter() - began
            results = getattr(self.profiler, "kineto_results", None)
            if results is not None and results_are_whole(self.profiler):
                pause = Pause(events=len(results.events()), seconds=seconds * WHOLE)
        self.profiler = None
        return pause

    def prepare_trace(self) -> None:
        self.is_given_up = False
        self.stopped_at, self.began = perf_counter(), time()
        if self.others.is_one_open:
            self._give_up()
            return
        self._export = None
        with recording_time.taken(), undisturbed(), unwarned():
            super().prepare_trace()
            self._is_open, self._thread = True, get_ident()

    def start_trace(self) -> None:
        if self.is_given_up:
            return
        with recording_time.taken(), undisturbed():
            super().start_trace()
            self._is_recording = True
            if self.current_action in _RECORDING:  # else it ends at once: the loop ended in the warm-up
                self._capture.window_opens()

    def stop_trace(self) -> None:
        if self.is_given_up:
            return
        self.stopped_at = perf_counter()
        with recording_time.taken(), undisturbed():
            self._is_open = self._is_recording = False
            super().stop_trace()
        if not results_are_whole(self.profiler):
            self._give_up()

    def _trace_ready(self) -> None:
        if self.is_given_up:
            return
        with recording_time.taken():
            self._export = self._capture.save(self)
        if self._export is not None:
            whole_run.recorded(self._export.file, self.began)
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def give_way(self) -> None:
        """Another profiler begins: stop, before it destroys what Kineto has of ours. Harmless when not open."""
        if self._is_open:
            with undisturbed():
                has_window = not self.is_trying
                self.abandon()
                if has_window:
                    self._give_up()

    def abandon(self) -> None:
        """Stop, and keep nothing. Harmless when not open."""
        if not self._is_open:
            return
        was_recording, self._is_open = self._is_recording, False
        running: Any = self.profiler
        if was_recording and get_ident() == self._thread:
            with recording_time.taken():
                self.end_step()
                running.__exit__(None, None, None)
        elif not was_recording and running is not None:
            running.entered = False  # prepared, never begun: until it is collected it would look open to others
        self._is_recording = self.is_trying = False
        self.is_given_up = True

    def end_step(self) -> None:
        """End the step's span, if one is open, before `step` does."""
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
        with recording_time.taken():
            return super().export_chrome_trace(path, *args, **keywords)


def activities_in_use() -> list[torch.profiler.ProfilerActivity]:
    """Of the devices that the program has in use: to ask for another would start its driver."""
    found = [torch.profiler.ProfilerActivity.CPU]
    for name in ("cuda", "xpu"):
        device = getattr(torch, name, None)
        if device is not None and device.is_initialized():
            found.append(getattr(torch.profiler.ProfilerActivity, name.upper()))
    return found


Profiler.__name__ = Profiler.__qualname__ = "profile"
