"""What a process is asked to record: by `tb-dataplugin run`, or by ANNOTATE in the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from annotate.options import FEWEST_STEPS, Active, Wait, absolute

FOLDER: Final = "ANNOTATE_RUN"
"""In the environment: the folder with the order and the notes of a `tb-dataplugin run`."""
LOGDIR: Final = "ANNOTATE"
"""In the environment, without `run`: where to write."""
FILE: Final = "order.json"
ACTIVE: Final = FEWEST_STEPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Record `active` steps into `logdir` ("auto": as lines need), after `wait` batches ("auto": when steady)."""

    logdir: Path
    wait: Wait = "auto"
    active: Active = "auto"
    is_standby: bool = False
    """Record nothing before `tb-dataplugin attach` asks for it."""
    folder: Path | None = None
    """For notes to the parent; None: there is no parent, and the process itself says what came of it."""


def read_order(environment: Mapping[str, str]) -> Order | None:
    """The order of this process; None where nobody asks for anything, or who asked is gone.

    Raises:
        ValueError: the order cannot be understood.
    """
    folder = environment.get(FOLDER)
    if folder:
        try:
            asked = json.loads((Path(folder) / FILE).read_text())
        except OSError:
            return None
        return Order(
            logdir=Path(asked["logdir"]),
            wait="auto" if asked["wait"] is None else int(asked["wait"]),
            active="auto" if asked["active"] is None else int(asked["active"]),
            is_standby=bool(asked["standby"]),
            folder=Path(folder),
        )
    logdir = environment.get(LOGDIR)
    return Order(logdir=absolute(logdir)) if logdir else None


def rank() -> tuple[int, int] | None:
    """Rank and world size, as launchers put them into the environment."""
    try:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return None
