"""The spans of a DataLoader worker, as a content of its batches: written to the spool while a window is open."""

from __future__ import annotations

from _thread import get_ident
from contextlib import suppress
from multiprocessing.util import Finalize
from typing import Final, NamedTuple

from annotate.hooks import readers
from annotate.hooks.patching import Patches
from annotate.host import meter
from annotate.host.facts import library_threads
from annotate.recording import file_names, other_threads, span_recorder, switch
from annotate.recording.rows import CPU_BITS, ROW_SIZE, THREAD_ROW, ThreadRow, read_rows
from annotate.saying import forget_reported, guard, report_error
from annotate.workers import spool
from annotate.workers.content import Place
from annotate.workers.transport import LOST, UNKNOWN, Tag

NAME: Final = "losses"
_NOT_YET: Final = -1
_CHUNK_ROOM: Final = 256
"""Bytes of a chunk besides its rows, at most."""


class Losses(NamedTuple):
    """Spans of a worker that were not recorded so far."""

    dropped: int
    """At the worker's limits."""
    elsewhere: int
    """Of other threads than its main one, beyond `other_threads.MOST` in one batch."""


class SpansContent:
    """Records spans while a capture is on, and writes them away before their batch leaves."""

    name = NAME

    def __init__(
        self,
        place: Place,
        worker: int,
        pid: int,
        began: int,
        patches: Patches,
        called: tuple[int, int] | None = None,
    ) -> None:
        """
        Args:
            called: when the user's ``worker_init_fn`` began and returned.

        Raises: OSError: the capture is over.
        """
        self._place = place
        self._facts: dict[str, object] = {"loader": place.loader, "worker": worker, "pid": pid, "started": began}
        if called is not None:
            self._facts["called"] = called
        self._patches = patches
        self._control = spool.view_control(place.folder)
        self._state = spool.StateFile(place.folder, worker)
        Finalize(None, self._end, exitpriority=0)
        self._recorder = span_recorder.worker_recorder(self.poll)
        self._window = _NOT_YET
        self._thread = get_ident()
        """The worker's own; a pool of the user's never starts the recording."""
        self._file: spool.SpoolFile | None = None
        """Of the window; None between windows."""
        self._ring: spool.Ring | None = None
        self._tag: Tag | None = None
        self._started = 0
        self._meter: meter.Meter | None = None
        self._before: meter.Reading | None = None
        """What the meter said when the batch began."""
        self._dropped = 0
        self._losses = Losses(0, 0)
        switch.install(self._recorder)
        self.poll()

    def is_dormant(self) -> bool:
        """No profiler is at work."""
        return self._control[0] >= spool.DORMANT  # type: ignore[no-any-return]

    def poll(self) -> bool:
        """Start recording, at first and when a window opens. Called while nothing is recorded."""
        window: int = self._control[0]
        if window in (spool.DORMANT, spool.OVER, self._window) or get_ident() != self._thread:
            return False
        with guard(LOST), suppress(OSError):  # a full disk: the capture tells that nothing came
            self._start()
            self._turn_to(window)
            return True
        self._window = window
        self._close()
        return False

    def begin(self, tag: Tag) -> None:
        if not switch.RECORDING:
            self.poll()
        else:
            if span_recorder.rows:  # of a batch that raised
                self.fail()
            if switch.RECORDING:
                self.still_on()
        self._tag = tag
        self._before = None if self._meter is None else self._meter.begin()

    def started(self, now: int) -> None:
        self._started = now
        if switch.RECORDING:  # a dormant worker says so when it starts recording
            self._note_state()

    def _note_state(self) -> None:
        if self._tag is not None and self._started:
            self._state.write(self._tag.iteration, self._tag.batch, self._started)

    def finish(self, started: int, finished: int) -> Losses | None:
        was_recording = switch.RECORDING
        if was_recording:
            self._write(started, finished, self._cost())
        elif self._tag is None:  # its loader is not tagged: found out here that a window has opened
            self.poll()
        self._tag, self._started = None, 0
        losses = self._losses
        if losses.dropped != self._dropped or losses.elsewhere != other_threads.lost:
            self._losses = losses = Losses(self._dropped, other_threads.lost)
        elif not was_recording:
            return None
        return losses

    def fail(self) -> None:
        self._write(self._started, UNKNOWN, meter.NOT_TOLD)

    def still_on(self) -> bool:
        """False, and nothing more is recorded, when the last window has closed."""
        window: int = self._control[0]
        if window == self._window:
            return True
        self.fail()
        if switch.RECORDING and window not in (spool.DORMANT, spool.OVER):
            with guard(LOST), suppress(OSError):
                self._turn_to(window)
                return True
        self._window = window
        self._close()
        return False

    def _end(self) -> None:
        """The worker ends. What it wrote between windows is of no use: the loop has received all of it."""
        if self._control[0] in (0, spool.DORMANT, spool.OVER):
            self._state.remove()
            if self._ring is not None:
                self._ring.remove()
        else:
            self._state.end()

    def _start(self) -> None:
        """Record this process."""
        switch.install(self._recorder)
        span_recorder.attach(self.fail, self.still_on, self._place.buffered_spans)
        self._facts |= {"span_ns": span_recorder.cost_ns(), "threads": library_threads()}
        self._ring = spool.Ring(self._place.folder, self._facts)
        self._meter, self._before = meter.Meter(), None
        self._note_state()
        switch.set_recording(True)

    def _turn_to(self, window: int) -> None:
        """What is recorded from now on belongs to the window; 0: to none."""
        self._window = window
        if self._file is not None:
            self._file.close()
            self._file = None
        with guard("annotate does not time what a DataLoader worker reads"):  # libraries imported by now
            readers.install(self._patches)
        if window:
            forget_reported()
            self._dropped, other_threads.lost = 0, 0
            file_names.begin()
            self._facts["threads"] = library_threads()
            self._file = spool.SpoolFile(self._place.folder, window, self._place.spool_bytes, self._facts)

    def _close(self) -> None:
        switch.set_recording(False)
        span_recorder.rows.clear()
        other_threads.take()
        for open_now in (self._meter, self._file, self._ring):
            if open_now is not None:
                open_now.close()
        self._meter = self._file = self._ring = None

    def _cost(self) -> meter.Reading:
        """Of the batch that has just been finished."""
        before, self._before = self._before, None
        if before is None or self._meter is None:  # the window opened in the middle of it
            return meter.NOT_TOLD
        return self._meter.since(before)

    def _write(self, started: int, finished: int, cost: meter.Reading) -> None:
        """Write what has been recorded. Any failure ends the recording, and what could not be written is counted."""
        beside = other_threads.take()
        count = span_recorder.row_count()
        if not count and not beside:
            return
        span_recorder.flushed()
        packed = b""
        try:
            size = count * ROW_SIZE + len(beside) * THREAD_ROW.size + _CHUNK_ROOM
            file = self._file if self._file is not None or self._ring is None else self._ring.file_for(size)
            if file is None or not file.has_room(size):
                self._dropped += span_recorder.span_count() + len(beside)
                span_recorder.rows.clear()
                return
            iteration, batch = (UNKNOWN, UNKNOWN) if self._tag is None else self._tag[:2]
            threads = [_row_beside(span, iteration, batch) for span in beside]  # names first: these number some
            packed = span_recorder.take_rows()
            file.write_files(file_names.take())
            file.write_names(span_recorder.names, switch.HANDED_OUT)
            file.write_threads(threads)
            if packed:
                file.write_spans((iteration, batch, started, finished, *cost), packed)
            return
        except OSError:  # a full disk: counted
            pass
        except Exception as error:
            report_error(LOST, error)
        self._dropped += span_recorder.span_count() + len(read_rows(packed)) + len(beside)
        self._close()


def _row_beside(span: other_threads.ThreadSpan, iteration: int, batch: int) -> ThreadRow:
    """A span of another thread, which counts for the batch in work when it ended."""
    name = span_recorder.states[span.name][1] >> CPU_BITS
    return ThreadRow(iteration, batch, span.thread, name, span.start, span.end, max(0, span.cpu), span.item)
