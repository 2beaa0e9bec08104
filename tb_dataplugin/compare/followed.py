"""Whether what a finding advised was done, as far as settings of the DataLoader show it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from tb_dataplugin.compare.settings import LOADER, SOME, settings_of
from tb_dataplugin.compare.sides import Run

_CALL: Final = re.compile(r"\bDataLoader\(([^()]*)\)")
_ARGUMENT: Final = re.compile(rf"\b({'|'.join(LOADER)})=(\d+|True|False)\b")
_WORDS: Final = {"True": "yes", "False": "no"}
_PYTHON: Final = {words: value for value, words in _WORDS.items()}


class Followed(NamedTuple):
    """`settings`: those of the advice that changed as it says, with their values after the change: "num_workers=5"."""

    state: Literal["yes", "no", "unknown"]
    settings: tuple[str, ...] = ()


def followed(code: str, before: Sequence[Run], after: Sequence[Run]) -> Followed:
    return followed_in(code, (settings_of(before), settings_of(after)))


def followed_in(code: str, settings: tuple[Mapping[str, str], Mapping[str, str]]) -> Followed:
    """Where all settings that the advice (`Finding.code`) names are recorded, and none changed that way, it was not.
    What it says about anything else isn't in a capture.
    """
    states, changed = [], []
    for name, value in _advised(code):
        was, now = (side.get(name, "") for side in settings)
        state = _is_followed(was, now, _WORDS.get(value, value))
        states.append(state)
        if state:
            changed.append(f"{name} of {SOME}" if now == SOME else f"{name}={_PYTHON.get(now, now)}")
    if changed:
        return Followed("yes", tuple(changed))
    return Followed("no" if states and None not in states else "unknown")


def _advised(code: str) -> Iterator[tuple[str, str]]:
    for arguments in _CALL.findall(code):
        yield from _ARGUMENT.findall(arguments)


def _is_followed(was: str, now: str, advised: str) -> bool | None:
    """None where a side did not record it, or has several values. A number is to go that way; of one that is at least 1
    it is known whether it comes from 0, or goes there.
    """
    if (was, now) == ("0", SOME) and advised.isdigit():
        return int(advised) > 0
    if (was, now) == (SOME, "0"):
        return True if advised == "0" else None
    if all(value.isdigit() for value in (was, now, advised)):
        return (int(now) - int(was)) * (int(advised) - int(was)) > 0
    return now != was and now == advised if {was, now} <= {"yes", "no"} else None
