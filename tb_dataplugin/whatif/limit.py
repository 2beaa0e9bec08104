"""What limits a loop: the part of it that would bring most if it took half as long."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.whatif.change import TRANSFER, Change, changed, scaled, step_scaled
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.simulation import Orders, Simulated, simulate

STEP: Final = "step"
DEVICE: Final = "device"
"""In the place of a stage: the rest of the step, and what the device computes for it."""

NEXT_TO_NOTHING: Final = 0.05
"""Share of data wait below which the loader limits nothing (as the findings' INPUT_BOUND)."""


def limited_by(loop: Loop, orders: Orders, run: Simulated, wait_share: float) -> str:
    """A stage, ``transfer``, or `STEP`. `run`: of the loop in that order; `wait_share`: what is predicted of it."""
    if wait_share < NEXT_TO_NOTHING:
        return STEP
    parts = dict.fromkeys(part[-1].name for part in (*loop.build.parts, *loop.receive.parts) if part)
    steps = {name: float(simulate(_halved(loop, name), orders).step_ns.mean()) for name in parts}
    if loop.settings.workers:
        steps[TRANSFER] = float(simulate(changed(loop, Change(stages=((TRANSFER, 0.5),))), orders).step_ns.mean())
    best = min(steps, key=steps.__getitem__, default=STEP)
    return best if best in steps and steps[best] < 0.999 * run.step_ns.mean() else STEP


def _halved(loop: Loop, name: str) -> Loop:
    """The stage's own time, without the stages inside."""

    def is_own(part: Path) -> bool:
        return bool(part) and part[-1].name == name

    build, receive = (scaled(timed, 0.5, is_own) for timed in (loop.build, loop.receive))
    own_ns, in_step = step_scaled(loop.own_ns, loop.in_step, 0.5, is_own)
    return replace(loop, build=build, receive=receive, own_ns=own_ns, in_step=in_step)
