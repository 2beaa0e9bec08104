"""Records one window of a program that knows nothing of it, and writes one trace file.

Told of every batch that is handed out (`StandingWorkers.on_any_batch`), it runs torch's profiler around some of them;
the standing hooks put our rows into its window and its file, as they do for a profiler of the program's own. It begins
and ends in the middle of a wait, so one batch more is recorded at either end, and left out of the steps.
"""

from __future__ import annotations

import os
import sys
import threading
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import torch

from annotate.capture import guest, session
from annotate.capture.own_profiler import Profiler, activities_in_use
from annotate.capture.sentences import stood_still
from annotate.capture.standing import Standing
from annotate.capture.steadiness import Pause, steps_before, still_drains
from annotate.capture.torch_profiler import Export, another_is_open
from annotate.ending import at_end
from annotate.hooks import wrappers
from annotate.hooks.patching import Patches
from annotate.launch.loop_times import LoopTimes, TimesOfLoops, chosen_length
from annotate.launch.notes import Notes, State
from annotate.launch.order import ACTIVE, Order, rank
from annotate.launch.others import ITERATED, Others
from annotate.launch.turns import Source, Turns
from annotate.launch.waiting import LEAD, Taken, Waiting
from annotate.options import has_other_ranks
from annotate.saying import guard, one_line, shown, tell
from annotate.trace import writer
from annotate.trace_format import TAKEN_ELSEWHERE, StepSource
from annotate.whole_run import current as whole_run
from annotate.workers.standing import StandingWorkers

_LOST: Final = "annotate does not record this program"
THEIRS: Final = "the program's own profiler was at work"
_ELSEWHERE: Final = (
    "its batches are taken in threads of their own, and no optimizer of torch's tells which thread trains; pass the "
    "DataLoader to annotate.loader, and loop over annotate.profile's prof.steps(...) in the thread that trains"
)
_PRESUMED: Final = (
    "No optimizer of torch's stepped, so the thread that takes the batches is presumed to use them. If it only hands "
    "them on, what a step has beside its data wait is the time until they are wanted; to see that one, pass the "
    "DataLoader to annotate.loader, and loop over annotate.profile's prof.steps(...) in the thread that uses them."
)
_FED: Final = (
    f"{TAKEN_ELSEWHERE}, so how long the training waits for them is unknown: pass the DataLoader to "
    "annotate.loader, and loop over annotate.profile's prof.steps(...) in the thread that trains, to see it."
)
_ENDED: Final = "the thread that trained ended inside the window"
_TRIES: Final = 3
_BETWEEN_TRIES: Final = 10


