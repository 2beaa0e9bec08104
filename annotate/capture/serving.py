"""Between a capture and its `Headspace`: nothing of it is raised into the loop, and what it measured is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from annotate.capture.headspace import NO_BATCH, Headspace
from annotate.recording import switch
from annotate.saying import guard, one_line, tell
from annotate.signals import came_by_a_signal
from annotate.trace import writer

_FAULT: Final = "annotate.profile does not measure the headspace"


class Serving:
    """What the loop over ``prof.steps`` asks; a flag check each where no headspace is due."""

    def __init__(self, asked: int) -> None:
        self._asked = asked
        self._headspace = Headspace(asked)
        self._is_missing = bool(asked)
        self._is_left = False
        self._trace: Path | None = None
        """The file that the record goes into; None: it is not due, or written."""

    def begin(self, trace: Path, ahead: int) -> None:
        """The last window was written to `trace`; `ahead` batches are prefetched at most."""
        if self._asked:
            self._trace = trace
            self._headspace.begin(ahead)
            if self._is_left:  # the last window was cut by the end of the capture
                self._headspace.end()

    @property
    def is_timing(self) -> bool:
        """Steps are timed, so that nothing is to be done between them that can wait."""
        return self._headspace.is_timing

    def loop_begins(self, loader: object) -> None:
        """`loader` is about to be iterated."""
        if self._headspace.is_on:
            with guard(_FAULT):
                self._headspace.loop_begins(loader)

    def stand_in(self, loader: object) -> Any:
        """A step has ended. What the loop gets in place of the loader's next batch; `NO_BATCH`: nothing."""
        batch = NO_BATCH
        if self._headspace.is_on:
            with guard(_FAULT):
                batch = self._headspace.step(loader)
            if batch is not NO_BATCH:
                switch.disturb()
            self._write()
        return batch

    def mark(self, loader: object, at: float | None = None) -> None:
        """The loop over `loader` is about to get a batch, or asked for the next one, by `perf_counter`."""
        if self._headspace.is_on:
            with guard(_FAULT):
                self._headspace.mark(loader, at)

    def took(self, loader: object, batch: object) -> None:
        """`loader` gave a batch, which the loop is about to get."""
        if self._headspace.is_on:
            with guard(_FAULT):
                if self._headspace.took(loader, batch):
                    switch.disturb()

    def end(self) -> None:
        """The capture is left, and its last window may still be written."""
        self._is_left = True
        if self._trace is not None:
            with guard(_FAULT):
                self._headspace.end()
            self._write()

    def say_missing(self) -> None:
        """Once all windows are written: where it was asked for, and there is none."""
        if self._is_missing:
            tell(f"annotate.profile did not measure the headspace: {self._headspace.why_not}", UserWarning)

    def _write(self) -> None:
        record, trace = self._headspace.record, self._trace
        if record is None or trace is None:
            return
        self._trace, self._is_missing = None, False
        try:
            writer.add_to_record(trace, "headspace", record)
        except Exception as error:
            if came_by_a_signal(error):
                raise
            tell(f"annotate.profile could not add the headspace to {trace}: {one_line(error)}")
