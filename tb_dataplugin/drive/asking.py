"""Processes with our part in them are asked by a file in their folder, and answer in their note there."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tb_dataplugin.errors import NothingToReport

OTHERS_S: Final = 20.0
"""Beside the seconds that are recorded: for all that must come first (a step that is under way as recording begins is
no part of the window), and for the writing. With the report's own time it is no more than 25 s.
"""
LOOK_EACH_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Ours:
    """A process with our part in it, that takes batches."""

    pid: int
    folder: Path

    @property
    def note(self) -> Path:
        return self.folder / f"{self.pid}.json"

    @property
    def asked(self) -> Path:
        """What it is asked for; the process takes it away as it begins."""
        return self.folder / f"{self.pid}.ask"

    @property
    def files(self) -> list[Path]:
        """What it has recorded so far."""
        return [Path(file) for file in self.answer.get("files", [])]

    @property
    def answer(self) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            note: dict[str, Any] = json.loads(self.note.read_text())
            return note
        return {"state": "nothing", "reason": "the program has ended"}

    def ask(self, seconds: float, logdir: Path) -> None:
        part = self.asked.with_suffix(".ask.part")
        part.write_text(json.dumps({"seconds": seconds, "logdir": str(logdir)}))
        part.replace(self.asked)


def recorded(ours: Sequence[Ours], before: Mapping[Ours, int], seconds: float) -> list[Path]:
    """What they record, having been asked for so many seconds.

    Args:
        before: how many files each had written.

    Raises:
        NothingToReport: nothing came; says why.
    """
    until = time.monotonic() + seconds + OTHERS_S
    while time.monotonic() < until and not all(_is_answered(each, before[each]) for each in ours):
        time.sleep(LOOK_EACH_S)
    found = [path for each in ours for path in each.files[before[each] :]]
    if not found:
        raise NothingToReport(f"nothing was recorded: {_why(ours)}")
    return found


def _is_answered(ours: Ours, before: int) -> bool:
    if ours.asked.exists():
        return False
    return len(ours.files) > before or ours.answer.get("state") == "nothing"


def _why(ours: Sequence[Ours]) -> str:
    unanswered = [each for each in ours if each.asked.exists()]
    for each in unanswered:
        each.asked.unlink(missing_ok=True)
    if unanswered:
        return f"process {unanswered[0].pid} took no batch meanwhile; ask for more --seconds"
    reason = str(ours[0].answer.get("reason") or "its window was not closed in time; ask for fewer --seconds")
    return f"process {ours[0].pid}: {reason}"
