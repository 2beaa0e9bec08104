"""`profile`: torch.profiler around a training loop, with our defaults, hooks and file."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from annotate.capture import guest, sentences, standing
from annotate.capture.handing_over import Weighing
from annotate.capture.own_time import OwnTime
from annotate.capture.serving import Serving
from annotate.capture.session import Session, is_on
from annotate.capture.steadiness import Loop, before_us, fewest_of, schedule_of, shortened_by
from annotate.capture.steps import Steps
from annotate.capture.torch_profiler import Export, another_is_open
from annotate.capture.users_code import UsersCode
from annotate.capture.window import Window, names_handed_out
from annotate.needs_torch import need_torch
from annotate.options import Active, CaptureOptions, Lines, Wait, WorkerLimits, absolute, is_first_rank
from annotate.recording import callers, switch
from annotate.saying import deliver, guard, has_reported, report_fault, tell
from annotate.signals import came_by_a_signal
from annotate.trace import writer
from annotate.trace_format import PipelineMetadata
from annotate.whole_run import current as whole_run

if TYPE_CHECKING:
    from torch.profiler import ProfilerAction

B = TypeVar("B")


def profile(
    logdir: str | os.PathLike[str],
    *,
    wait: Wait = "auto",
    warmup: int = 2,
    active: Active = "auto",
    repeat: int = 1,
    host_sample_ms: int = 100,
    lines: Lines = True,
    watch: bool = False,
    workers: WorkerLimits | None = None,
    headspace: int = 0,
    verdict: bool = True,
    **torch_profiler_keywords: Any,
) -> Profile:
    """Record some steps of a training loop, and write one trace file per window into `logdir`.

        with annotate.profile("runs/exp1") as prof:
            for batch in prof.steps(loader):
                train_step(batch)

    Args:
        logdir: folder of the run; created when it does not exist.
        wait: steps before each window. "auto": until prefetched batches are used up and the step time has settled.
        warmup: steps thrown away while the profiler starts; with ``wait="auto"``, on one rank, until queues settle.
        active: steps recorded. "auto": 10; with ``wait="auto"``, on one rank, more short ones or fewer large ones.
        repeat: windows to record; 0 goes on until the loop ends.
        host_sample_ms: between samples of the host in a window (Linux); 0: none, nor of threads' waits.
        lines: sample Python stacks while a window is open, so that the report names the hot lines of code (Linux).
            "native": also what runs below them, which needs py-spy and slows the program down while a window is open.
        watch: from entering on also record the whole run, as `annotate.watch` does.
        workers: what each DataLoader worker may use while it records.
        headspace: steps after the last window that get copies of batches: what could the loop do without its loader?
        verdict: say the report's verdict in the line at the end, which takes about a second (3 s at most).
        torch_profiler_keywords: as torch's. `schedule` replaces the four counts; `on_trace_ready` comes after our file.

    Raises:
        ValueError: a count is out of range, or no window is known to be the last, after which `headspace` comes.
        OSError: (on entering) the folder cannot be written.
        RuntimeError: (on entering) another capture is on, or another profiler of torch prepares or records.

    Once entered, it raises nothing of its own into the loop. Another profiler that begins later ends our window, an
    internal error the capture; either is one warning.
    """
    need_torch("profile")
    options = CaptureOptions(
        logdir=absolute(logdir),
        wait=wait,
        warmup=warmup,
        active=active,
        repeat=repeat,
        host_sample_ms=host_sample_ms,
        lines=lines,
        watch=watch,
        workers=workers or WorkerLimits(),
        headspace=headspace,
        verdict=verdict,
    )
    sentences.check_headspace(headspace, torch_profiler_keywords)
    return Profile(options, **torch_profiler_keywords)


class Profile:
    """A capture; see `profile`. What is not defined here (``key_averages``, ``events``) is torch's profiler's."""

    def __init__(
        self,
        options: CaptureOptions,
        *,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], object] | None = None,
        notes: tuple[str, ...] = (),
        loaders: tuple[object, ...] = (),
        further: Callable[[], PipelineMetadata] = PipelineMetadata,
        **torch_profiler_keywords: Any,
    ) -> None:
        import torch.profiler

        from annotate.capture.own_profiler import Profiler

        self.options: Final = options
        self.trace_files: Final[list[str]] = []
        """Paths of the files written so far, oldest first."""
        self._entered = self._at_exit = False
        self._own_schedule = schedule is None
        self._schedule = schedule_of(options, self._look, lambda: self._torch) if schedule is None else None
        self._users_code: Final = UsersCode()
        self._torch: Any = Profiler(
            self,
            schedule=self._schedule if schedule is None else self._users_code.known(schedule),
            on_trace_ready=None if on_trace_ready is None else self._users_code.known(on_trace_ready),
            **torch_profiler_keywords,
        )
        action = torch.profiler.ProfilerAction
        self._recording_actions: Final = (action.RECORD, action.RECORD_AND_SAVE)
        self._last_action: Final = action.RECORD_AND_SAVE
        self._pid = os.getpid()
        self._session = Session(options.workers)
        self.own_time: Final = OwnTime()
        self.weighing: Final = Weighing(further)
        self._window = Window(
            self._session,
            host_sample_ms=options.host_sample_ms,
            lines=options.lines,
            mode=options.mode,
            weighs_profiler=options.mode == "train",
            own_us=self.own_time.before_us,
            notes=notes,
            loaders=loaders,
            further=self.weighing.record,
        )
        self._has_failed = False
        self.headspace: Final = Serving(options.headspace)
        self._steps = self._postponed = self._windows = self._window_began = 0
        self._in_window = False
        self.loops = 0
        self.is_broken_off = False
        self._said: set[str] = set()
        self._renamed: dict[str, str] = {}

    def _look(self) -> Loop:
        """At the loop, for a schedule that waits until it is steady."""
        return self._session.loop() if self._entered else Loop(0, 0, None)

    def __enter__(self) -> Profile:
        if self._entered:
            raise RuntimeError("this annotate.profile was entered before: create a new one for another capture")
        guest.give_way(sentences.USES_OURS)
        if is_on() and not standing.is_recording():
            raise RuntimeError(sentences.RECORDING_ALREADY)
        is_other_open = False
        with guard("annotate.profile could not check for another torch.profiler"):
            is_other_open = another_is_open()
        if is_other_open:
            raise RuntimeError(sentences.OTHER_IS_OPEN)
        try:
            writer.check_writable(self.options.logdir)
            standing.give_way()
            self._session.begin(reports_again=not standing.is_broken())
            self._window.begin()
            self._torch.others.install(self._session.patches)
            self._torch.__enter__()
            self._entered = True
            self._follow_schedule()
            whole_run.begin_beside(self.options)
            atexit.register(self._close_at_exit)
        except BaseException as error:
            self._stop()
            if isinstance(error, OSError) or not isinstance(error, Exception) or self._users_code.has_raised(error):
                self._entered = False
                raise
            self._entered = True
            self._fail(error)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        switch.set_recording(False)
        cut_to = self._recorded_so_far()
        self._entered = False
        atexit.unregister(self._close_at_exit)
        self.headspace.end()
        try:
            if not self._has_failed:
                self._catch_up()
                self._close_window()
                self._torch.__exit__(exc_type, exc, traceback)
        except Exception as error:
            if not self._users_code.has_raised(error):
                self._fail(error)
            elif exc is None:
                raise
            self._has_failed = True
        finally:
            self._stop()
        if self.trace_files and self.options.mode == "train" and is_first_rank():
            asks = exc is None and self.options.verdict and not self._at_exit
            sentences.say_written(self.trace_files, self.options.logdir, shortened_by(self._schedule), asks=asks)
        if exc is None and not self._has_failed:
            if cut_to is not None:
                tell(sentences.cut_short(fewest_of(self._schedule, self.options), cut_to), UserWarning)
            if not self._windows:
                tell(sentences.nothing_recorded(self.options, self._steps, self._own_schedule), UserWarning)
            elif len(self.trace_files) == self._windows:  # else it was said why one is lost
                self.headspace.say_missing()

    def _stop(self) -> None:
        """End everything that was begun, whatever fails of it; each end may be called again."""
        interrupt: BaseException | None = None
        for end in (*self._window.ends, self._torch.abandon, self._session.end):
            try:
                end()
            except BaseException as error:  # Ctrl-C as well: what is left behind would stay for good
                interrupt = interrupt if isinstance(error, Exception) else error
                with suppress(Exception):
                    end()
        if interrupt is not None:
            raise interrupt

    def _fail(self, error: Exception) -> None:
        """A fault of ours: the capture ends, and the training goes on."""
        if not self._has_failed:
            self._has_failed = True
            report_fault(sentences.stopped(error))
            self._stop()

    def step(self) -> None:
        """Say that a training step has ended. Raises: RuntimeError: outside of the ``with`` block."""
        self._need_entered("step")
        if self.loops:
            self._say(sentences.STEPPED_TWICE)
        self.advance()

    def advance(self) -> None:
        self._need_entered("step")
        self.own_time.step_ends(self._session.workers.batches)
        self.is_broken_off = False
        if self._has_failed:
            return
        self._postponed += 1
        if self.headspace.is_timing:  # after the last window: the profiler's own steps can wait
            return
        self._catch_up()

    def _catch_up(self) -> None:
        try:
            while self._postponed:
                self._postponed -= 1
                self._advance()
        except Exception as error:
            if self._users_code.has_raised(error):
                raise
            self._fail(error)

    def _advance(self) -> None:
        switch.set_recording(False)
        deliver()
        callers.saw_step()
        self._steps += 1
        if self._in_window and self._torch.current_action == self._last_action:
            self._torch.end_step()  # closing the window takes some milliseconds, which are no part of its last step
            self._close_window()
        self._torch.step()
        self._follow_schedule()

    def steps(self, loader: Iterable[B]) -> Steps[B]:
        """The batches of `loader`, each wait for one in a `wait` span, and `step` called after each.

        A loader that was not annotated is timed until the capture ends. Do not call `step` yourself as well.

        Raises:
            RuntimeError: outside of the ``with`` block.
            TypeError: `loader` cannot be iterated.
        """
        self._need_entered("steps")
        if not hasattr(type(loader), "__iter__") and not hasattr(type(loader), "__getitem__"):
            raise TypeError(sentences.no_loader(loader))
        try:
            self._session.step_by(loader)
        except Exception as error:
            if came_by_a_signal(error):
                raise
            self._fail(error)
        return Steps(self, loader)

    def follow_all(self) -> None:
        """Before it is entered: follow every DataLoader that is iterated in the capture, whether annotated or not."""
        self._session.follows_all = True

    def leave_out_step(self, why: str = "end of the data") -> None:
        """Leave out the step that has just begun, by default because there is no batch left for it."""
        self._renamed[f"ProfilerStep#{self._torch.step_num}"] = f"annotate: {why}"

    def step_by(self, loader: object) -> None:
        """Let `loader`'s batches drive the steps, as `steps` does, where somebody else iterates it."""
        with guard("annotate.profile does not know which DataLoader the steps are of"):
            self._session.step_by(loader)

    def __getattr__(self, name: str) -> Any:
        if name == "_torch":
            raise AttributeError(name)
        return getattr(self._torch, name)

    def _need_entered(self, method: str) -> None:
        if not self._entered:
            raise RuntimeError(f"prof.{method}() belongs inside `with annotate.profile(...) as prof:`")

    def _say(self, text: str, category: type[Warning] = UserWarning) -> None:
        """Warn about something, once."""
        if text not in self._said:
            self._said.add(text)
            tell(text, category)

    def _follow_schedule(self) -> None:
        """Set the flag to what torch's profiler does now."""
        self.weighing.is_due = self._torch.current_action.name == "WARMUP"
        self.own_time.is_untouched = self._torch.current_action.value == 0 and not self._torch.is_trying  # NONE
        switch.set_at_work(self._torch.is_at_work)
        if self._torch.current_action in self._recording_actions and not self._torch.is_given_up:
            if self._in_window:
                self._window.look_around()
            switch.set_recording(True)

    def window_opens(self) -> None:
        """Begin all that lasts for a window; called by torch's profiler, so that it is part of no step."""
        self._in_window = True
        self._windows += 1
        self._window_began = self._steps
        self._window.open()

    def _recorded_so_far(self) -> int | None:
        """Steps of the window that is open, where they are fewer than were asked for.

        The step that the loop is in is not counted, and may be the last one: nothing is missing then.
        """
        count = self._steps - self._window_began
        is_short = self._own_schedule and count < fewest_of(self._schedule, self.options) - 1
        return count if self._in_window and is_short else None

    def _close_window(self) -> None:
        self._window.close(is_last=self._own_schedule and self._windows == self.options.repeat)

    def save(self, profiler: Any) -> Export | None:
        """Write the window that torch's profiler has just recorded; called by it."""
        self._in_window = False
        try:
            self._close_window()
            recorded, names = self._window.recorded(), names_handed_out(self._renamed)
            recorded.before_us = before_us(self._schedule)
            if window := shortened_by(self._schedule):
                recorded.notes.append(sentences.shorter_window(window))
            path = writer.write_trace(profiler.save, self.options.logdir, names, recorded.metadata, recorded.rows)
        except Exception as error:
            if came_by_a_signal(error):
                raise
            say_so = tell if isinstance(error, OSError) else report_fault  # a full disk is not our fault, and news
            say_so(sentences.not_written(self.options.logdir, error))
            return None
        self.trace_files.append(str(path))
        guest.wrote(str(path))
        for note in () if has_reported() else recorded.missing:  # a fault that was reported is why
            tell(f"annotate.profile: {note}")
        if paused := sentences.stood_still(perf_counter() - profiler.stopped_at):
            tell(f"annotate.profile: {paused}. {sentences.fewer_steps(fewest_of(self._schedule, self.options))}")
        if self._own_schedule and self._windows == self.options.repeat:
            self.headspace.begin(path, self._session.loop().prefetched)
        return Export(Path(path))

    def window_lost(self) -> None:
        """Another profiler has begun; called by torch's."""
        switch.set_recording(False)
        self._in_window = False
        self._windows += 1
        self._close_window()
        self._say(sentences.GAVE_WAY, RuntimeWarning)

    def _close_at_exit(self) -> None:
        """The program ends without having left the ``with`` block."""
        if self._entered and os.getpid() == self._pid:
            self._at_exit = True
            self.__exit__(None, None, None)
