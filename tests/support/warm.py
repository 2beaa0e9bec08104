"""Programs that need torch, run in forks of a Python that has imported it: an import is 2 s of CPU, a fork 20 ms.

`run` is `subprocess.run` for a command that begins with `sys.executable`, `start` is `subprocess.Popen`. The program
has its own argv, working directory, environment, streams, session, ``__main__``, ``sys.path``, ``sitecustomize`` and
random numbers, and ends as any program does: exit status, signal, traceback, exit handlers.

What differs from a new interpreter: modules are there already, and ``/proc/PID/cmdline`` and ``sys.orig_argv`` are the
server's. So tests of how a program starts, of the order of imports, of options of Python (but ``-W``) and of
`tb-dataplugin run` start a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from tests.support.warm_server import LENGTH

MODULES: Final = ("torch", "torch.utils.data", "torch.profiler", "torch._dynamo", "torch._inductor.config")
"""The last two are what the first optimizer and the first profiler of a program import."""
FIXED: Final = ("PYTHON", "OMP_", "MKL_", "KMP_", "LC_", "LANG", "LD_", "TORCH", "PYTORCH", "CUDA_")
"""How variables begin that are read at the start of Python or torch: there is a server for each set of values."""
ROOT: Final = Path(__file__).parents[2]
_SERVER: Final = Path(__file__).with_name("warm_server.py")
_START_S: Final = 60.0


class Server:
    """A process that has imported `modules`. The environment is that of its programs as far as it is `FIXED`."""

    def __init__(self, modules: tuple[str, ...], environment: dict[str, str]) -> None:
        self._owner = os.getpid()
        self._path = str(Path(tempfile.mkdtemp(prefix="warm-", dir="/tmp"), "socket"))
        self._process = subprocess.Popen(
            [sys.executable, str(_SERVER), self._path, *modules],
            env=environment,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        atexit.register(self.close)

    def connect(self) -> socket.socket:
        """To a server that answers once it has imported everything."""
        deadline = time.monotonic() + _START_S
        connection = socket.socket(socket.AF_UNIX)
        while True:
            try:
                connection.connect(self._path)
            except (FileNotFoundError, ConnectionRefusedError):
                assert self._process.poll() is None, "the warm Python ended"
                assert time.monotonic() < deadline, f"the warm Python has not started in {_START_S:.0f} s"
                time.sleep(0.02)
            else:
                return connection

    def close(self) -> None:
        """Let it end, once its programs are asked for no more."""
        if os.getpid() != self._owner or self._process.stdin is None:
            return
        self._process.stdin.close()
        self._process.wait(30)


class Program:
    """A program that was started, as `subprocess.Popen` shows it, in a session of its own."""

    def __init__(self, connection: socket.socket, args: Sequence[Any], stdout: int | None, stderr: int | None) -> None:
        self.args = args
        self.returncode: int | None = None
        self._connection = connection
        self._told = connection.makefile("rb", buffering=0)
        self.stdout, self.stderr = (None if pipe is None else _stream(pipe) for pipe in (stdout, stderr))
        told = self._told.readline()
        assert told, "the warm Python ended: run tests/support/warm_server.py by hand to see why"
        self.pid = int(told)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, or the negative number of the signal that ended it."""
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._told.readline())
            self._told.close()
            self._connection.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it writes on stdout and stderr, until nobody has them open; then its end is waited for."""
        deadline = None if timeout is None else time.monotonic() + timeout
        found = _read_all([self.stdout, self.stderr], deadline)
        if found is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if deadline is None else max(0.1, deadline - time.monotonic()))
        return found[0], found[1]

    def poll(self) -> int | None:
        """How it ended; None as long as it goes on."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()


def run(
    command: Sequence[Any],
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    modules: tuple[str, ...] = MODULES,
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run(command, capture_output=True, text=True)`; stdin is empty."""
    program = start(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, modules=modules)
    try:
        out, err = program.communicate(timeout)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
        raise
    finally:
        program.close()
    return subprocess.CompletedProcess(command, program.wait(), out, err)


def start(
    command: Sequence[Any],
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    modules: tuple[str, ...] = MODULES,
) -> Program:
    """`subprocess.Popen(command, text=True, start_new_session=True)`, with `PIPE` or `DEVNULL` for the streams."""
    environment = dict(os.environ if env is None else env)
    what, argv, warnings = parse([str(part) for part in command])
    order = {
        "what": what,
        "argv": argv,
        "warnings": warnings,
        "cwd": str(cwd or Path.cwd()),
        "environment": environment,
    }
    body = json.dumps(order).encode()
    connection = _server(modules, frozenset(fixed(environment).items())).connect()
    null = os.open(os.devnull, os.O_RDWR)
    pipes = [os.pipe() if wanted == subprocess.PIPE else None for wanted in (stdout, stderr)]
    theirs = [null, *(null if pipe is None else pipe[1] for pipe in pipes)]
    socket.send_fds(connection, [LENGTH.pack(len(body))], theirs)
    for stream in {*theirs}:
        os.close(stream)
    connection.sendall(body)
    ours = [None if pipe is None else pipe[0] for pipe in pipes]
    return Program(connection, command, *ours)


def parse(command: list[str]) -> tuple[str, list[str], list[str]]:
    """What is to be run, its argv and the filters of warnings; ValueError where it takes a new interpreter."""
    executable, *rest = command
    warnings = []
    while rest[:1] == ["-W"]:
        warnings.append(rest[1])
        rest = rest[2:]
    if executable != sys.executable or not rest or (rest[0].startswith("-") and rest[0] not in ("-c", "-m")):
        raise ValueError(f"{command} takes a new interpreter: use subprocess")
    return (rest[0], rest[1:], warnings) if rest[0].startswith("-") else ("script", rest, warnings)


def fixed(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a server must have been started with."""
    return {name: value for name, value in environment.items() if name.startswith(FIXED) and name != "PYTHONPATH"}


@functools.cache
def _server(modules: tuple[str, ...], kept: frozenset[tuple[str, str]]) -> Server:
    others = {name: value for name, value in os.environ.items() if not name.startswith((*FIXED, "ANNOTATE"))}
    return Server(modules, {**others, **dict(kept)})


def _stream(pipe: int) -> IO[str]:
    return open(pipe, encoding="utf-8", errors="strict")


def _read_all(streams: Sequence[IO[str] | None], deadline: float | None) -> list[str] | None:
    """All that is written on each; None where they are still open at `deadline` (time.monotonic, seconds)."""
    blocks: list[list[bytes]] = [[] for _ in streams]
    with selectors.DefaultSelector() as selector:
        for number, stream in enumerate(streams):
            if stream is not None and not stream.closed:
                selector.register(stream, selectors.EVENT_READ, number)
        while selector.get_map():
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = selector.select(left)
            if not ready:
                return None
            for key, _ in ready:
                if block := os.read(key.fd, 1 << 16):
                    blocks[key.data].append(block)
                else:
                    selector.unregister(key.fileobj)
    return [b"".join(some).decode().replace("\r\n", "\n").replace("\r", "\n") for some in blocks]
