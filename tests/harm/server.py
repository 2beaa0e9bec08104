"""Starts a process for each run by forking one that has imported torch, PIL and numpy, and if it is told to annotate.

Reads jobs as lines of JSON from stdin, and answers with a line when a run and all processes that it left are gone. A
child leaves `serve` with its job, so that what happens at its end is what happens at the end of any Python program.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Final

import PIL.Image
import torch
from torch.utils.data._utils import worker

from tests.harm import drive
from tests.harm.cells import Annotated, Program, Stay
from tests.harm.drive import Job

_PR_SET_CHILD_SUBREAPER: Final = 36
_PATIENCE_S: Final = 30.0
"""For processes that outlive the run: spawned workers look every 5 seconds whether their parent is there."""
_LOOK_EACH_S: Final = 0.05


def encode(number: int, job: Job) -> str:
    return json.dumps([number, asdict(job)])


def decode(line: str) -> tuple[int, Job]:
    number, job = json.loads(line)
    program = job["program"]
    program["users"] = tuple(Stay(**stay) for stay in program["users"])
    annotated = job["annotated"]
    if annotated is not None:
        ours = annotated["ours"]
        annotated = Annotated(**{**annotated, "ours": None if ours is None else Stay(**ours)})
    arguments = tuple(job["arguments"])
    return number, Job(**{**job, "program": Program(**program), "annotated": annotated, "arguments": arguments})


class Runs:
    """The processes that are going on."""

    def __init__(self) -> None:
        self._going: dict[int, tuple[int, float]] = {}
        """By pid: number of the job, and when it must have ended."""
        self._leaving: dict[int, tuple[int, int, float]] = {}
        """By pid of the run, which is its session's: number, exit status, and how long its processes may stay."""
        self._next_look = 0.0

    def __len__(self) -> int:
        return len(self._going) + len(self._leaving)

    def start(self, number: int, job: Job) -> bool:
        """True in the new process."""
        pid = os.fork()
        if pid == 0:
            return True
        self._going[pid] = number, time.monotonic() + job.limit_s + 10
        return False

    def look(self) -> None:
        """Take note of what has ended, and answer for it.

        A process that has ended is not reaped before all that it left are gone: nobody may count on a parent, or an
        init of a container, that reaps at once.
        """
        now = time.monotonic()
        for pid, (number, _) in list(self._going.items()):
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                del self._going[pid]
                code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
                print(json.dumps(["ended", number]), flush=True)
                self._leaving[pid] = number, code, now + _PATIENCE_S
                self._next_look = now
        for pid, (_, until) in list(self._going.items()):
            if now > until:
                _kill(pid)
        if now >= self._next_look:
            self._next_look = now + _LOOK_EACH_S
            self._look_at_leaving(now)

    def _look_at_leaving(self, now: float) -> None:
        sessions = _sessions() if self._leaving else {}
        for pid, (number, code, until) in list(self._leaving.items()):
            left = sessions.get(pid, [])
            if left and now < until:
                continue
            if left:
                _kill(pid)
            _reap(pid, os.WNOHANG if not left else 0)
            del self._leaving[pid]
            print(json.dumps(["done", number, code, left]), flush=True)

    def kill(self) -> None:
        for pid in [*self._going, *self._leaving]:
            _kill(pid)


def _kill(session: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGKILL)


def _reap(session: int, options: int) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-session, options)[0]:
            pass


def _sessions() -> dict[int, list[str]]:
    """Names of the processes that have not ended, by their session."""
    found: dict[int, list[str]] = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal():
            continue
        with suppress(OSError):
            with open(f"/proc/{entry.name}/stat") as file:
                _, _, rest = file.read().rpartition(")")
            state, _, _, session = rest.split()[:4]
            if state not in "ZX":
                with open(f"/proc/{entry.name}/cmdline") as file:
                    found.setdefault(int(session), []).append(file.read().replace("\0", " ").strip())
    return found


def serve() -> Job | None:
    """A job, in a process made for it; None when there are no more."""
    runs = Runs()
    pending = b""
    signal.set_wakeup_fd(-1)
    while True:
        readable, _, _ = select.select([0], [], [], 0.02 if len(runs) else None)
        if readable:
            block = os.read(0, 1 << 16)
            if not block:
                runs.kill()
                return None
            *lines, pending = (pending + block).split(b"\n")
            for line in lines:
                number, job = decode(line.decode())
                if runs.start(number, job):
                    return job
        runs.look()


def prepare(with_us: bool) -> None:
    """Import once what all runs need, so that a run costs a fork and no more.

    torch's profiler asks torch's compiler for one setting, and imports 800 modules for it: a stand-in has it. A worker
    whose program was killed looks each five seconds whether it is alone: here ten times as often, as we wait for it.
    """
    compiler, config = ModuleType("torch._inductor"), ModuleType("torch._inductor.config")
    vars(config)["triton"] = SimpleNamespace(cudagraphs=False)
    vars(compiler)["config"] = config
    vars(torch)["_inductor"] = compiler
    sys.modules |= {"torch._inductor": compiler, "torch._inductor.config": config}
    for name in ("numpy.random", "numpy.ma", "torch.profiler._cupti_monitor", "isal.igzip"):
        with suppress(ImportError):
            import_module(name)
    vars(worker)["MP_STATUS_CHECK_INTERVAL"] = 0.5
    PIL.Image.preinit()
    if with_us:
        import annotate

        for name in annotate.__all__:
            getattr(annotate, name)
    gc.collect()
    gc.freeze()


def main() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
    prepare("--with-us" in sys.argv)
    job = serve()
    if job is not None:
        drive.run(job)


if __name__ == "__main__":
    main()
