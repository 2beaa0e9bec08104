"""CPUs that programs other than this one took while it was recorded.

The host's load is of all programs; the training process, its DataLoader workers and the process that looks at their
threads have counters of their own. What is left are others: times of stages, and what a change would bring, are then
those of a machine that is shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sampling_cost import sampling_cpus
from tb_dataplugin.analyses.taken_cpus import building_cpus, passing_cpus, training_costs
from tb_dataplugin.units import significant

BUSY: Final = 0.9
"""Share of the time that the CPUs are busy, from which a program that wants one has to wait."""

MANY: Final = 0.25
"""Share of all CPU time that others have, from which it is they who make a stage slow: the same program beside nothing
would have had up to a third more.
"""


@dataclass(frozen=True, slots=True)
class OtherPrograms:
    """`cores` CPUs, busy for the share `busy` of the window; `others` of them with other programs, on average.
    Processes that the program itself starts are among these: all, or with `lasting` those that live through the window.
    """

    cores: int
    busy: float
    others: float
    lasting: bool = False

    @property
    def own(self) -> float:
        """CPUs that this program had."""
        return max(0.0, self.busy * self.cores - self.others)

    @property
    def crowd(self) -> bool:
        return self.busy >= BUSY and self.others >= MANY * self.cores


def find_other_programs(results: Results) -> OtherPrograms | None:
    """None where the load, or the CPU time of this program, was not recorded, and where ranks may share the host."""
    load, thread = results.load, training_costs(results)
    if load is None or load.cpu_busy is None or not load.cores or (results.trace.info.world_size or 1) > 1:
        return None
    if thread is None:
        return None
    mine = building_cpus(results)
    if mine is None or thread.process_cpu_ns is None:
        return None
    own = mine + thread.process_cpu_ns / results.window.duration_ns + sampling_cpus(results) + passing_cpus(results)
    others, lasting = max(0.0, load.cpu_busy * load.cores - own), thread.passing_children_ns is not None
    return OtherPrograms(load.cores, load.cpu_busy, others, lasting)


def crowd_sentence(found: OtherPrograms) -> str:
    return (
        f"Other programs used {significant(found.others)} CPUs of {found.cores}, and none was free. "
        f"Times and gains are those of a crowded machine: record again when it is not. ({counted_as_others(found)})"
    )


def counted_as_others(found: OtherPrograms) -> str:
    """A sentence."""
    lasting = " and that live on" if found.lasting else ""
    return f"Processes that this program starts itself{lasting}, other than DataLoader workers, count as others."
