"""What py-spy read of native frames in a window, on its way from the watcher to the trace."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_PROGRAM: Final = "py-spy"
_NOT_HERE: Final = "py-spy is not installed (pip install tb-dataplugin[native])"
PATIENCE_S: Final = 10.0
"""For all of py-spy's processes to write what they have."""
MOST_BYTES: Final = 256 << 20
"""Of py-spy's files; larger ones are not read."""


@dataclass(frozen=True, slots=True)
class NativeStacks:
    """By process: when its py-spy was started (``perf_counter_ns``), and the events that it wrote."""

    began: dict[int, int] = field(default_factory=dict)
    texts: dict[int, bytes] = field(default_factory=dict)
    why_not: tuple[str, ...] = ()
    """Why native frames are missing, as clauses; the first is of the training process, where it has none."""
    left_out: int = 0
    """DataLoader workers beyond the limit."""
    cpu_ns: int = 0


class PySpy:
    """Where py-spy is, and the folder that it writes to. One per capture."""

    def __init__(self) -> None:
        self.program = find()
        self.why_not = "" if self.program else _NOT_HERE
        self._folder = ""

    def command(self) -> tuple[str, ...]:
        """For the watcher. Raises: OSError: there is no room for temporary files."""
        self._folder = tempfile.mkdtemp(prefix="annotate-native-")
        return ("n", self.program.encode().hex(), self._folder.encode().hex())

    def taken(self, answer: str, training: int) -> NativeStacks:
        """What the watcher answered, with the files; these are gone then.

        Args:
            training: the training process.
        """
        facts = json.loads(answer)
        reasons = {int(pid): why for pid, why in facts.get("why_not", {}).items()}
        texts: dict[int, bytes] = {}
        for pid in map(int, facts.get("began", {})):
            path = Path(self._folder) / f"{pid}.json"
            with contextlib.suppress(OSError):
                if path.stat().st_size <= MOST_BYTES:
                    texts[pid] = path.read_bytes()
                path.unlink()
            if pid not in texts:
                reasons[pid] = "what py-spy wrote could not be read"
        first = (reasons.pop(training),) if training in reasons else ()
        return NativeStacks(
            began={pid: facts["began"][str(pid)] for pid in texts},
            texts=texts,
            why_not=(*first, *dict.fromkeys(reasons.values())),
            left_out=facts.get("left_out", 0),
            cpu_ns=round(facts.get("cpu_s", 0.0) * 1e9),
        )

    def end(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def find() -> str:
    """Beside this Python, else on the PATH; "" where there is none."""
    beside = Path(sys.executable or "/nowhere/python").with_name(_PROGRAM)
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(_PROGRAM) or ""
