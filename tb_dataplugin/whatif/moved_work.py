"""Work of the training thread that DataLoader workers would do: the same code may take longer there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.units import data_size
from tb_dataplugin.whatif.limit import cpu_share
from tb_dataplugin.whatif.loop import Loop, Timed
from tb_dataplugin.whatif.other_workers import INTO_SHARED

GIVEN_BACK: Final = 128 * 1024
"""Bytes from which malloc may give freed memory back to the system: glibc's default. Which it does depends on what the
process has freed before, which differs between the training process and its DataLoader workers.
"""

LONGER: Final = 2.65
"""Times the CPU time, at most, of code with such results: 20 of 21 that were measured need no more (docs/whatif.md)."""

AS_LONG: Final = ("decode::PIL.Image", INTO_SHARED)
"""Take no longer in a worker (measured), or what they do so is a part of `other_workers`."""

WORTH_SAYING: Final = 0.05
"""Part of the build time that such code has at least."""


def longer_in_workers(new: Loop, loop: Loop) -> Iterator[Loop]:
    """`new`, where its DataLoader workers take over what the training thread does in `loop`, and code with large
    results needs more CPU time there.
    """
    of = _may_take_longer(new, loop)
    if not of.any():
        return
    shares = np.array([cpu_share(new, part) for part in new.build.parts])
    more = new.build.ns * np.where(of, shares * (LONGER - 1), 0.0)
    build = Timed(new.build.parts, new.build.ns + more)
    work = new.build_cpus * float(new.build.total_ns.mean()) + float(more.sum(axis=1).mean())
    yield replace(new, build=build, build_cpus=work / max(1.0, float(build.total_ns.mean())))


def notes_on_moved(new: Loop, loop: Loop) -> Iterator[str]:
    why = why_longer(new, loop)
    if why:
        more = f"The interval reaches up to {LONGER:g} times the CPU time of such stages."
        yield f"{why[0].upper()}{why[1:]}. {more}"


def why_longer(new: Loop, loop: Loop) -> str:
    """As a sentence goes on; "" where nothing large is known to move."""
    of = _may_take_longer(new, loop)
    means = np.where(of, new.build.ns.mean(axis=0), 0.0)
    if means.sum() <= WORTH_SAYING * float(new.build.total_ns.mean()):
        return ""
    part = new.build.parts[int(means.argmax())]
    return (
        f"in a DataLoader worker the same code may take longer: {part[-1].name} has results of "
        f"{data_size(_result_bytes(new, part))}, and memory of that size may go back to the system when it is freed, "
        "and be taken anew"
    )


def _may_take_longer(new: Loop, loop: Loop) -> npt.NDArray[np.bool_]:
    """Per column of what the DataLoader workers of `new` build."""
    moves = new.settings.workers > 0 and loop.settings.workers == 0
    return np.array([moves and _result_bytes(new, part) >= GIVEN_BACK for part in new.build.parts], dtype=np.bool_)


def _result_bytes(loop: Loop, part: Path) -> float:
    """Of one call; of a stage whose results were not measured, as large as a sample of the batch. 0 where nothing is
    known, and where they do not matter.
    """
    if not part or part[-1].name in AS_LONG:
        return 0.0
    sample = (loop.batch_bytes or 0.0) / max(1, loop.batch_size or 1)
    return loop.result_bytes.get(part, sample)
