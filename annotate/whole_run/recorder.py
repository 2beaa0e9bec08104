"""The recorder of a run: takes what its loaders have come to, each interval, and writes it from a thread of its own."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from annotate.host.facts import describe_host, describe_versions, host_name
from annotate.host.lock_share import LockShare
from annotate.host.own_threads import own_thread, wait_until_gone
from annotate.monitoring.lines import print_line
from annotate.recording import recording_time
from annotate.saying import deliver, guard, one_line
from annotate.trace_format import OWN_THREAD
from annotate.whole_run.follower import RunFollower
from annotate.whole_run.iterating import is_recorded
from annotate.whole_run.machine import Machine
from annotate.whole_run.points import line_of, machine_values, prefix_of, values_of
from annotate.whole_run.run_file import SUFFIX, VERSION, RunFile, batches_until
from annotate.whole_run.scalars import EventFile, latest_writer
from annotate.whole_run.series import Event, Series
from annotate.whole_run.tally import Facts, Tally
from annotate.workers import following

INTERVAL_S: Final = 10.0
_MOST_PIDS: Final = 4096
_PATIENCE_S: Final = 2.0
"""For the thread, when the run ends: a file system may hang."""
_AWAY_S: Final = 0.1
"""For the thread, when a loader is about to fork."""
_LOST: Final = "annotate.watch has stopped recording the run"
_LEFT: Final = "annotate.watch left a process behind"


class Windows(Protocol):
    """Who records a window when something has happened."""

    def happened(self, number: int, event: Event) -> None:
        """In the training thread, between two batches."""

    def end(self) -> None:
        """The run is over. Harmless when nothing is recorded."""


class Recorder:
    """One run of this process, into one folder."""

    def __init__(self, logdir: Path, interval_s: float = INTERVAL_S, prints: bool = False) -> None:
        """`prints`: also a line on stderr for each loader and interval."""
        self.logdir: Final = logdir
        self.prints: Final = prints
        self.interval_s: Final = interval_s
        self.windows: Windows | None = None
        self.loaders: Final = RunFollower(self._happened, self._away)
        self._pid = os.getpid()
        self._pids: dict[int, None] = {}
        self._machine: Final = Machine(lambda: list(self._pids))
        self._lock = LockShare(time.monotonic())
        self._waiting: Final[deque[Facts]] = deque()
        """Lines that are to be written before the next interval."""
        self._events = 0
        self._file: RunFile | None = None
        self._scalars: EventFile | None = None
        self._before = 0
        """Batches of the run's earlier processes: points of TensorBoard's go on where those ended."""
        self._described = 0
        self._wake: Final = threading.Event()
        self._is_over = self._is_away = self._is_closed = False
        self._from = time.time()
        self._recorded_ns = recording_time.total_ns()
        """What recording had taken of the program until `_from`."""
        self._due = 0.0
        """When the next interval is to be written; `time.monotonic`."""
        self._thread = self._new_thread()

    def begin(self) -> None:
        """Raises: OSError: the folder cannot be written. Whatever it raises, nothing is left open."""
        try:
            self.logdir.mkdir(parents=True, exist_ok=True)
            self._before = _batches_before(self.logdir)
            self._file = RunFile(self.logdir / f"{host_name()}_{os.getpid()}.{time.time_ns()}{SUFFIX}")
            self._scalars = EventFile(self.logdir / _scalars_folder())
            self._add(self._header())
            self._machine.open()
            self._lock.begin()
            following.add(self.loaders)
            self._thread.start()
        except BaseException:
            self._is_over = True
            following.remove(self.loaders)
            self._close()
            raise

    def end(self) -> None:
        """Write what is left, and let go of everything. Harmless when that is so already."""
        if os.getpid() != self._pid or self._is_over:
            return
        self._is_over = True
        for end in (partial(following.remove, self.loaders), self.loaders.stop, self.loaders.conclude):
            with guard(_LOST):
                end()
        if self.windows is not None:
            with guard(_LOST):
                self.windows.end()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(_PATIENCE_S)
        deliver()
        self.loaders.tell_trouble()

    def _new_thread(self, before: threading.Thread | None = None) -> threading.Thread:
        """`before`: the one that it goes on for."""
        return threading.Thread(target=self._run, args=(before,), name=f"{OWN_THREAD}whole run", daemon=True)

    @contextmanager
    def _away(self) -> Iterator[None]:
        """Without the thread, for a loader that forks: what a thread has locked then stays locked in the child.

        One that does not leave in time, since the file system hangs, stays.
        """
        if self._is_away or self._is_over or os.getpid() != self._pid:
            yield
            return
        self._is_away = True
        try:
            with guard("annotate.watch has a thread of its own while a DataLoader forks"):
                self._wake.set()
                wait_until_gone(self._thread, _AWAY_S)
            yield
        finally:
            self._is_away = False
            self._go_on()

    def _go_on(self) -> None:
        if self._is_closed:
            return
        try:
            self._thread = self._new_thread(self._thread)
            self._thread.start()
        except RuntimeError as error:  # no more threads
            self._is_over = True
            self.loaders.trouble = f"{_LOST}: {one_line(error)}. The training goes on"
            self._close()

    def note(self, facts: Facts) -> None:
        """Write a line soon; from any thread."""
        self._waiting.append({"kind": facts["kind"], "t": round(time.time(), 3), **facts})
        self._wake.set()

    def recorded(self, path: Path, began: float, ended: float) -> None:
        """A window that the run did not ask for is in a file. Seconds since 1970: recording slowed the loop meanwhile.

        From any thread.
        """
        times: Facts = {"t": round(ended, 3), "from": round(began, 3)}
        self.note({"kind": "capture", **times, "capture": path.name})

    def forget(self) -> None:
        """This process was forked from the one that records."""
        self._is_over = True

    def _header(self) -> Facts:
        return {
            "kind": "run",
            "t": round(self._from, 3),
            "version": VERSION,
            "host": host_name(),
            "pid": self._pid,
            "rank": _number("RANK"),
            "world_size": _number("WORLD_SIZE"),
            "interval_s": self.interval_s,
            "machine": describe_host(),
            "versions": describe_versions(),
        }

    def _happened(self, event: Event) -> None:
        """A loop has left its usual range, or is in it again."""
        if event.change != "usual":
            self._events += 1
        facts: Facts = {
            "kind": "event",
            "number": self._events,
            "change": event.change,
            "what": event.what,
            "loader": event.loader,
            "epoch": event.epoch,
            "batch": event.batch,
            "took_us": round(event.took / 1000, 1),
            "usual_us": round(event.usual / 1000, 1),
            "usual_steps": event.usual_steps,
        }
        if event.mean is not None:
            facts["mean_us"] = round(event.mean / 1000, 1)
        if event.wait is not None and event.usual_wait is not None:
            facts["wait_us"] = round(event.wait / 1000, 1)
            facts["usual_wait_us"] = round(event.usual_wait / 1000, 1)
        if event.ended is not None:
            facts["t"] = round(event.ended, 3)
        self.note(facts)
        if self.windows is not None and event.change != "usual" and event.ended is None:
            self.windows.happened(self._events, event)

    # In the recorder's thread:

    @own_thread()
    def _run(self, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()
        if self._is_closed:
            return
        try:
            self._record()
            if not self._is_over:
                return  # away: another thread goes on
            self._write_waiting()
            self._write_interval()
            self._add({"kind": "end", "t": round(time.time(), 3)})
        except OSError as error:
            self.loaders.trouble = f"{_LOST}: cannot write to {self.logdir}: {one_line(error)}. The training goes on"
        except Exception as error:
            self.loaders.trouble = f"{_LOST}, and the training goes on. Internal error: {one_line(error)}"
        self._close()

    def _record(self) -> None:
        """Until the run is over, or the thread is to be away."""
        if not self._due:
            self._due = time.monotonic() + self.interval_s
            self._machine.read(time.perf_counter_ns())
        while not self._is_over and not self._is_away:
            self._write_waiting()
            self._lock.turn(time.monotonic(), None if is_recorded() else self.loaders.thread)
            if time.monotonic() >= self._due:
                self._due = max(self._due + self.interval_s, time.monotonic())
                self._write_interval()
            self._wake.wait(max(0.0, min(self._due, self._lock.due) - time.monotonic()))
            self._wake.clear()

    def _add(self, facts: Facts) -> None:
        if self._file is not None:
            self._file.add(facts)

    def _close(self) -> None:
        self._is_closed = True
        lock, self._lock = self._lock, LockShare(0.0)  # whatever its end raises, nobody keeps its process
        with guard(_LEFT):
            lock.end()
        self._machine.close()
        for file in (self._file, self._scalars):
            if file is not None:
                file.close()

    def _write_waiting(self) -> None:
        for number in range(self._described, len(self.loaders.settings)):
            self._add({"kind": "loader", "loader": number, **self.loaders.settings[number]})
            self._described += 1
        while self._waiting:
            self._add(self._waiting.popleft())

    def _write_interval(self) -> None:
        now = time.time()
        taken = [(series, series.take()) for series in list(self.loaders.all)]
        taken = [(series, tally) for series, tally in taken if not tally.is_empty]
        self._look_at_workers([series for series, _ in taken])
        machine = self._machine.read(time.perf_counter_ns())
        gil_share = self._lock.take()
        if gil_share is not None:
            machine["gil_share"] = round(gil_share, 4)
        facts = [tally.facts(series.number) for series, tally in taken]
        span = {"from": round(self._from, 3), "to": round(now, 3)}
        recorded_ns = self._recorded_since()
        if recorded_ns:
            span["recording_us"] = round(recorded_ns / 1000, 1)
        seconds = max(0.0, now - self._from - recorded_ns / 1e9)
        main = max(self.loaders.all, key=lambda series: series.batches, default=None)
        batches = self._before + (main.batches if main is not None else 0)
        self._add({"kind": "interval", **span, "batches": batches, "loaders": facts, "machine": machine})
        if main is not None:
            self._write_scalars(now, seconds, batches, main, taken, machine)
        if self.prints:
            self._print(seconds, taken)
        self._from = now

    def _recorded_since(self) -> int:
        """What recording has taken since this was last called, in nanoseconds."""
        before, self._recorded_ns = self._recorded_ns, max(self._recorded_ns, recording_time.total_ns())
        return self._recorded_ns - before

    def _look_at_workers(self, used: list[Series]) -> None:
        for series in used:
            pids, series.pids = series.pids, set()
            self._pids.update(dict.fromkeys(sorted(pids)))
        there = [pid for pid in self._pids if Path(f"/proc/{pid}").exists()][-_MOST_PIDS:]
        self._pids = dict.fromkeys(there)

    def _print(self, seconds: float, taken: list[tuple[Series, Tally]]) -> None:
        had_batches = [series for series, tally in taken if tally.samples or tally.steps]
        for series, tally in taken:
            line = line_of(tally, seconds, is_alone=had_batches in ([], [series]))
            if line:
                print_line(None, f"annotate.watch: DataLoader {series.number}: {line}")

    def _write_scalars(
        self,
        now: float,
        seconds: float,
        batches: int,
        main: Series,
        taken: list[tuple[Series, Tally]],
        machine: Facts,
    ) -> None:
        scalars = self._scalars
        if scalars is None:
            return
        points = machine_values(machine)
        for series, tally in taken:
            points += values_of(tally, seconds, prefix_of(series.number, main.number))
        scalars.add(now, batches, points)


def _scalars_folder() -> str:
    rank = _number("RANK")
    return f"data_pipeline_rank{rank}" if rank else "data_pipeline"


def _batches_before(logdir: Path) -> int:
    """Of this rank's earlier processes in this folder, as far as the latest of them knew."""
    writer = latest_writer(logdir / _scalars_folder())
    return batches_until(logdir, *writer) if writer is not None else 0


def _number(variable: str) -> int | None:
    """Of a launcher's variable."""
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else None
