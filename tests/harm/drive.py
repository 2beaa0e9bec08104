"""One run of a program in a process of its own, told line by line, so that what was told stays when it is killed."""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import gc
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from tests.harm import user_code, world
from tests.harm.cells import Annotated, Program
from tests.harm.program import Side, train
from tests.harm.sides import With, Without

LOG: Final = "log.jsonl"
GATE: Final = "gate"
STDERR: Final = "stderr.txt"
STDOUT: Final = "stdout.txt"
HERE: Final = str(Path(__file__).parent)
_PR_SET_PDEATHSIG: Final = 1
_JOIN_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Job:
    """What a run is told."""

    program: Program
    annotated: Annotated | None
    folder: str
    """Of this run alone; with ``tmp`` for its temporary files."""
    files: str
    """The images and arrays that the dataset reads."""
    limit_s: float
    script: str = ""
    """Instead of the program: a function of `scripts`."""
    arguments: tuple[Any, ...] = ()
    whole_end: bool = True
    """False: exit handlers are called and threads waited for, but Python is not taken down, which is most of a run."""


class Record:
    """Writes one line at a time, from any thread of the process."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._pid = os.getpid()

    def __call__(self, kind: str, *facts: Any) -> None:
        if os.getpid() == self._pid:
            os.write(self._file, (json.dumps([kind, *facts]) + "\n").encode())


def enter_process(job: Job) -> None:
    """Make a forked process one of its own: session, streams, folder for temporary files."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for number, name in ((1, STDOUT), (2, STDERR)):
        file = os.open(os.path.join(job.folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)  # noqa: PTH118
        os.dup2(file, number)
        os.close(file)
    os.environ["TMPDIR"] = os.path.join(job.folder, "tmp")  # noqa: PTH118
    tempfile.tempdir = None
    os.mkfifo(os.path.join(job.folder, GATE))  # noqa: PTH118
    faulthandler.dump_traceback_later(job.limit_s, exit=True)


def run(job: Job) -> None:
    """A job, in a process that has been forked for it."""
    enter_process(job)
    log = Record(os.path.join(job.folder, LOG))  # noqa: PTH118
    if job.script:
        from tests.harm import scripts

        log("facts", getattr(scripts, job.script)(Path(job.folder), *job.arguments))
    else:
        observe_program(job, log)


def observe_program(job: Job, log: Record) -> None:
    """The program, and what is to be seen of it. Ends as the program ends: by its exception, or its signal."""
    show, own_pid = warnings.showwarning, os.getpid()

    def shown(message: Any, category: type[Warning], filename: str, lineno: int, *rest: Any) -> None:
        if os.getpid() != own_pid:  # a worker
            show(message, category, filename, lineno, *rest)
        log("warning", category.__name__, str(message), os.path.basename(filename), lineno)  # noqa: PTH119

    warnings.showwarning = shown  # type: ignore[assignment]
    random.seed(1)
    np.random.seed(2)
    torch.manual_seed(3)
    atexit.register(_at_exit, log)
    before = world.look()
    side: Side = Without()
    if job.annotated is not None:
        side = _our_side(job, log)
    error = _whole_program(job, side, log)
    _forget_frames(error)
    _settle()
    side.take_out()
    log("changes", world.changes(before, world.look()))
    del before
    log("open files", open_files(job.folder))
    log("threads", sorted(thread.name for thread in threading.enumerate()))
    if not job.whole_end:
        _end(error)
    if error is not None:
        raise error


def _end(error: BaseException | None) -> None:
    """What Python does at its end, without its taking down."""
    status = 0
    if isinstance(error, SystemExit):
        status = int(error.code or 0)
    elif error is not None:
        status = 1
        traceback.print_exception(error)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _our_side(job: Job, log: Record) -> Side:
    from tests.harm import faults

    assert job.annotated is not None
    if job.annotated.fault:
        marker = os.path.join(job.folder, "hit")  # noqa: PTH118
        faults.install(job.annotated.fault, interrupted=job.annotated.interrupted, marker=marker)
    return With(job.annotated, job.folder, log)


def _whole_program(job: Job, side: Side, log: Record) -> BaseException | None:
    gate = os.path.join(job.folder, GATE)  # noqa: PTH118
    loader = user_code.make_loader(job.program.loader, job.program.ending, job.files, gate)
    instances = world.Instances(loader)
    kept: BaseException | None = None
    try:
        train(job.program, loader, side, job.folder, gate, log)
    except BaseException as error:
        log("raised", *describe(error))
        _forget_frames(error)
        kept = error
    log("random state", *random_states())
    log("instances", instances.changes(), instances.types())
    return kept


def _forget_frames(error: BaseException | None) -> None:
    """Let go of what the frames of a traceback hold, such as the loader. Running frames stay."""
    for one in _chain(error):
        traceback.clear_frames(one.__traceback__)


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def describe(error: BaseException) -> tuple[list[str], str, list[list[str]]]:
    """The types of an exception and those it came from, its text, and the user's frames of its traceback."""
    types = [f"{type(one).__module__}.{type(one).__qualname__}" for one in _chain(error)]
    frames = [
        [os.path.basename(frame.filename), frame.name, frame.line or ""]  # noqa: PTH119
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.endswith(("user_code.py", "program.py"))
    ]
    return types, str(error), frames


def random_states() -> list[str]:
    """Of torch, Python and numpy."""
    states = (torch.get_rng_state().numpy().tobytes(), random.getstate(), np.random.get_state())
    return [hashlib.sha256(repr(state).encode()).hexdigest()[:12] for state in states]


def _settle() -> None:
    """Wait for what ends by itself: queues of iterators that are gone close theirs in a thread."""
    gc.collect()
    for thread in threading.enumerate():
        if thread.name.startswith("QueueFeederThread"):
            thread.join(_JOIN_S)
    gc.collect()


def open_files(folder: str) -> list[str]:
    """What the process has open, without the numbers."""
    found = []
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            target = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
        except OSError:  # that of the listing itself
            continue
        target = target.replace(folder, "$RUN")
        found.append(target.partition(":[")[0] if ":[" in target else target)
    return sorted(found)


def _at_exit(log: Record) -> None:
    """Registered first, so called last of all."""
    log("at exit", sorted(thread.name for thread in threading.enumerate()), sys.excepthook is sys.__excepthook__)
