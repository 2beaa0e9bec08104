"""A program that nobody prepared, asked while it runs: Python 3.14 and newer run a script of ours in it
(``sys.remote_exec``), which records one window (`annotate.launch.joined`) and leaves nothing behind.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tb_dataplugin.drive import processes
from tb_dataplugin.drive.asking import Ours
from tb_dataplugin.drive.orders import Order, give_order, take_back

_TOO_OLD: Final = 3
"""Exit status: that Python runs no scripts of others."""
_ASK: Final = f"""
import sys
if not hasattr(sys, "remote_exec"):
    sys.exit({_TOO_OLD})
try:
    sys.remote_exec(int(sys.argv[1]), sys.argv[2])
except Exception as error:
    sys.exit(f"{{type(error).__name__}}: {{error}}")
"""
_SCRIPT: Final = """
try:
    from annotate.launch.joined import join
except Exception as error:
    text = f"annotate is not there for it ({{type(error).__name__}}: {{error}})"
    with open({refused!r}, "w") as file:
        file.write(text)
else:
    join({folder!r})
"""
_SCRIPT_FILE: Final = "join.py"
_REFUSED: Final = "refused"
_START_S: Final = 20.0
"""For another Python to start, on a machine where nothing is free."""
_LOOK_EACH_S: Final = 0.1


class CannotJoin(Exception):
    """The text is a clause; empty where its Python is older, and nobody expects it to be joined."""


def trainers(with_torch: Sequence[int]) -> list[int]:
    """Those of them that train: the ranks of a launcher, or the topmost. Their DataLoader workers are below them."""
    parents, known = processes.parents(), set(with_torch)
    rank = {pid: processes.environment(pid).get("RANK") for pid in with_torch}
    topmost = [pid for pid in with_torch if parents.get(pid) not in known or rank[parents[pid]] != rank[pid]]
    return [pid for pid in topmost if rank[pid] is not None] or topmost[:1]


def join(pids: Sequence[int], seconds: float, logdir: Path) -> list[Ours]:
    """Have them record: each has its order. `leave` when they have.

    Raises:
        CannotJoin: none of them can be asked so.
    """
    joined: list[Ours] = []
    try:
        joined.extend(_join(pid, seconds, logdir) for pid in pids)
        until = time.monotonic() + _START_S
        for each in joined:
            _wait_for(each, until)
    except BaseException:
        leave(joined)
        raise
    return joined


def leave(joined: Sequence[Ours]) -> None:
    """Take the orders back: who has not begun will not."""
    for each in joined:
        if each.note.exists() or (each.folder / _REFUSED).exists():
            take_back(each.folder)
        else:  # it has not come to our script yet, whose file it must find
            (each.folder / _SCRIPT_FILE).write_text("")


def _join(pid: int, seconds: float, logdir: Path) -> Ours:
    if _namespace(pid) != _namespace(os.getpid()):
        raise CannotJoin("it runs in a container of its own")
    folder = give_order(Order(logdir=logdir, wait=None, active=None, standby=True))
    try:
        ours = Ours(pid, folder)
        ours.ask(seconds, logdir)
        script = folder / _SCRIPT_FILE
        script.write_text(_SCRIPT.format(folder=str(folder), refused=str(folder / _REFUSED)))
        _belong_to(pid, folder)
        _ask(pid, script)
    except BaseException:
        take_back(folder)
        raise
    return ours


def _namespace(pid: int) -> str:
    try:
        return str((processes.PROC / str(pid) / "ns" / "mnt").readlink())
    except OSError as error:
        raise CannotJoin(error.strerror or str(error)) from None


def _belong_to(pid: int, folder: Path) -> None:
    """The user of `pid` may read and write it; asked by root it is not ours."""
    owner = (processes.PROC / str(pid)).stat()
    if owner.st_uid != os.geteuid():
        for each in (folder, *folder.iterdir()):
            with suppress(OSError):
                os.chown(each, owner.st_uid, owner.st_gid)


def _ask(pid: int, script: Path) -> None:
    """By the Python that runs the program: another one knows its memory differently."""
    try:
        command = [*processes.python_of(pid), "-c", _ASK, str(pid), str(script)]
    except processes.NoPython as error:
        raise CannotJoin(str(error)) from None
    try:
        environment = processes.to_start_python(pid)
        done = subprocess.run(command, capture_output=True, timeout=_START_S, env=environment, cwd="/", check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotJoin(f"{command[0]} could not be started: {error}") from None
    if done.returncode == _TOO_OLD:
        raise CannotJoin("")
    if done.returncode:
        raise CannotJoin(done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}")


def _wait_for(ours: Ours, until: float) -> None:
    refused = ours.folder / _REFUSED
    while not ours.note.exists():
        if refused.exists():
            raise CannotJoin(refused.read_text(errors="replace"))
        if time.monotonic() > until or not (processes.PROC / str(ours.pid)).exists():
            raise CannotJoin("its main thread runs no Python")
        time.sleep(_LOOK_EACH_S)
