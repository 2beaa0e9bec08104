"""What a process tells `tb-dataplugin run` of its recording, in one small file that is written anew at each turn."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, TypedDict

from annotate.launch.order import rank
from annotate.trace_format import EPOCHS_SUFFIX, TRACE_SUFFIX

WORTH_LEAVING: Final = 0.1
"""Of the time from epoch to epoch, from which what lies between them is left beside traces."""

State = Literal["waiting", "recording", "recorded", "nothing"]
"""Nothing is recorded yet; a window is open; there is a file; there will be none, and the reason is known."""


class BetweenEpochs(TypedDict):
    """What lies between epochs of a whole program, which no window has."""

    times: int
    seconds: float
    longest_s: float
    whole_s: float  # from the first epoch to the beginning of the last
    made: int  # DataLoaders alike, one after another
    loader: int  # number of the first of those


class Notes:
    """The file of this process."""

    def __init__(self, folder: Path | None) -> None:
        self._file: Final = None if folder is None else folder / f"{os.getpid()}.json"
        self.state: State = "waiting"
        self.reason = ""
        self.batches = 0
        self.paused_s = 0.0
        """How long the program waited for its trace to be written, the longest of all."""
        self.shortened = ""
        """Why the window is shorter than it would be by its time; empty: it is not."""
        self.between: BetweenEpochs | None = None
        """Once the program is over."""
        self.files: Final[list[str]] = []
        """Traces of ours."""
        self.programs_files: Final[list[str]] = []
        """Traces of the program's own profilers, with our rows in them."""

    def leave_between(self) -> None:
        """Beside our traces, for who reads them; nothing where next to nothing lies between epochs. Never raises."""
        known = self.between
        if known is None or (known["made"] < 2 and known["seconds"] < WORTH_LEAVING * known["whole_s"]):
            return
        for file in self.files:
            if file.endswith(TRACE_SUFFIX):
                with suppress(OSError):
                    Path(file.removesuffix(TRACE_SUFFIX) + EPOCHS_SUFFIX).write_text(json.dumps(known))

    def write(self) -> None:
        """Never raises: a parent that is gone reads no notes."""
        if self._file is None:
            return
        facts: dict[str, Any] = {
            "state": self.state,
            "reason": self.reason,
            "batches": self.batches,
            "rank": rank(),
            "paused_s": self.paused_s,
            "shortened": self.shortened,
            "between": self.between,
            "files": self.files,
            "programs_files": self.programs_files,
        }
        part = self._file.with_suffix(".part")
        with suppress(OSError):
            part.write_text(json.dumps(facts))
            part.replace(self._file)