class Recording:
    """One capture of this process: waits, warms up, records, writes. A `guest.Guest`, and a `own_profiler.Capture`."""

    def __init__(self, order: Order, standing: Standing, notes: Notes) -> None:
        self.notes: Final = notes
        self._order = order
        self._asked_s: float | None = None
        self._standing = standing
        self._active = ACTIVE if order.active == "auto" else order.active
        """Steps of the window; where lines say how many, known when it opens."""
        self._waiting = Waiting(order.wait, self._active)
        self._loops: Final = TimesOfLoops()
        self._times = LoopTimes(0)
        """Of the epoch whose batch is looked at, or that is recorded."""
        self._lengths: dict[int, int | None] = {}
        self._then: Callable[[Source], None] = self._first
        self._left = 0
        self._pause: Pause | None = None
        self._tries = 0
        self._thread = 0
        self._profiler: Profiler | None = None
        self._patches = Patches()
        self._pid = os.getpid()
        self._turns: Final = Turns(self._turn)
        self._epoch: Source | None = None
        self._current = Taken(0, 0, 0, None)
        """Of that epoch."""
        self._others: Others | None = None

    def begin(self) -> None:
        """Look at the batches from now on."""
        guest.receive(self)
        self._standing.workers.on_any_batch = self._turns.batch
        self._standing.workers.on_exit = self._close
        at_end(self._at_exit)
        self.notes.write()
        if session.is_on():
            self._end("nothing", THEIRS)

    def listen_to_others(self) -> None:
        """Take the batches of iterators that are none of torch's for the loop's, too."""
        if self._standing.workers.on_any_batch is not None:  # it has not ended
            self._others = Others(self._standing.workers, self._turns.batch)
            self._others.begin()

    def _turn(self, epoch: Source) -> None:
        """The thread that trains has got a batch, or with zero workers asks for it; or it has trained on one."""
        if self._profiler is not None and get_ident() != self._thread:  # two threads train
            return
        try:
            self._then(epoch)
        except BaseException as error:  # Ctrl-C as well: what is left behind would stay
            is_ours = isinstance(error, Exception)
            self._end("nothing", f"internal error: {one_line(error)}" if is_ours else "it was interrupted")
            with guard(_LOST):
                raise

    @property
    def _first(self) -> Callable[[Source], None]:
        """What begins a recording."""
        return self._wait

    def _wait(self, epoch: Source) -> None:
        self.notes.batches += 1
        if session.is_on():
            self._end("nothing", THEIRS)
            return
        if epoch is not self._epoch:
            self._epoch, self._current, self._times = epoch, self._taken(epoch), self._loops.of(epoch)
        self._times.taken.append(perf_counter())
        warm_up = self._waiting.warm_up(self._current)
        if warm_up is None:
            return
        if another_is_open():
            self._try_later()
        else:
            self._prepare(warm_up)

    def _taken(self, epoch: Source) -> Taken:
        if epoch is ITERATED:
            return Taken(epoch.loader, epoch.epoch, 0, None)
        number, loaders = epoch.loader, self._standing.workers.loaders
        settings = loaders.settings[number]
        if number not in self._lengths:
            self._lengths[number] = next(
                (session.length_of(each) for each in loaders.alive() if loaders.number_of(each) == number), None
            )
        prefetched = settings.get("num_workers", 0) * settings.get("prefetch_factor", 0)
        return Taken(number, epoch.epoch, prefetched, self._lengths[number])

    def _try_later(self) -> None:
        """A profiler that began before our hooks were in is open."""
        self._tries += 1
        if self._tries == _TRIES:
            self._end("nothing", THEIRS)
        self._waiting = Waiting(_BETWEEN_TRIES, self._active)

    def _prepare(self, warm_up: int) -> None:
        self._profiler = Profiler(self, activities=activities_in_use())
        self._profiler.others.install(self._patches)
        self._thread = get_ident()
        self._left, self._prepared = warm_up, len(self._times.taken)
        if not self._may_try(warm_up):
            self._prepare_window()
            return
        self._left += 1
        with self._known_as("trial"):
            self._profiler.begin_trial()
        self._then = self._end_trial

    def _may_try(self, warm_up: int) -> bool:
        """Whether a step is recorded for its events: the window's length is ours, and a batch can be spared."""
        length = self._current.length
        spare = length is None or length - len(self._times.taken) > warm_up + self._active + LEAD
        return self._chooses_length and spare

    @property
    def _chooses_length(self) -> bool:
        return self._order.active == "auto" and not has_other_ranks()

    def _end_trial(self, epoch: Source) -> None:
        if self._profiler is not None:
            with self._known_as("trial"):
                self._pause = self._profiler.end_trial()
            self._prepare_window()
            self._warm_up(epoch)

    def _prepare_window(self) -> None:
        if self._profiler is not None:
            with self._known_as("guest"):
                self._profiler.prepare_trace()
            self._then = self._warm_up

    @contextmanager
    def _known_as(self, whose: guest.Whose) -> Iterator[None]:
        """To the standing hooks: what begins or ends is a profiler of ours."""
        self._standing.begins = whose
        try:
            yield
        finally:
            self._standing.begins = "program"

    def _warm_up(self, epoch: Source) -> None:
        self._left -= 1
        if epoch is self._epoch:
            self._times.taken.append(perf_counter())
        if self._left <= 0 and self._profiler is not None and not self._is_early(epoch):
            self._choose_length(epoch)
            self._profiler.start_trace()
            self._then = self._record
            self.notes.state = "recording"
            self.notes.write()

    def _is_early(self, epoch: Source) -> bool:
        """Whether an evaluation goes on (not where `attach` asked for the seconds from now on); or queues of the
        program's own, which filled as the profiler started, are still being emptied.
        """
        if self._asked_s is None and self._waiting.is_in_evaluation(self._taken(epoch).length):
            return True
        before, since = self._times.taken[: self._prepared], self._times.taken[self._prepared :]
        is_planned = self._order.wait != "auto" or has_other_ranks() or epoch is not self._epoch
        return not is_planned and still_drains(before, since, self._current.prefetched)

    def _choose_length(self, epoch: Source) -> None:
        """Of the window that opens now."""
        if self._chooses_length:
            paced, left = self._times.paced(self._prepared), self._left_in_epoch(epoch)
            self._active, self.notes.shortened = chosen_length(paced, left, self._pause)

    def _left_in_epoch(self, epoch: Source) -> int | None:
        """Steps until the loop's epoch ends; the batch may be a validation's in the middle of it."""
        loop, taken = self._current, len(self._times.taken)
        goes_on = epoch is self._epoch or (epoch.loader != loop.loader and taken < (loop.length or 0))
        return loop.length - taken - LEAD - loop.prefetched if goes_on and loop.length is not None else None

    def _record(self, epoch: Source) -> None:
        window = self._standing.window
        if window is not None and self._is_enough(*window.boundaries()):
            self._write(self._order.logdir)

    def _is_enough(self, source: StepSource, times: list[int]) -> bool:
        """Of an optimizer's boundaries the first is left out, of batches the last."""
        return len(times) >= self._active + 2

    def _write(self, logdir: Path) -> None:
        """Close the window, and write its file."""
        profiler = self._profiler
        if profiler is None or profiler.is_given_up:
            return
        profiler.stop_trace()
        kept = self._standing.kept
        if kept is None:
            self._end("nothing", "the window was lost")
            return
        if kept.boundaries is not None:
            kept.boundaries = settled(*kept.boundaries, self._most_steps)
            kept.notes.extend(self._notes_of_window(kept.boundaries[1]))
        kept.asked_s = self._asked_s
        kept.before_us = steps_before(self._times.taken[: self._prepared], self._current.prefetched)
        if self.notes.shortened:
            kept.notes.append(self.notes.shortened)
        if self._turns.is_fed:
            kept.notes.append(_FED)
        if self._turns.is_presumed:
            kept.notes.append(_PRESUMED)
        try:
            path = writer.pack_trace(profiler.export_chrome_trace, logdir)
        except OSError as error:
            reason = f"cannot write its trace to {logdir}: {one_line(error)}"
            tell(f"annotate {reason}")
            self._end("nothing", reason)
            return
        self._wrote(path, profiler.began)
        self.notes.paused_s = max(self.notes.paused_s, perf_counter() - profiler.stopped_at)
        self._end("recorded")

    def _wrote(self, path: Path, began: float) -> None:
        """The window's file."""
        self.notes.files.append(str(path))
        whole_run.recorded(path, began)

    @property
    def _most_steps(self) -> int:
        return self._active

    def _notes_of_window(self, times: list[int]) -> list[str]:
        steps = len(times) - 1
        asked = min(ACTIVE, self._active) if self._order.active == "auto" else self._active
        return [] if steps >= asked else [f"the program ended after {max(steps, 0)} of {asked} steps of this window."]

    def _end(self, state: State, reason: str = "") -> None:
        """Record nothing any more, and leave nothing behind. Harmless when that is so already."""
        self._standing.workers.on_any_batch = None
        self._turns.end()
        if self._others is not None:
            self._others.end()
        self._epoch = None
        self._stop()
        if self.notes.state in ("waiting", "recording"):
            self.notes.state, self.notes.reason = state, reason
        self.notes.write()

    def _stop(self) -> None:
        """End the profiler, whatever it is at. Harmless when there is none."""
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            with guard(_LOST):
                profiler.abandon()
            with guard(_LOST):
                self._standing.give_up()
            with suppress(AttributeError):  # a torch that does not count steps
                torch.autograd.profiler.KinetoStepTracker.erase_step_count(torch.profiler.profiler.PROFILER_STEP_NAME)
        self._patches.undo()

    def _at_exit(self) -> None:
        if os.getpid() == self._pid:
            self._close()
            note_between_epochs(self.notes, self._standing.workers)
            if self._order.folder is None:
                self._say()

    def _close(self) -> None:
        """The program ends: what was recorded until now is written."""
        with guard(_LOST):
            if self.notes.state == "recording" and get_ident() == self._thread:
                self._write(self._order.logdir)
            if self.notes.state in ("waiting", "recording"):
                self._end("nothing", self._why())

    def _why(self) -> str:
        """Nothing was recorded; empty: the program ended too early."""
        if self.notes.state == "recording":
            return _ENDED if self._thread != threading.main_thread().ident else "the window was lost"
        return _ELSEWHERE if self._turns.elsewhere and not self.notes.batches else ""

    def _say(self) -> None:
        """What `run` says at the end, where there is no `run`; one line, of one rank."""
        known, logdir = rank(), self._order.logdir
        if known is not None and known[0] != 0:
            return
        paused = stood_still(self.notes.paused_s)
        line = f"recorded; `tb-dataplugin report {logdir}` or `tensorboard --logdir {logdir}` shows it"
        line += (f"; {paused}" if paused else "") + (f". {self.notes.shortened}" if self.notes.shortened else "")
        if not self.notes.files:
            why = self.notes.reason or f"the program ended after {self.notes.batches} batches, before recording began"
            line = f"nothing was recorded: {why}"
        with suppress(Exception):
            print(f"annotate: {shown(line)}", file=sys.stderr)

    # As a guest:

    def give_way(self, why: str) -> None:
        if self._profiler is not None or self.notes.state == "waiting":
            self._end("nothing", why)

    def forget(self) -> None:
        self._turns.end()
        wrappers.on_own_batch = None
        self._standing.workers.on_any_batch = self._standing.workers.on_exit = None

    def wrote(self, path: str) -> None:
        if self._profiler is None:
            self.notes.programs_files.append(os.path.abspath(path))  # noqa: PTH100
            self.notes.write()

    # As a capture of our profiler's:

    def window_opens(self) -> None:
        pass

    def save(self, profiler: Any) -> Export | None:
        return None

    def window_lost(self) -> None:
        self._end("nothing", THEIRS)


def note_between_epochs(notes: Notes, workers: StandingWorkers) -> None:
    """Never raises, nor warns: the program is over, and no line of it is to blame."""
    with suppress(Exception):
        passes = workers.passes
        notes.between = {
            "times": passes.times,
            "seconds": passes.between_ns / 1e9,
            "longest_s": passes.longest_ns / 1e9,
            "whole_s": passes.whole_ns / 1e9,
            "made": workers.loaders.made_anew(),
            "loader": workers.loaders.first_made_anew(),
        }
        notes.write()
        notes.leave_between()


def settled(source: StepSource, times: list[int], active: int) -> tuple[StepSource, list[int]]:
    """The boundaries of `active` steps: the window opened in the middle of a step, which an optimizer has ended."""
    first = int(source == "optimizer" and len(times) > 2)
    return source, times[first : first + active + 1]
