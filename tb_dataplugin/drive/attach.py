"""A look into a program that runs: by our part in it, where it was started with one or can be joined (Python 3.14 and
newer), else by Kineto alone, else by its stacks, read from outside.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_dataplugin.drive import joining, kineto_daemon, processes
from tb_dataplugin.drive.asking import LOOK_EACH_S, OTHERS_S, Ours, recorded
from tb_dataplugin.drive.onlooker import CannotLook, Looked, look, refusal
from tb_dataplugin.drive.orders import FOLDER, order_in
from tb_dataplugin.drive.outcome import Outcome, read_outcome
from tb_dataplugin.errors import BadRequest, NothingToReport

KINETO: Final = "KINETO_USE_DAEMON"
_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Ask:
    """For how many seconds, and where to write."""

    seconds: float
    logdir: Path | None
    """None: where `run` was told to."""


@dataclass(frozen=True, slots=True)
class Attached:
    """What came of it: traces, stacks, or both."""

    traces: list[Path]
    stacks: Looked | None = None
    """Read from outside: where nobody there could be asked, and of a program that was joined while it ran."""
    outcome: Outcome | None = None
    """What the processes say of it, where they were asked."""


def attach(pid: int, ask: Ask) -> Attached:
    """Have process `pid`, or the ones below it, record, or read their stacks.

    Raises:
        BadRequest: the process is none that can be asked or looked at; says what to do.
        NothingToReport: it was asked, and nothing came.
    """
    processes.check(pid)
    family = processes.with_descendants(pid)
    ours = [found for each in family if (found := _ours(each)) is not None]
    if ours:
        return Attached(_by_ours(ours, ask), outcome=read_outcome(ours[0].folder))
    with_torch = _with_torch(pid, family)
    joined = _by_joining(pid, with_torch, ask)
    if joined is not None:
        return joined
    torch = next(filter(_asks_kineto, with_torch), with_torch[0])
    written = _by_kineto(torch, ask) if _asks_kineto(torch) else None
    return Attached([], _from_outside(pid, torch, ask)) if written is None else Attached([written])


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
    before = {each: len(each.files) for each in ours}
    for each in ours:
        each.ask(ask.seconds, ask.logdir or order.logdir)
    return recorded(ours, before, ask.seconds)


def _by_joining(pid: int, with_torch: Sequence[int], ask: Ask) -> Attached | None:
    """None: it cannot be joined, which is said where its Python is one that could be.

    What workers do that had started before is known by their stacks only: they are read meanwhile.
    """
    pids = joining.trainers(with_torch)
    try:
        joined = joining.join(pids, ask.seconds, _logdir(ask))
    except joining.CannotJoin as error:
        if str(error):
            print(f"tb-dataplugin attach: process {pids[0]} cannot be joined: {error}", file=sys.stderr)
        return None
    try:
        with ThreadPoolExecutor(1) as pool:
            looks = pool.submit(look, pid, pids[0], ask.seconds)
            traces = recorded(joined, dict.fromkeys(joined, 0), ask.seconds)
            said = read_outcome(joined[0].folder)
            return Attached(traces, None if looks.exception() else looks.result(), said)
    finally:
        joining.leave(joined)


def _logdir(ask: Ask) -> Path:
    return (ask.logdir or Path("runs") / time.strftime("%Y%m%d-%H%M%S")).absolute()


def _with_torch(pid: int, family: Sequence[int]) -> list[int]:
    """Raises BadRequest: there is none."""
    found = [each for each in family if processes.has_torch(each)]
    if not found:
        raise BadRequest(f"process {pid} has not loaded torch; name the training process, or wait until it begins")
    if not any(map(_asks_kineto, found)) and any(processes.environment(each).get(FOLDER) for each in found):
        raise BadRequest(f"process {pid} has not iterated a DataLoader yet; attach when its training has begun")
    return found


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
    logdir = _logdir(ask)
    try:
        logdir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadRequest(f"cannot write to {logdir}: {error.strerror or error}; give another --logdir") from None
    asked = logdir / f".attach-{time.time_ns()}.json"
    began = time.monotonic()
    with kineto_daemon.listening() as sock:
        text = kineto_daemon.configuration(asked, ask.seconds)
        if not kineto_daemon.ask(sock, pid, text, began + OTHERS_S):
            return None
    written = kineto_daemon.written_file(asked, pid)
    until = began + ask.seconds + OTHERS_S
    try:
        while not _is_whole(written):
            if time.monotonic() > until or not (processes.PROC / str(pid)).exists():
                raise NothingToReport(f"process {pid} wrote no trace to {logdir}; is the folder open to it?")
            time.sleep(LOOK_EACH_S)
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
