"""What differs between a program with us and the same program without."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from tests.harm.cells import IN_THE_BODY, KINDS, Cell
from tests.harm.observe import THE_USERS, Observation

MOST_WORDS: Final = 1
"""Warnings of ours in one run."""

USERS_FILES: Final = frozenset({"program.py", "sides.py", "user_code.py"})
"""A warning of ours points at a line of the user's."""

KILLED: Final = ("terminate", "worker_killed", "hard_exit")
PYTHONS_OWN: Final = ("pymp-*",)
"""Folders that multiprocessing removes at the end of a process: one that is killed leaves them or not, by chance."""

ALLOWED: Final[dict[str, frozenset[str]]] = {
    "instances": frozenset({"loader.collate_fn"}),  # annotate.loader replaces it, by contract, in place
}
"""By field of an observation: what may differ. Each with the reason."""

OPEN: Final = "instances"
"""A window that is open when a loop ends early stays open until the process ends, and a proxy stands for each plain
function among the transforms as long (ARCHITECTURE.md): so it is under `tb-dataplugin run`. A thread that reads ahead
for one epoch is gone with it, and what it opened stays open as well."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it was."""

    field: str
    without: str
    ours: str

    def __str__(self) -> str:
        return f"{self.field}: without us {self.without}; with us {self.ours}"


def differences(cell: Cell, without: Observation, ours: Observation) -> list[Difference]:
    """Nothing, where no harm was done."""
    found = []
    fields = [name for name in THE_USERS if not _may_differ(cell, name)]
    for name in fields:
        one, other = getattr(without, name), getattr(ours, name)
        if isinstance(one, dict):
            allowed = ALLOWED.get(name, frozenset())
            one = {key: value for key, value in one.items() if key not in allowed}
            other = {key: value for key, value in other.items() if key not in allowed}
        if name == "temporary_files" and cell.ending in KILLED:
            is_ours = _has_a_spool_without_workers(cell) or without.processes
            left = {*PYTHONS_OWN, *(["annotate-*"] if is_ours else [])}
            one, other = ([item for item in files if item not in left] for files in (one, other))
        if one != other:
            found.append(_difference(name, one, other))
    return found + list(_of_ours(cell, without, ours))


def _has_a_spool_without_workers(cell: Cell) -> bool:
    """Workers remove the spool of a program that is killed; where it has none then, the next program does.

    A loader with an ``__iter__`` of its own has its spool before its workers. A window that waits for its export may
    be left by an annotate.profile whose workers have a spool of their own; so may the spool of the standing hooks be,
    by one that is entered in the first epoch: the workers of the second are its own. Workers of a fork server outlive
    their program, with us and without, until they are killed as well.
    """
    waits = cell.profilers == "ours_in_user" and cell.phase == "after" and cell.export == "late"
    kind, enters_late = KINDS[cell.loader], ("ours_in_user", "ours_outlasts_user", "two_users_and_ours")
    has_other_workers = cell.profilers in enters_late and cell.phase == "after" and kind.workers and kind.epochs > 1
    return cell.loader == "own_iter" or waits or bool(has_other_workers)


def _may_differ(cell: Cell, name: str) -> bool:
    if name == OPEN:
        return cell.marks == "run" and (cell.ending != "normal" or cell.loader == "read_ahead")
    return name == "worker_warnings" and not _all_workers_were_heard(cell)


def _all_workers_were_heard(cell: Cell) -> bool:
    """False where the loop ended before each worker had handed in a batch: some may have been stopped before."""
    program, kind = cell.program(), KINDS[cell.loader]
    return program.ending not in IN_THE_BODY or program.strike % kind.batches + 1 >= kind.workers


def _difference(name: str, one: Any, other: Any) -> Difference:
    if isinstance(one, dict):
        keys = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
        pair: tuple[Any, Any] = {k: one.get(k) for k in keys}, {k: other.get(k) for k in keys}
    elif isinstance(one, list) and name != "raised":
        rest = [item for item in other if item not in one]
        missing = [item for item in one if item not in other]
        if not rest and not missing:
            rest, missing = other, one
        pair = [len(one), *missing[:3]], [len(other), *rest[:3]]
    else:
        pair = one, other
    return Difference(name, *(_short(json.dumps(value, ensure_ascii=False)) for value in pair))


def _short(text: str) -> str:
    return text if len(text) <= 600 else text[:600] + "..."


def _of_ours(cell: Cell, without: Observation, ours: Observation) -> list[Difference]:
    """What holds of our own words and results."""
    found = []
    words = ours.our_words
    if len(words) > MOST_WORDS:
        found.append(Difference("our_words", "at most one", _short(f"{len(words)}: {json.dumps(words)}")))
    astray = [word for word in words if len(word) > 2 and word[2] not in USERS_FILES]
    if astray:
        found.append(Difference("our_words", "at the user's own line", _short(json.dumps(astray))))
    if "another loader" in ours.told:
        found.append(Difference("told", "the same loader", "another one"))
    refused = ours.told.get("refused")
    if refused is not None:
        text = str(refused[0])
        if cell.profilers not in _MAY_REFUSE or "\n" in text or not text.startswith("annotate"):
            found.append(Difference("refused", "one line, where another profiler is at work", text))
    if cell.fault:
        if ours.told.get("hit") and len(words) != 1 and not cell.interrupted:
            found.append(Difference("our_words", "one warning for a fault of ours", str(len(words))))
    elif cell.ending == "normal" and cell.profilers == "ours" and ours.told.get("trace files", [0])[0] != 1:
        found.append(Difference("told", "one trace file", str(ours.told.get("trace files"))))
    return found


_MAY_REFUSE: Final = frozenset({"ours_in_user", "ours_outlasts_user", "two_users_and_ours"})
