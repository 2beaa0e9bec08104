"""CPUs that programs other than this one took while it was recorded.

The host's load is of all programs; the training process, its child processes and the process that looks at their
threads have counters of their own. What is left are others: times of stages, and what a change would bring, are then
those of a machine that is shared. Earlier captures have no counter of child processes that live through the window:
of these, only DataLoader workers with records are known to be the program's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sampling_cost import sampling_cpus
from tb_dataplugin.analyses.taken_cpus import building_cpus, passing_cpus, training_costs
from tb_dataplugin.units import plural, significant

BUSY: Final = 0.9
"""Share of the time that the CPUs are busy, from which a program that wants one has to wait."""

MANY: Final = 0.25
"""Share of all CPU time that others have, from which it is they who make a stage slow: the same program beside nothing
would have had up to a third more.
"""


@dataclass(frozen=True, slots=True)
class OtherPrograms:
    """`cores` CPUs, busy for the share `busy` of the window; `others` of them with other programs, on average.
    `children`: with child processes of this program that are no DataLoader workers with records. None: not known, and
    such processes are among the others: all, or with `lasting` those that live through the window. `unsure`: nor is it
    known whether DataLoader workers are among these.
    """

    cores: int
    busy: float
    others: float
    lasting: bool = False
    children: float | None = None
    unsure: bool = False

    @property
    def own(self) -> float:
        """CPUs that this program had."""
        return max(0.0, self.busy * self.cores - self.others)

    @property
    def crowd(self) -> bool:
        return not self.unsure and self._is_much(self.others)

    def _is_much(self, cpus: float) -> bool:
        return self.busy >= BUSY and cpus >= MANY * self.cores

    @property
    def own_crowd(self) -> bool:
        """Where no CPU is free, the program's own child processes have many of them."""
        return self.children is not None and self._is_much(self.children)

    @property
    def unsure_crowd(self) -> bool:
        return self.unsure and self._is_much(self.others)


def find_other_programs(results: Results) -> OtherPrograms | None:
    """None where the load, or the CPU time of this program, was not recorded, and where ranks may share the host."""
    load, thread = results.load, training_costs(results)
    if load is None or load.cpu_busy is None or not load.cores or (results.trace.info.world_size or 1) > 1:
        return None
    if thread is None:
        return None
    mine, children_ns, duration_ns = building_cpus(results), thread.children_ns, results.window.duration_ns
    if thread.process_cpu_ns is None or not duration_ns:
        return None
    own = thread.process_cpu_ns / duration_ns + sampling_cpus(results)
    if children_ns is not None:
        others = max(0.0, load.cpu_busy * load.cores - own - children_ns / duration_ns)
        beside = max(0.0, children_ns / duration_ns - (mine or 0.0))
        return OtherPrograms(load.cores, load.cpu_busy, others, children=beside)
    if mine is None:
        return None
    others = max(0.0, load.cpu_busy * load.cores - own - mine - passing_cpus(results))
    lasting, unsure = thread.passing_children_ns is not None, not _iterates_loader(results)
    return OtherPrograms(load.cores, load.cpu_busy, others, lasting, unsure=unsure)


def _iterates_loader(results: Results) -> bool:
    """What the loop iterates is a DataLoader, or a DataLoader's workers build its batches: else it is not known who
    makes them.
    """
    settings = results.settings
    return results.workers is not None or settings is None or settings.num_workers is not None


def crowd_sentence(found: OtherPrograms) -> str:
    return (
        f"Other programs used {significant(found.others)} CPUs of {found.cores}, and none was free. "
        f"Times and gains are those of a crowded machine: record again when it is not. ({counted_as_others(found)})"
    )


def own_crowd_sentence(found: OtherPrograms, workers: int | None) -> str:
    """`workers`: as `unfollowed_workers`."""
    had = f"{significant(found.children or 0.0)} CPUs of {found.cores}, and none was free"
    if not workers:
        return f"Child processes of this program, beside what the batches of DataLoader workers took, used {had}"
    are, them = ("is", "it") if workers == 1 else ("are", "them")
    return (
        f"Child processes of this program that the capture does not follow used {had}. "
        f"{plural(workers, 'DataLoader worker')} {are} among {them}: pass the DataLoader to annotate.loader before it "
        "is iterated, and capture again to see what they do"
    )


def unsure_crowd_sentence(found: OtherPrograms) -> str:
    return (
        f"Other programs, or other processes of this one, used {significant(found.others)} CPUs of {found.cores}, and "
        "none was free. Whose they are was not recorded: DataLoader workers that the capture does not follow may be "
        "among them. Capture again with this version, and pass each DataLoader to annotate.loader"
    )


def counted_as_others(found: OtherPrograms) -> str:
    """A sentence."""
    if found.children is not None:
        return "Child processes of the training process do not count as others."
    lasting = " and that live on" if found.lasting else ""
    return f"Processes that this program starts itself{lasting}, other than DataLoader workers, count as others."
