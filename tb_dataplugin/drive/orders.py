"""What the processes of a program are asked to record, and what they answer: a folder, named in the environment."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_dataplugin.errors import CannotStart

FOLDER: Final = "ANNOTATE_RUN"
"""In the environment. `annotate.launch.order` reads it."""
ORDER: Final = "order.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Record `active` steps (None: as many as lines need) into `logdir` after `wait` batches (None: when the loop is
    steady).
    """

    logdir: Path
    wait: int | None
    active: int | None
    standby: bool


def give_order(order: Order) -> Path:
    """A new folder with the order in it, for this user alone."""
    folder = Path(tempfile.mkdtemp(prefix="annotate-run-"))
    facts = {"logdir": str(order.logdir), "wait": order.wait, "active": order.active, "standby": order.standby}
    (folder / ORDER).write_text(json.dumps(facts))
    return folder


def order_in(folder: Path) -> Order | None:
    """None: it is gone, with the `run` that gave it."""
    try:
        facts = json.loads((folder / ORDER).read_text())
        return Order(logdir=Path(facts["logdir"]), wait=facts["wait"], active=facts["active"], standby=facts["standby"])
    except (OSError, ValueError, KeyError):
        return None


def take_back(folder: Path) -> None:
    """Processes that are still there record nothing from now on."""
    shutil.rmtree(folder, ignore_errors=True)


def environment_for(order: Order, folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """That of the program: ours first on PYTHONPATH.

    Raises:
        CannotStart: the part that goes into the program is not installed.
    """
    return {**with_site(environment), FOLDER: str(folder)}


def with_site(environment: Mapping[str, str]) -> dict[str, str]:
    """Ours first on PYTHONPATH. Raises CannotStart, as `environment_for`."""
    path = environment.get("PYTHONPATH")
    return {**environment, "PYTHONPATH": os.pathsep.join([str(_site()), *([path] if path else [])])}


def _site() -> Path:
    """The folder with our sitecustomize; found without importing anything of it."""
    spec = importlib.util.find_spec("annotate")
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        site = Path(place) / "launch" / "site"
        if (site / "sitecustomize.py").is_file():
            return site.absolute()
    raise CannotStart(125, "the package `annotate` that records is missing or another one; reinstall tb-dataplugin")
