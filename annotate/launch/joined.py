"""A program that nobody prepared, joined while it runs: `tb-dataplugin attach` has Python 3.14 or newer call `join` in
its main thread (``sys.remote_exec``). One window is recorded, and then nothing of ours is left.
"""

from __future__ import annotations

import sys
from typing import Final

from annotate import marks
from annotate.capture import guest, standing
from annotate.launch.notes import Notes
from annotate.launch.order import FOLDER, Order, read_order
from annotate.launch.running import Running, RunningIterators
from annotate.launch.standby import Standby
from annotate.launch.turns import Source
from annotate.launch.waiting import Taken
from annotate.saying import one_line

_LATE: Final = (
    "they had started before `tb-dataplugin attach` joined the program. Start the job by "
    "`tb-dataplugin run --standby`, or attach for longer than an epoch"
)
"""Why nothing came of DataLoader workers."""


def join(folder: str) -> None:
    """Record once what is asked for in `folder`. Never raises: why it cannot be is in the notes there."""
    try:
        order = read_order({FOLDER: folder})
        if order is not None:
            _join(order)
    except Exception as error:
        _refuse(folder, f"internal error: {one_line(error)}")


def _refuse(folder: str, why: str) -> None:
    from pathlib import Path

    notes = Notes(Path(folder))
    notes.state, notes.reason = "nothing", why
    notes.write()


def _join(order: Order) -> None:
    folder = str(order.folder)
    torch = sys.modules.get("torch")
    if torch is None or getattr(torch.__spec__, "_initializing", False):
        _refuse(folder, "it has not imported torch")
        return
    was_there = standing.current() is not None
    stands = standing.install()
    if stands is None or stands.workers.on_any_batch is not None:
        _refuse(folder, "annotate records it already")
        return
    if not was_there:
        marks.auto()
    joined = Joined(order, stands, Notes(order.folder), leaves=not was_there)
    why = joined.hear()
    if why:
        joined.leave()
        _refuse(folder, f"its epoch cannot be heard: {why}")


class Joined(Standby):
    """One window, of iterators that were there before as well."""

    def __init__(self, order: Order, stands: standing.Standing, notes: Notes, *, leaves: bool) -> None:
        """
        Args:
            leaves: the hooks are here for this window only.
        """
        super().__init__(order, stands, notes)
        self._leaves = leaves
        self._running: Final = RunningIterators(stands.workers, self._turns.batch)

    def hear(self) -> str:
        """Look at the batches from now on. Returns why not, as a clause."""
        why = self._running.begin()
        if not why:
            self._standing.workers.nothing_came = _LATE
            self.begin()
            self.listen_to_others()
        return why

    def leave(self) -> None:
        """Take out what was put in."""
        self._running.end()
        self._turns.end()
        self._stop()
        workers = self._standing.workers
        workers.nothing_came = type(workers).nothing_came
        workers.on_any_batch = workers.on_exit = None
        guest.receive(None)
        if self._others is not None:
            self._others.end()
        if self._leaves:
            standing.off()

    def _idle(self, epoch: Source) -> None:
        if self.notes.state in ("recorded", "nothing") or not self._file.exists():
            self.leave()  # it is recorded, or who asked is gone
        else:
            super()._idle(epoch)

    def _taken(self, epoch: Source) -> Taken:
        if isinstance(epoch, Running):
            return Taken(epoch.loader, epoch.epoch, epoch.prefetched, None)
        return super()._taken(epoch)
