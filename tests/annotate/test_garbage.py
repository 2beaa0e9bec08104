"""Time in the garbage collector, counted while somebody wants it and no longer."""

from __future__ import annotations

import gc
import os

from annotate.host import garbage
from annotate.host.meter import Meter


def test_it_is_counted_while_a_meter_is_open() -> None:
    before = list(gc.callbacks)
    meters = Meter(), Meter()
    first = garbage.total_ns()
    gc.collect()
    assert garbage.total_ns() > first
    for meter in (*meters, *meters):  # harmless twice
        meter.close()
    counted = garbage.total_ns()
    gc.collect()
    assert garbage.total_ns() == counted
    assert gc.callbacks == before


def test_a_forked_child_has_nothing_of_it() -> None:
    meter, before = Meter(), len(gc.callbacks)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if len(gc.callbacks) == before - 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    meter.close()
