"""What other programs took of the CPUs while something was measured: a shared machine is quiet only by agreement."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import Final

DISTURBED: Final = 0.05
"""Share of all CPUs that others take, from which on a window is measured again."""

AGAIN: Final = 2
"""Times; then it counts as it is."""


class Neighbours:
    """From when it is made: `share` of the CPUs that neither this process took, nor children that have ended."""

    def __init__(self) -> None:
        self._time, self._busy, self._own = time.perf_counter(), _busy_s(), _own_s()

    @property
    def share(self) -> float:
        others = _busy_s() - self._busy - (_own_s() - self._own)
        return others / ((time.perf_counter() - self._time) * (os.cpu_count() or 1))


def _busy_s() -> float:
    """Of all CPUs, with what the hypervisor took."""
    user, nice, system, _, _, *more = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(more)) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
