"""What limits a loop: the part of it that would bring most if it took half as long; or the CPUs.

Of a stage that is its self time: one that calls others has theirs in what a change of it brings (`change.is_of`), and
would be named for what is to be done in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.whatif.change import TRANSFER, Change, changed, scaled, step_scaled
from tb_dataplugin.whatif.loop import Loop, Timed
from tb_dataplugin.whatif.simulation import Orders, Simulated, simulate

STEP: Final = "step"
DEVICE: Final = "device"
"""In the place of a stage: the rest of the step, and what the device computes for it."""

NEXT_TO_NOTHING: Final = 0.05
"""Share of data wait below which the loader limits nothing (as the findings' INPUT_BOUND)."""

LITTLE: Final = 0.001
"""Part of a step by which a change has to shorten it to be what limits."""

CLOSE: Final = 0.5
"""Of the gain of the best part, what another one gains with the batches as they came, from which chance may have put it
behind. All orders decide between them, so that changes that are alike have the same answer."""


@dataclass(frozen=True, slots=True)
class Limit:
    """`name`: a stage, ``transfer``, or `STEP`. `of_cpus`: the CPUs limit, and `name` has most of the work for them."""

    name: str
    of_cpus: bool = False


def limited_by(
    loop: Loop, orders: Sequence[Orders], runs: Sequence[Simulated], wait_share: float, *, lacks_cpus: bool = False
) -> Limit:
    """`runs`: of the loop in those orders, first as they came; `wait_share`: what is predicted of it. `lacks_cpus`: not
    all that it would keep busy at once are there.
    """
    if wait_share < NEXT_TO_NOTHING:
        return Limit(STEP)
    if lacks_cpus and _cpus_limit(loop, orders):
        return Limit(_most_work(loop), of_cpus=True)
    parts = dict.fromkeys(part[-1].name for part in (*loop.build.parts, *loop.receive.parts) if part)
    less = {name: _halved(loop, name) for name in parts}
    if loop.settings.workers:
        less[TRANSFER] = _sent_sooner(loop)
    now = float(runs[0].step_ns.mean())
    gains = {name: now - _step_ns(faster, orders[:1]) for name, faster in less.items()}
    most = max(gains.values(), default=0.0)
    if most <= LITTLE * now:
        return Limit(STEP)
    close = [name for name, gain in gains.items() if gain >= CLOSE * most]
    return Limit(close[0] if len(close) == 1 else min(close, key=lambda name: _step_ns(less[name], orders)))


def _cpus_limit(loop: Loop, orders: Sequence[Orders]) -> bool:
    """Whether enough CPUs would shorten a step, and by more than what may limit beside them: building that waits for
    something else, and the transfer.
    """
    enough = _step_ns(replace(loop, cpus=float("inf")), orders)
    if enough >= (1 - LITTLE) * _step_ns(loop, orders):
        return False
    others = [without_waiting(loop)] + ([_sent_sooner(loop)] if loop.settings.workers else [])
    return all(enough < _step_ns(other, orders) for other in others)


def _sent_sooner(loop: Loop) -> Loop:
    return changed(loop, Change(stages=((TRANSFER, 0.5),)))


def without_waiting(loop: Loop) -> Loop:
    """Building does what needs a CPU, and is never blocked."""
    shares = np.array([cpu_share(loop, part) for part in loop.build.parts])
    build = Timed(loop.build.parts, loop.build.ns * shares)
    before, left = float(loop.build.total_ns.mean()), float(build.total_ns.mean())
    return replace(loop, build=build, build_cpus=loop.build_cpus * before / left) if left else loop


def _most_work(loop: Loop) -> str:
    """The stage whose self time needs a CPU for longest."""
    work: dict[str, float] = {}
    for part, ns in zip(loop.build.parts, loop.build.ns.mean(axis=0).tolist(), strict=True):
        if part:
            work[part[-1].name] = work.get(part[-1].name, 0.0) + ns * cpu_share(loop, part)
    return max(work, key=work.__getitem__, default=STEP)


def cpu_share(loop: Loop, part: Path) -> float:
    """Of the own time of a part of building, that is work for a CPU."""
    return loop.on_cpu.get(part, min(1.0, loop.build_cpus))


def _step_ns(loop: Loop, orders: Sequence[Orders]) -> float:
    return sum(float(simulate(loop, order).step_ns.mean()) for order in orders) / len(orders)


def _halved(loop: Loop, name: str) -> Loop:
    """The stage's own time, without the stages inside."""

    def is_own(part: Path) -> bool:
        return bool(part) and part[-1].name == name

    build, receive = (scaled(timed, 0.5, is_own) for timed in (loop.build, loop.receive))
    own_ns, in_step = step_scaled(loop.own_ns, loop.in_step, 0.5, is_own)
    return replace(loop, build=build, receive=receive, own_ns=own_ns, in_step=in_step)
