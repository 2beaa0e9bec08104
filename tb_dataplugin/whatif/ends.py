"""Loops that a capture may as well be of, since it does not show all of how it came about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from tb_dataplugin.whatif.as_measured import as_measured
from tb_dataplugin.whatif.loop import Loop, Timed
from tb_dataplugin.whatif.own_share import with_own_share
from tb_dataplugin.whatif.unknown import HALFWAY

MANY_THREADS: Final = 1.1
"""Threads that compute a step, on average, from which they may wait for each other."""


def threads_wait(loop: Loop) -> bool:
    """Whether several threads compute a step, and lack CPUs: how they slow each other down is not in the capture."""
    return loop.own_threads >= MANY_THREADS and loop.own_delayed > 0


def ends_of(loop: Loop) -> Iterator[Loop]:
    """By how far the threads of a step wait for each other (`Loop.power`), by how much of receiving is waiting for the
    worker that builds the next batch (`Loop.maybe_held_ns`), and by who has the CPUs that workers leave.
    """
    for power in (1.0, loop.own_threads) if threads_wait(loop) else ():
        own_ns = loop.own_ns * (1 - loop.own_delayed) ** (power - loop.power)
        yield as_measured(replace(loop, own_ns=own_ns, own_power=power))
    for share in (0.0, 1.0) if loop.maybe_held_ns.any() else ():
        more = (share - HALFWAY) * loop.maybe_held_ns
        ns = loop.receive.ns.copy()
        ns[:, -1] = np.maximum(0, ns[:, -1] - more)
        yield as_measured(replace(loop, held_ns=loop.held_ns + more, receive=Timed(loop.receive.parts, ns)))
    yield from map(as_measured, with_own_share(loop))
