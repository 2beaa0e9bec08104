"""How sure the data wait of the loop is that predictions are scaled to."""

from __future__ import annotations

from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.whatif.loop import Loop


def find_wait_ends(steady: SteadyState | None) -> tuple[float, float] | None:
    """Where an epoch starts or ends in the window, nothing else shows how its queue went on: the other steps may live
    on batches from before.
    """
    if steady is None or steady.state != "epoch_start" or steady.wait is None:
        return None
    return steady.wait.low, steady.wait.high


def measured_ends(loop: Loop) -> tuple[float, float]:
    """The step at both ends of that, over the step as it was measured."""
    if loop.wait_ends_ns is None or not loop.measured_step_ns:
        return 1.0, 1.0
    own = loop.measured_step_ns - loop.measured_wait_ns
    low, high = ((own + max(0.0, wait - loop.beside_ns)) / loop.measured_step_ns for wait in loop.wait_ends_ns)
    return min(1.0, low), max(1.0, high)
