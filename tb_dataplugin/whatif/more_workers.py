"""What becomes of more DataLoader workers: whether a CPU is free for them, and what else keeps them from helping."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.kept_loads import KeptLoads
from tb_dataplugin.units import percent
from tb_dataplugin.whatif.loop import Loop

MUCH_LOCKED: Final = 0.05
"""Share of the window, as of a data wait that counts."""

LITTLE: Final = 0.1
"""Part of the CPUs: workers that need less take nothing worth a word from what runs there."""

FULL: Final = 0.9
"""Share of the time that the CPUs were busy from which more processes only share them (as the findings'
CPU_SATURATED)."""


def none_free(workers: int, loop: Loop) -> str:
    """Why nobody can say what more DataLoader workers gain: no CPU was free. "" where they are no more, or one was."""
    if _taken_by_others(workers, loop):
        demand, others = _demand(loop.settings.workers, loop), _others(loop)
        return (
            f"*: no CPU is free: what runs already would keep {demand:.2g} CPUs busy ({others:.2g} of them for other "
            f"threads and programs), and there are {loop.cpus:g}. More DataLoader workers would mostly take CPU time "
            "from what already runs. 'At least' is what a step would take if these others gave way, and its work kept "
            "all CPUs busy."
        )
    if _taken_by_loop(workers, loop):
        return (
            f"*: no CPU was free: the {loop.cpus:g} CPUs were {percent(loop.cpus_busy)} busy, recording aside. More "
            "DataLoader workers would only share them: a step takes at least as long as its work keeps all of them "
            "busy."
        )
    return ""


def _taken_by_others(workers: int, loop: Loop) -> bool:
    """More DataLoader workers only gain what other programs lose. Not where the CPUs were seen to be free for a part of
    the time: the step and the worker that it waits for do not want them at once.
    """
    if 0 < loop.cpus_busy < FULL:
        return False
    if _more(workers, loop) * loop.build_cpus < LITTLE * loop.cpus:
        return False  # they mostly wait for something else than a CPU
    return _others(loop) >= LITTLE * loop.cpus and _demand(loop.settings.workers, loop) >= loop.cpus


def _taken_by_loop(workers: int, loop: Loop) -> bool:
    """More DataLoader workers only gain what those that there are lose, or the step."""
    if loop.cpus_busy < FULL or _more(workers, loop) <= 0:
        return False
    return workers * loop.build_cpus >= LITTLE * loop.cpus


def work_ns(loop: Loop) -> float:
    """A step takes no less, however many DataLoader workers there are: all of its work on all CPUs that there are, did
    other programs give way, or what its own thread does. CPUs work for it while it waits for another DataLoader, too.
    """
    receiving = float(loop.receive.total_ns.mean()) + loop.around_ns
    building = float(loop.build.total_ns.mean()) * loop.build_cpus
    own = float(loop.own_ns.mean())
    work = (building + receiving * loop.receive_cpus) * loop.batches_per_step + own * loop.step.demand
    beside = float(loop.taking_ns.mean())
    alone = max(beside * loop.batches_per_step, (receiving - beside) * loop.batches_per_step + own)
    return max(work / loop.cpus - float(loop.paused_ns.mean()), alone)


def hindrances(loop: Loop, new: Loop) -> Iterator[str]:
    """Why more DataLoader workers bring less than as many times the work, or nothing. `new`: with the change made."""
    workers = new.settings.workers
    more = _more(workers, loop)
    if more > 0 and loop.lock is not None:
        yield (
            f"DataLoader workers wait for one another at {loop.lock.row.place.short}, where they share a lock: more of "
            "them would wait longer."
        )
    elif more > 0 and loop.possible_lock:
        yield (
            f"DataLoader workers are blocked in a call to a database at {loop.possible_lock}: if they wait for one "
            "another there, more of them would wait longer, which is not predicted."
        )
    if loop.kept is not None and workers > max(1, loop.settings.workers) and _takes_time(loop.kept, new):
        often = "once" if loop.kept.calls == 1 else f"{loop.kept.calls} times"
        yield (
            f"{loop.kept.stage.name} is called for few batches ({often} in {loop.kept.batches}): each "
            "of more DataLoader workers is taken to call it again, since consecutive batches go to different ones."
        )
    if more > 0 and loop.locked >= MUCH_LOCKED:
        yield (
            f"For {percent(loop.locked)} of the window the training thread waits for Python's lock (GIL), which other "
            "threads of its process hold. DataLoader workers are processes with locks of their own, but it still waits "
            "for this one, to receive their batches too: a step may take far longer than predicted, even than now."
        )


def _takes_time(kept: KeptLoads, new: Loop) -> bool:
    of = [kept.has(part) for part in new.build.parts]
    return bool(new.build.ns[:, of].any())


def may_lack_cpus(workers: int, loop: Loop) -> bool:
    """Whether the step and more DataLoader workers would keep more CPUs busy than there are, were all busy at once:
    they are not where the queue is full.
    """
    return _more(workers, loop) * loop.build_cpus >= LITTLE * loop.cpus and _demand(workers, loop) >= loop.cpus


def finds_cpus(workers: int, loop: Loop) -> bool:
    """The last of so many DataLoader workers has a CPU, or a part of one, where nothing else runs."""
    return (workers - 1) * loop.build_cpus < loop.cpus


def _more(workers: int, loop: Loop) -> int:
    return workers - loop.settings.workers


def _others(loop: Loop) -> float:
    return loop.other_cpus + loop.light_cpus


def _demand(workers: int, loop: Loop) -> float:
    """CPUs that everything would keep busy at once, with the DataLoader workers of `new`."""
    return _others(loop) + workers * loop.build_cpus + loop.own_cpus
