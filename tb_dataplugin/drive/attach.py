"""A look into a program that runs: by our part in it, where it was started with one, else by Kineto alone, else by its
stacks, read from outside.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tb_dataplugin.drive import kineto_daemon, processes
from tb_dataplugin.drive.onlooker import CannotLook, Looked, look, refusal
from tb_dataplugin.drive.orders import FOLDER, order_in
from tb_dataplugin.errors import BadRequest, NothingToReport

KINETO: Final = "KINETO_USE_DAEMON"
_OTHERS_S: Final = 15.0
"""Beside the seconds that are recorded: for all that must come first, and for the writing. With the report's own time
it is no more than 20 s.
"""
_LOOK_EACH_S: Final = 0.2
_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Ours:
    """A process with our part in it, that takes batches."""

    pid: int
    folder: Path

    @property
    def note(self) -> Path:
        return self.folder / f"{self.pid}.json"


@dataclass(frozen=True, slots=True)
class Ask:
    """For how many seconds, and where to write."""

    seconds: float
    logdir: Path | None
    """None: where `run` was told to."""


def attach(pid: int, ask: Ask) -> list[Path] | Looked:
    """Have process `pid`, or the ones below it, record: the traces. Where nobody there can be asked: their stacks.

    Raises:
        BadRequest: the process is none that can be asked or looked at; says what to do.
        NothingToReport: it was asked, and nothing came.
    """
    processes.check(pid)
    family = processes.with_descendants(pid)
    ours = [found for each in family if (found := _ours(each)) is not None]
    if ours:
        return _by_ours(ours, ask)
    torch = _torch(pid, family)
    written = _by_kineto(torch, ask) if _asks_kineto(torch) else None
    return _from_outside(pid, torch, ask) if written is None else [written]


def _ours(pid: int) -> Ours | None:
    folder = processes.environment(pid).get(FOLDER)
    found = None if not folder else Ours(pid, Path(folder))
    return found if found is not None and found.note.exists() else None


def _by_ours(ours: Sequence[Ours], ask: Ask) -> list[Path]:
    order = order_in(ours[0].folder)
    if order is None or not order.standby:
        raise BadRequest(
            f"process {ours[0].pid} was started by `tb-dataplugin run`, which records by itself; start it with "
            "`tb-dataplugin run --standby`, to be asked"
        )
    logdir = ask.logdir or order.logdir
    before = {each: _files(each) for each in ours}
    for each in ours:
        part = each.folder / f"{each.pid}.ask.part"
        part.write_text(json.dumps({"seconds": ask.seconds, "logdir": str(logdir)}))
        part.replace(each.folder / f"{each.pid}.ask")
    until = time.monotonic() + ask.seconds + _OTHERS_S
    while time.monotonic() < until and not all(_is_answered(each, before[each]) for each in ours):
        time.sleep(_LOOK_EACH_S)
    found = [path for each in ours for path in _files(each)[len(before[each]) :]]
    if not found:
        raise NothingToReport(f"nothing was recorded: {_why(ours)}")
    return found


def _is_answered(ours: Ours, before: list[Path]) -> bool:
    if (ours.folder / f"{ours.pid}.ask").exists():
        return False
    return len(_files(ours)) > len(before) or _note(ours).get("state") == "nothing"


def _note(ours: Ours) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        note: dict[str, Any] = json.loads(ours.note.read_text())
        return note
    return {"state": "nothing", "reason": "the program has ended"}


def _files(ours: Ours) -> list[Path]:
    return [Path(file) for file in _note(ours).get("files", [])]


def _why(ours: Sequence[Ours]) -> str:
    unanswered = [each for each in ours if (each.folder / f"{each.pid}.ask").exists()]
    for each in unanswered:
        (each.folder / f"{each.pid}.ask").unlink(missing_ok=True)
    if unanswered:
        return f"process {unanswered[0].pid} took no batch meanwhile; ask for more --seconds"
    reason = str(_note(ours[0]).get("reason") or "its window was not closed in time; ask for fewer --seconds")
    return f"process {ours[0].pid}: {reason}"


def _torch(pid: int, family: Sequence[int]) -> int:
    """The process among them that trains: one that Kineto can be asked for, if any. Raises BadRequest: why none."""
    with_torch = [each for each in family if processes.has_torch(each)]
    if not with_torch:
        raise BadRequest(f"process {pid} has not loaded torch; name the training process, or wait until it begins")
    asks = next(filter(_asks_kineto, with_torch), None)
    if asks is None and any(processes.environment(each).get(FOLDER) for each in with_torch):
        raise BadRequest(f"process {pid} has not iterated a DataLoader yet; attach when its training has begun")
    return with_torch[0] if asks is None else asks


def _asks_kineto(pid: int) -> bool:
    return processes.environment(pid).get(KINETO, "0") not in ("", "0")


def _from_outside(pid: int, torch: int, ask: Ask) -> Looked:
    """`torch`: the process at or below `pid` whose Python is read."""
    try:
        return look(pid, torch, ask.seconds)
    except CannotLook as error:
        raise BadRequest(refusal(pid, str(error))) from None


def _by_kineto(pid: int, ask: Ask) -> Path | None:
    """Markers only: DataLoader workers are not recorded, and no stages. None: it does not ask what to record, as torch
    2.3 to 2.6 do not, which have a fault there.
    """
    logdir = ask.logdir or Path("runs") / time.strftime("%Y%m%d-%H%M%S")
    logdir = logdir.absolute()
    try:
        logdir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadRequest(f"cannot write to {logdir}: {error.strerror or error}; give another --logdir") from None
    asked = logdir / f".attach-{time.time_ns()}.json"
    began = time.monotonic()
    with kineto_daemon.listening() as sock:
        text = kineto_daemon.configuration(asked, ask.seconds)
        if not kineto_daemon.ask(sock, pid, text, began + _OTHERS_S):
            return None
    written = kineto_daemon.written_file(asked, pid)
    until = began + ask.seconds + _OTHERS_S
    try:
        while not _is_whole(written):
            if time.monotonic() > until or not (processes.PROC / str(pid)).exists():
                raise NothingToReport(f"process {pid} wrote no trace to {logdir}; is the folder open to it?")
            time.sleep(_LOOK_EACH_S)
        return _pack(written, pid)
    finally:
        written.unlink(missing_ok=True)


def _is_whole(file: Path) -> bool:
    """Whether Kineto has written it to its end."""
    try:
        with file.open("rb") as source:
            source.seek(max(0, file.stat().st_size - 16))
            return source.read().rstrip().endswith(b"}")
    except OSError:
        return False


def _pack(written: Path, pid: int) -> Path:
    host = _NOT_IN_NAMES.sub("_", socket.gethostname() or "localhost")
    final = written.with_name(f"{host}_{pid}.{time.time_ns()}.pt.trace.json.gz")
    part = final.with_name(f".{final.name}.part")
    try:
        with written.open("rb") as source, gzip.open(part, "wb", compresslevel=4) as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
        os.replace(part, final)  # noqa: PTH105
    finally:
        part.unlink(missing_ok=True)
    return final
