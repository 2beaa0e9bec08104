"""A Python that has imported what takes long, and forks for each program that it is asked to run.

    python tests/support/warm_server.py SOCKET MODULE...

Serves until its stdin is closed, and takes the socket's folder away. `warm` asks it, and says what is like a new
interpreter and what is not. A program's process leaves `serve` with its order, so that what happens at its end is what
happens at the end of any program.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    del sys.path[0]  # this folder: no program has it

import array
import builtins
import gc
import importlib
import importlib.util
import json
import os
import runpy
import select
import socket
import struct
import tempfile
import warnings
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from multiprocessing import process
from types import ModuleType, TracebackType
from typing import Any, NamedTuple

LENGTH = struct.Struct("Q")
STREAMS = 3
CUSTOMS = ("sitecustomize", "usercustomize")


class Order(NamedTuple):
    """A program: `what` to run ("-c", "-m" or "script"), and `argv` from the code, module or file on."""

    what: str
    argv: list[str]
    warnings: list[str]
    cwd: str
    environment: dict[str, str]


def receive(connection: socket.socket) -> tuple[Order, list[int]] | None:
    """An order, and its stdin, stdout and stderr; None where nothing was asked."""
    size = array.array("i").itemsize * STREAMS
    head, ancillary, _, _ = connection.recvmsg(LENGTH.size, socket.CMSG_LEN(size))
    if len(head) < LENGTH.size:
        return None
    streams = array.array("i")
    for _, _, data in ancillary:
        streams.frombytes(data)
    (length,), body = LENGTH.unpack(head), b""
    while len(body) < length and (block := connection.recv(length - len(body))):
        body += block
    return Order(**json.loads(body)), streams.tolist()


def serve(listener: socket.socket) -> Order | None:
    """An order, in a process made for it; None when there are no more."""
    watched: list[Any] = [listener, 0]
    while True:
        readable, _, _ = select.select(watched, [], [])
        if listener not in readable:
            reap()
            return None
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return guarded(connection)
        connection.close()
        reap()


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def guarded(connection: socket.socket) -> Order:
    """Returns in the program's process; its parent tells its number and how it ended, and ends."""
    received = receive(connection)
    if received is None:
        os._exit(1)
    order, streams = received
    pid = os.fork()
    if pid:
        for stream in streams:
            os.close(stream)
        connection.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    connection.close()
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    return order


def become(order: Order) -> None:
    """Make the process one that was started for the program."""
    os.chdir(order.cwd)
    os.environ.clear()
    os.environ.update(order.environment)
    process.ORIGINAL_DIR = os.getcwd()  # type: ignore[attr-defined]  # noqa: PTH109
    tempfile.tempdir = None
    if "random" in sys.modules:
        sys.modules["random"].seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    sys.warnoptions[:] = order.warnings
    warnings._processoptions(order.warnings)  # type: ignore[attr-defined]
    sys.argv = ["-c", *order.argv[1:]] if order.what == "-c" else list(order.argv)
    places = [os.path.abspath(place) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]  # noqa: PTH100
    sys.path[:0] = dict.fromkeys(places)
    importlib.invalidate_caches()
    for name in CUSTOMS:
        if any(os.path.exists(os.path.join(place, f"{name}.py")) for place in places):  # noqa: PTH110, PTH118
            sys.modules.pop(name, None)
            importlib.import_module(name)


def program(order: Order) -> Callable[[], Any]:
    """The program, ready to be run as ``__main__``."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    vars(main)["__builtins__"] = builtins
    name = order.argv[0]
    if order.what == "-m":
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
        return lambda: runpy._run_module_as_main(name)  # type: ignore[attr-defined]
    if order.what == "-c":
        sys.path.insert(0, "")
        code = compile(name, "<string>", "exec")
    else:
        sys.path.insert(0, os.path.dirname(os.path.realpath(name)))  # noqa: PTH120
        name = os.path.abspath(name)  # noqa: PTH100
        vars(main).update(__file__=name, __cached__=None, __loader__=SourceFileLoader("__main__", name))
        with open(name, "rb") as file:
            code = compile(file.read(), name, "exec")
    return lambda: exec(code, vars(main))


def run(order: Order) -> None:
    """Ends as the program ends: by its exception, which Python then deals with."""
    try:
        program(order)()
    except BaseException:
        _hide_our_frames()
        raise


def _hide_our_frames() -> None:
    """Let what shows an exception that nobody caught show the program's frames alone."""
    show, file = sys.excepthook, __file__

    def shown(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        while traceback is not None and traceback.tb_frame.f_code.co_filename == file:
            traceback = traceback.tb_next
        show(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = shown


def prepare(modules: list[str]) -> None:
    """Import what programs need. Nothing is called: pools of threads would not survive a fork."""
    for name in modules:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def main(path: str, *modules: str) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    prepare(list(modules))
    order = serve(listener)
    if order is not None:
        become(order)
        run(order)
    else:
        os.unlink(path)  # noqa: PTH108
        os.rmdir(os.path.dirname(path))  # noqa: PTH106, PTH120


if __name__ == "__main__":
    main(*sys.argv[1:])
