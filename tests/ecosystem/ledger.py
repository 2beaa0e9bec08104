"""What a run of these tests saw, for docs/ecosystem.md: one line of JSON for each cell and each script.

`make test-ecosystem` has it written to the file that the environment variable `ECOSYSTEM_RUN` names. The run may be cut
into pieces (``pytest tests/ecosystem/test_pipelines.py -k monai``): lines are added, and of a cell the last one counts.
With ``ECOSYSTEM_GO_ON=1`` it goes on where it was stopped.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tests.ecosystem.pipeline import Pipeline
from tests.which_commit import commit

FILE: Final = "ECOSYSTEM_RUN"
GO_ON: Final = "ECOSYSTEM_GO_ON"
"""In the environment: what the file has of this commit is not run again (`conftest`)."""
STAGE_TABLE: Final = "stage table"


class Made(NamedTuple):
    """When a line was written."""

    commit: str
    day: str
    load: float
    """Processes that wanted a CPU, in the last minute."""


class Tried(NamedTuple):
    """One pipeline in one way."""

    module: str
    library: str
    version: str
    title: str
    way: str
    same: bool
    """The batches that it gives without us, in that number."""
    first: tuple[bool, ...]
    """Of each attempt: the planted stage has most of the data wait. Empty: none came to its end."""
    leading: tuple[str, ...]
    """The stage that had most, of each attempt."""
    stages: tuple[str, ...]
    """Named in any of them, without waits."""
    unseen: str
    note: str
    """What went wrong, or what we said."""


class Ran(NamedTuple):
    """One training script under `tb-dataplugin run`."""

    script: str
    outcome: str
    """`STAGE_TABLE`, why there is none, or what went wrong."""
    is_fine: bool
    """The script said what it says without us."""


class Run(NamedTuple):
    """What is in such a file."""

    made: list[Made]
    """The different commits and days of its cells, each with the highest load."""
    tried: dict[tuple[str, str, str], Tried]
    """By module, title and way."""
    ran: dict[str, Ran]
    ran_made: Sequence[Made] = ()
    """As `made`, of the scripts."""
    commits: Mapping[tuple[str, str, str], str] = MappingProxyType({})
    """Of each cell."""


def note(seen: Tried | Ran) -> None:
    """A cell or script has been tried; nothing happens where nobody asks for the file."""
    path = os.environ.get(FILE)
    if path:
        with Path(path).open("a") as file:
            file.write(json.dumps({"kind": type(seen).__name__, "made": _made(), "seen": seen}) + "\n")


def done() -> set[tuple[str, ...]]:
    """Module, title and way of the cells, and names of the scripts, that the file has of this commit."""
    path = Path(os.environ.get(FILE, ""))
    if not os.environ.get(GO_ON) or not path.is_file():
        return set()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    seen = [(line["kind"], line["seen"]) for line in lines if line["made"][0] == _commit()]
    return {(each[0], each[3], each[4]) if kind == "Tried" else (each[0],) for kind, each in seen}


def of_pipeline(module: str, pipeline: Pipeline, way: str, **facts: Any) -> Tried:
    """`facts`: the fields that a run has shown."""
    known = {"library": pipeline.library, "title": pipeline.title, "unseen": pipeline.unseen}
    return Tried(module=module, way=way, version=_version(pipeline.library), **known, **facts)


def read(paths: Sequence[Path]) -> Run:
    """The lines of such files, the later ones in the place of earlier ones."""
    made: dict[str, dict[tuple[str, str], float]] = {"Tried": {}, "Ran": {}}
    tried: dict[tuple[str, str, str], Tried] = {}
    ran: dict[str, Ran] = {}
    commits_of: dict[tuple[str, str, str], str] = {}
    for line in (json.loads(line) for path in paths for line in path.read_text().splitlines()):
        commit, day, load = line["made"]
        of_kind = made[line["kind"]]
        of_kind[commit, day] = max(load, of_kind.get((commit, day), 0.0))
        if line["kind"] == "Tried":
            seen = Tried(*(tuple(field) if isinstance(field, list) else field for field in line["seen"]))
            key = seen.module, seen.title, seen.way
            tried[key], commits_of[key] = seen, commit
        else:
            script = Ran(*line["seen"])
            ran[script.script] = script
    cells, scripts = ([Made(*key, load) for key, load in each.items()] for each in made.values())
    return Run(cells, tried, ran, scripts, commits_of)


def _made() -> Made:
    return Made(_commit(), time.strftime("%Y-%m-%d", time.gmtime()), round(os.getloadavg()[0], 1))


_commit = functools.cache(commit)


def _version(library: str) -> str:
    try:
        return version(library).partition("+")[0]
    except PackageNotFoundError:
        return "no build for CPUs"
