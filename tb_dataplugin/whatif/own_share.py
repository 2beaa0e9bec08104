"""Beside other programs, a capture does not show who gets the CPU time that DataLoader workers leave, or from whom more
of them take it. To a scheduler that knows threads alone, everyone is alike: so a loop is simulated. One that gives each
session or container a share of its own (autogroups, cgroups) lets the workers of a loop compete with its own step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.taken_cpus import find_taken_cpus
from tb_dataplugin.whatif.loop import Loop, OwnShare

EITHER: Final = (
    "Other programs use the CPUs, too. Whether they or the training step get what DataLoader workers leave depends on "
    "the system: it may give each session or container its own share of the CPUs. The interval has both, so it is wide."
)


def find_own_share(results: Results) -> OwnShare | None:
    """None where other programs have next to none of the CPUs, and without DataLoader workers."""
    taken, load = find_taken_cpus(results), results.load
    if taken is None or load is None or not taken.others_compete or not taken.delayed or not taken.workers_ns:
        return None
    cpus = max(0.0, load.cores - taken.others_ns / results.window.duration_ns)
    return OwnShare(cpus, taken.at_most)


def has_other_work(new: Loop, loop: Loop) -> bool:
    """The workers of `new` take another part of such a share than those of `loop`."""
    return loop.own_share is not None and (new.settings.workers != loop.settings.workers or part_left(new, loop) != 1)


def with_own_share(loop: Loop) -> Iterator[Loop]:
    """The loop with such a share, where the step would not wait for a CPU without its own workers."""
    if loop.own_share is not None:
        cpus = min(loop.cpus, max(1.0, loop.step.demand, loop.own_share.cpus))
        yield replace(loop, cpus=cpus, other_cpus=0.0, light_cpus=0.0)


def least_step_ns(new: Loop, loop: Loop, own_ns: float) -> tuple[float, float] | None:
    """The least that a step of `new` takes, and what of it is no data wait; None without such a share, or where workers
    have no less to do.

    Args:
        own_ns: what the rest of a step, outside its data wait, takes with as much waiting for a CPU as in `loop`.
    """
    left = part_left(new, loop)
    if loop.own_share is None or left >= 1:
        return None
    gone = (1 - left) * loop.own_share.at_most
    runs = 1 - loop.own_delayed
    own_ns *= (runs / (runs + loop.own_delayed * gone)) ** max(1.0, loop.own_threads)
    build_ns = float(new.build.total_ns.mean()) * new.batches_per_step
    step_ns = max(own_ns, build_ns / new.settings.workers) if new.settings.workers else own_ns + build_ns
    return step_ns, own_ns


def part_left(new: Loop, loop: Loop) -> float:
    """Of the CPU time that DataLoader workers use per step in `loop`."""
    before = _used_ns(loop)
    return (_used_ns(new) if new.settings.workers else 0.0) / before if before else 1.0


def _used_ns(loop: Loop) -> float:
    return float(loop.build.total_ns.mean()) * loop.build_cpus * loop.batches_per_step


def notes_on_share(new: Loop, loop: Loop) -> Iterator[str]:
    if has_other_work(new, loop):
        yield EITHER
