"""The loop as it runs without torch's profiler, whose own time makes the rest of each step longer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.simulation import Orders, simulate


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """Per step, in ns. `more_wait_ns`: than was measured."""

    step_ns: float
    wait_ns: float
    more_wait_ns: float


def without_profiler(loop: Loop, longer: float) -> Unrecorded:
    """`longer`: how many times as long the profiler makes the step's own work. DataLoader workers build meanwhile, and
    without it that is waited for.
    """
    orders = Orders.as_recorded(loop)
    now, then = (simulate(one, orders) for one in (loop, replace(loop, own_ns=loop.own_ns / longer)))
    scale = loop.measured_step_ns / float(now.step_ns.mean())
    less, more = (scale * float(np.mean(by)) for by in (now.step_ns - then.step_ns, then.wait_ns - now.wait_ns))
    more = max(0.0, more)
    return Unrecorded(loop.measured_step_ns - less, loop.measured_wait_ns + more, more)
