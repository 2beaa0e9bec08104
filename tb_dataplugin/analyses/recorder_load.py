"""CPUs that recording itself took: those of the process that looks at the program's threads.

It looks seldom, but its start costs some tens of milliseconds of CPU time, which a short window does not spread. Where
no CPU is free, that is time which the program waited for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.analyses.other_programs import BUSY
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sampling_cost import sampling_cpus
from tb_dataplugin.units import duration, percent

MUCH: Final = 0.1
"""Share of all CPU time, from which a program that wants all of it would have had up to a ninth more without recording:
more than most findings promise."""


@dataclass(frozen=True, slots=True)
class RecorderLoad:
    """`used` CPUs of `cores`, which were busy for the share `busy` of the window, `window_ns` long."""

    used: float
    cores: int
    busy: float
    window_ns: int

    @property
    def share(self) -> float:
        return self.used / self.cores

    @property
    def crowds(self) -> bool:
        return self.busy >= BUSY and self.share >= MUCH


def find_recorder_load(results: Results) -> RecorderLoad | None:
    """None where the load of the machine was not recorded."""
    load = results.load
    if load is None or load.cpu_busy is None or not load.cores:
        return None
    whole = results.selection.whole if results.selection else results.window
    return RecorderLoad(sampling_cpus(results), load.cores, load.cpu_busy, whole.duration_ns)


def recorder_sentence(found: RecorderLoad) -> str:
    return (
        f"The process that samples threads for this recording took {percent(found.used)} of one CPU of {found.cores}, "
        f"and none was free: it has to start, and the window lasts only {duration(found.window_ns / 1e3)}. The program "
        "had so much less, and its times are too long: record more steps."
    )
