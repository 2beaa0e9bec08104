"""Stacks of a program that cannot be asked, read from outside of it, which it does not notice."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_dataplugin.drive import processes

_START_S: Final = 60.0
"""Beside the seconds that are looked: for a Python to start, on a machine where nothing is free."""


class CannotLook(Exception):
    """The text is a clause: why the stacks cannot be read."""


@dataclass(frozen=True, slots=True)
class Looked:
    """`text`: JSON, as `trace_format.LineSamples`. `pid`: the process that trains, as far as is known beforehand.
    `parents`: of each process of this machine.
    """

    text: bytes
    pid: int
    parents: Mapping[int, int]


def refusal(pid: int, why: str) -> str:
    """What to say, and what to do instead."""
    return (
        f"process {pid} cannot be asked while it runs, and its stacks cannot be read ({why}); start it by "
        "`tb-dataplugin run --standby -- ...`, or with KINETO_USE_DAEMON=1 in its environment"
    )


def look(pid: int, python: int, seconds: float) -> Looked:
    """Read the stacks of `pid` and all below it that the same Python runs as process `python`. Raises: CannotLook."""
    before = processes.parents()
    try:
        command = _command(pid, python, seconds)
    except processes.NoPython as error:
        raise CannotLook(str(error)) from None
    text = _run(command, python, seconds)
    return Looked(text, python, {**before, **processes.parents()})


def _command(pid: int, process: int, seconds: float) -> Sequence[str]:
    """By the Python that runs the program: another one keeps its stacks in another way."""
    return *processes.python_of(process), str(_script()), str(seconds), str(pid)


def _run(command: Sequence[str], pid: int, seconds: float) -> bytes:
    environment = processes.to_start_python(pid)
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds + _START_S, env=environment, cwd="/", check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotLook(f"{command[0]} could not be started: {error}") from None
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise CannotLook(f"{command[0]} failed: {' '.join(last) or f'exit status {done.returncode}'}")
    return done.stdout


def _script() -> Path:
    spec = importlib.util.find_spec("annotate")
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        script = Path(place).absolute() / "host" / "onlooker.py"
        if script.is_file():
            return script
    raise CannotLook("the package `annotate` that reads stacks is missing or another one; reinstall tb-dataplugin")
