"""The file of a run: JSON, one fact a line, written with one call each, so that a kill cuts off the last line at most.

Bounded: when it has reached its limit, neighbouring intervals are merged, in a new file that takes its
place. Events and captures are kept.
"""

from __future__ import annotations

import json
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Final

from annotate.whole_run.appending import Appended
from annotate.whole_run.tally import Facts, merged

SUFFIX: Final = ".watch.jsonl"
VERSION: Final = 1
LIMIT: Final = 4 << 20
"""Bytes."""
_SLACK: Final = 1.05
"""An interval may be a little longer than another."""
_TAIL: Final = 1 << 17
"""Bytes at a file's end that are looked at for its last interval."""
_MOST_OTHERS: Final = 2000
"""Lines that are no intervals; later ones are left out."""
_MOST_BATCHES: Final = 1 << 48


class RunFile:
    """Open for appending."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        """Raises: OSError: it cannot be made."""
        self.path: Final = path
        self._limit = limit
        self._others = 0
        self._file = Appended(path)

    def add(self, facts: Facts) -> None:
        """Write a line. Raises: OSError."""
        if facts["kind"] != "interval":
            self._others += 1
            if self._others > _MOST_OTHERS:
                return
        self._file.write(_line(facts))
        if self._file.size > self._limit:
            self._make_smaller()

    def close(self) -> None:
        """Harmless when it is closed."""
        self._file.close()

    def _make_smaller(self) -> None:
        """Raises: OSError: the file is as it was, and may grow on."""
        facts = [json.loads(line) for line in self.path.read_bytes().splitlines()]
        spans = [each["to"] - each["from"] for each in facts if each["kind"] == "interval"]
        text, longest, enough = _text(facts), max(min(spans, default=0.0), 0.1), max(spans, default=0.0) * len(spans)
        while len(text) > self._limit // 2 and longest < enough:
            longest *= 2
            facts = thinned(facts, longest)
            text = _text(facts)
        part = self.path.with_suffix(".part")
        part.write_bytes(text)
        file = Appended(part, is_new=False)
        part.replace(self.path)
        self._file.close()
        self._file = file
        self._limit = max(self._limit, 2 * len(text))  # whatever else is in it: not at each line


def _line(facts: Facts) -> bytes:
    return json.dumps(facts, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _text(lines: list[Facts]) -> bytes:
    return b"".join(map(_line, lines))


def thinned(lines: list[Facts], longest: float) -> list[Facts]:
    """Neighbouring intervals merged while what comes of it is not longer than `longest` seconds."""
    kept: list[Facts] = []
    at = -1
    for facts in lines:
        if facts["kind"] != "interval":
            kept.append(facts)
        elif at >= 0 and facts["to"] - kept[at]["from"] <= longest * _SLACK:
            kept[at] = merged(kept[at], facts)
        else:
            at = len(kept)
            kept.append(facts)
    return kept


def batches_until(folder: Path, host: str, pid: int) -> int:
    """What the last interval of a process that wrote into `folder` says in ``batches``; 0: not known.

    Raises: OSError.
    """
    paths = sorted(folder.glob(f"{escape(host)}_{pid}.*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    if not paths:
        return 0
    with paths[-1].open("rb") as file:
        file.seek(max(0, paths[-1].stat().st_size - _TAIL))
        lines = file.read(_TAIL).splitlines()
    for line in reversed(lines):
        with suppress(ValueError):  # one that is cut off
            facts = json.loads(line)
            if isinstance(facts, dict) and type(facts.get("batches")) is int:
                return max(0, min(int(facts["batches"]), _MOST_BATCHES))
    return 0
