"""What came of a recorded program, in one line."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tb_dataplugin.report.rows import verdict_in_short
from tb_dataplugin.units import duration, percent

if TYPE_CHECKING:
    from tb_dataplugin.report.report_pb2 import Capture

_NO_PYTHON: Final = "no Python with our hook was started (is it Python, without -I, -E and -S?)"
_NO_TORCH: Final = "the program did not import torch.utils.data"
_NO_LOADER: Final = "no DataLoader was iterated"


LONG_PAUSE_S: Final = 3.0
"""From which it is said that a program waited for its trace: who looks on would take it for a fault."""

BETWEEN_EPOCHS: Final = 0.1
"""Of the time from epoch to epoch, from which it is said what lies between them."""

NOTE: Final = "nothing-recorded.txt"
"""In the log directory, where there is nothing else to find: why."""
MOST_OF_A_NOTE: Final = 1000


@dataclass(frozen=True, slots=True)
class Between:
    """What lies between epochs, as annotate's notes have it."""

    times: int
    seconds: float
    longest_s: float
    whole_s: float
    """From the first epoch to the beginning of the last."""
    made: int
    """DataLoaders alike, one after another."""


@dataclass(frozen=True, slots=True)
class Note:
    """What one process of the program says."""

    state: str
    reason: str
    batches: int
    rank: tuple[int, int] | None
    files: tuple[Path, ...]
    programs_files: tuple[Path, ...]
    paused_s: float = 0.0
    """How long it waited for its trace to be written."""
    between: Between | None = None
    """Its time between epochs, in the whole program; None where that is not known."""
    shortened: str = ""
    """Why its window is shorter than it would be by its time."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of all processes of a program."""

    notes: tuple[Note, ...]
    reached: str
    """How far the process that came farthest has come, where there are no notes: "", "python" or "torch"."""
    fault: str
    """Why a process could not load us."""


def read_outcome(folder: Path) -> Outcome:
    """What the processes have left; what cannot be read is left out."""
    notes = [note for path in sorted(folder.glob("*.json")) if (note := _note(path)) is not None]
    reached = next((name for name in ("torch", "python") if any(folder.glob(f"*.{name}"))), "")
    faults = [path.read_text(errors="replace") for path in sorted(folder.glob("*.failed"))]
    return Outcome(tuple(notes), reached, faults[0] if faults else "")


def _note(path: Path) -> Note | None:
    try:
        facts: dict[str, Any] = json.loads(path.read_text())
        rank = facts["rank"]
        return Note(
            str(facts["state"]),
            str(facts["reason"]),
            int(facts["batches"]),
            None if rank is None else (int(rank[0]), int(rank[1])),
            tuple(Path(file) for file in facts["files"]),
            tuple(Path(file) for file in facts["programs_files"]),
            float(facts.get("paused_s", 0.0)),
            _between(facts.get("between")),
            str(facts.get("shortened", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _between(facts: dict[str, float] | None) -> Between | None:
    if not facts:
        return None
    seconds, longest, whole = (float(facts[name]) for name in ("seconds", "longest_s", "whole_s"))
    return Between(int(facts["times"]), seconds, longest, whole, int(facts["made"]))


def traces(outcome: Outcome) -> list[Path]:
    """Ours, by rank; without any, those of the program's own profilers that are still there."""
    ours = [(note.rank or (0, 1), file) for note in outcome.notes for file in note.files]
    if ours:
        return [file for _, file in sorted(ours)]
    return sorted({file for note in outcome.notes for file in note.programs_files if file.is_file()})


def how_to_look(logdir: Path) -> str:
    """Commands for the terminal and the browser."""
    try:
        shown = os.path.relpath(logdir)
    except ValueError:
        shown = str(logdir)
    name = shlex.quote(shown if len(shown) <= len(str(logdir)) else str(logdir))
    return f"`tb-dataplugin report {name}` or `tensorboard --logdir {name}`"


def verdict(captures: Sequence[Capture], logdir: Path, outcome: Outcome | None = None) -> str:
    """The verdict of the capture whose training thread waits for data for the largest share, how to look, and what the
    recording did to the program.
    """
    worst = max(captures, key=lambda capture: capture.loader.wait_us / (capture.window_us or 1))
    whose = ""
    if len(captures) > 1:
        place = f"rank {worst.rank}" if worst.HasField("rank") else worst.name
        whose = f"{len(captures)} captures; the largest data wait is that of {place}: "
    sentence = verdict_in_short(worst).rstrip(". ")
    return f"{whose}{sentence}.{_outside(outcome)}{_pause(outcome)} More: {how_to_look(logdir)}"


def _outside(outcome: Outcome | None) -> str:
    """What no window has: the time between epochs, of the process with most of it."""
    known = [note.between for note in (outcome.notes if outcome else ()) if note.between is not None]
    most = max(known, key=lambda between: between.seconds, default=None)
    if most is None or not most.times or most.seconds < BETWEEN_EPOCHS * most.whole_s:
        return ""
    times = "once" if most.times == 1 else f"{most.times} times, at most {duration(most.longest_s * 1e6)}"
    made = f", and makes its DataLoader anew ({most.made} times in all)" if most.made > 1 else ""
    each, share = duration(most.seconds / most.times * 1e6), percent(most.seconds / most.whole_s)
    return f" Between two epochs the program spends {each} ({times}), {share} of the time from epoch to epoch{made}."


def _pause(outcome: Outcome | None) -> str:
    notes = outcome.notes if outcome else ()
    longest = max((note.paused_s for note in notes), default=0.0)
    said = next((f" {note.shortened}" for note in notes if note.shortened), "")
    if longest >= LONG_PAUSE_S:
        said += f" The program was paused for {duration(longest * 1e6)} while the trace was written."
    return said


def why_nothing(outcome: Outcome, status: int, standby: bool) -> str:
    """Why there is no trace, and what to do."""
    noted = [note for note in outcome.notes if note.reason]
    batches = max((note.batches for note in outcome.notes), default=0)
    if noted:
        why = noted[0].reason
        if any(note.programs_files for note in outcome.notes):
            why += ", and its traces have the stages in them"
    elif outcome.notes and standby:
        why = "nobody asked for it; `tb-dataplugin attach PID` does, while the program runs"
    elif outcome.notes and os.WIFSIGNALED(status):
        why = f"signal {os.WTERMSIG(status)} ended the program before a trace was written"
    elif outcome.notes:
        why = f"the program ended after {batches} batches, before recording began; try --wait {max(batches // 4, 0)}"
    elif outcome.fault:
        why = f"the recorder could not be loaded: {outcome.fault}"
    else:
        why = {"": _NO_PYTHON, "python": _NO_TORCH, "torch": _NO_LOADER}[outcome.reached]
    return f"nothing was recorded: {why}"


def leave_note(logdir: Path, line: str) -> None:
    """Why there is nothing in this folder, for `report`. Never raises: the line was said already."""
    with suppress(OSError):
        logdir.mkdir(parents=True, exist_ok=True)
        (logdir / NOTE).write_text(f"{line}\n")


def note_in(logdir: Path) -> str:
    """What `leave_note` left; "" without."""
    with suppress(OSError):
        if (logdir / NOTE).is_file():
            return (logdir / NOTE).read_text(errors="replace")[:MOST_OF_A_NOTE].strip()
    return ""
