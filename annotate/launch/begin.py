"""A loader is iterated for the first time in a process that was asked to be recorded: follow all, and wait."""

from __future__ import annotations

import os

from annotate import marks
from annotate.capture import standing
from annotate.launch.notes import Notes
from annotate.launch.order import Order, read_order
from annotate.launch.recording import Recording
from annotate.launch.standby import Standby
from annotate.launch.watch import watch_by_environment
from annotate.saying import guard


def begin() -> None:
    """As `annotate.auto`, and a recording that opens by itself. Never raises."""
    with guard("annotate.watch does not record the run"):
        watch_by_environment()
    with guard("annotate does not record this program"):
        order = read_order(os.environ)
        if order is not None:
            _begin(order)


def _begin(order: Order) -> None:
    marks.auto()
    stands = standing.current()
    if stands is not None:
        kind = Standby if order.is_standby else Recording
        recording = kind(order, stands, Notes(order.folder))
        recording.begin()
        recording.listen_to_others()
