"""A loop whose simulation has the steps and the data waits that were measured.

A step that sleeps, or waits for a device, often gets a CPU at once where one that computes would wait; and batches come
later than their parts explain, where workers wake up late. Factors make up for it, each where it belongs: how long the
step, receiving and building wait for a CPU was measured; and what the simulation then still misses of the data wait is
time of the loader, which gets less where a change leaves less to do. It is none of the rest of a step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.simulation import Orders, simulate

MOST: Final = 2.0
"""By how much the loader's work is stretched, or shortened, at most: more than that has another cause."""

ALIKE: Final = 0.005
"""Part of a step within which the simulation is as measured."""

TRIES: Final = 6
"""Of which every second one halves the range, and most do far better."""


def as_measured(loop: Loop) -> Loop:
    """With `Loop.eased`, its like, and `Loop.stretched` such that the simulation waits as long as was measured, for a
    CPU and for data; the latter is left alone where no work of the loader's explains the wait.
    """
    orders = Orders.as_recorded(loop)
    return _waiting_as_long(
        _eased(replace(loop, eased=1.0, receive_eased=1.0, build_eased=1.0, stretched=1.0), orders), orders
    )


def _eased(loop: Loop, orders: Orders) -> Loop:
    """With what the training thread waits for a CPU. Where nothing of that was recorded, it is what is simulated: it is
    taken off the rest of a step then.
    """
    took = loop.measured_step_ns - loop.measured_wait_ns
    if took <= 0 or not loop.own_ns.any():
        return loop
    for _ in range(TRIES):
        run = simulate(loop, orders)
        missed = took / (float(loop.own_ns.mean()) * run.slowed)
        receiving, building = (
            _over(loop.receive_delayed, run.receive_slowed),
            _over(loop.build_delayed, run.build_slowed),
        )
        if all(abs(each - 1) < ALIKE for each in (missed, receiving, building)):
            break
        loop = replace(loop, receive_eased=loop.receive_eased * receiving, build_eased=loop.build_eased * building)
        known = loop.own_delayed > 0
        loop = replace(loop, eased=loop.eased * missed) if known else replace(loop, own_ns=loop.own_ns * missed)
    return loop


def _over(delayed: float, slowed: float) -> float:
    """How much longer something took for that share of waiting for a CPU, over how much it does in the simulation."""
    return 1 / ((1 - delayed) * slowed) if delayed else 1.0


def _waiting_as_long(loop: Loop, orders: Orders) -> Loop:
    """With the factor next to 1 that does, between a near one, with which something is missed, and a far one."""
    missed, little = _missed_ns(loop, orders), ALIKE / 2 * loop.measured_step_ns
    sign = 1.0 if missed > 0 else -1.0
    near, factor = (1.0, sign * missed - little), MOST**sign
    if near[1] <= little:
        return loop
    far = factor, sign * _missed_ns(replace(loop, stretched=factor), orders) - little
    for number in range(TRIES if far[1] <= 0 else 0):
        part = near[1] / (near[1] - far[1]) if number % 2 == 0 else 0.5
        factor = near[0] + part * (far[0] - near[0])
        left = sign * _missed_ns(replace(loop, stretched=factor), orders) - little
        if abs(left) <= little / 2:
            break
        near, far = ((factor, left), far) if left > 0 else (near, (factor, left))
    return loop if far[1] > 0 else replace(loop, stretched=factor)


def _missed_ns(loop: Loop, orders: Orders) -> float:
    """Of the data wait per step, what the simulation has not; below 0 where it has more."""
    return loop.measured_wait_ns - float(simulate(loop, orders).wait_ns.mean())
