"""Runs a function in a process of its own, where a crash is a result and not the end of the tests."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

PRELOADED = [f"tests.ecosystem.test_{name}" for name in ("integrations", "lightning", "pipelines", "transformers")]


def in_child(function: Callable[..., Any], *args: Any, seconds: float = 90) -> Any:
    """What `function` returns, from a child that was forked from a process with the libraries imported and nothing
    else done.

    Raises:
        AssertionError: it raised (with its traceback), was killed by a signal, or did not end in time.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(theirs, function, args))
    child.start()
    theirs.close()
    try:
        found: Any = ours.recv() if ours.poll(seconds) else ("late", f"no end within {seconds} s")
    except EOFError:
        child.join(10)
        found = ("died", f"exit status {child.exitcode} (negative: the signal that killed it)")
    child.join(10)
    if child.exitcode is None:
        child.kill()
        child.join()
        found = ("late", f"its work was done ({found[0]}), but the process did not end")
    assert found[0] == "returned", f"{function.__name__}{args}: {found[0]}: {found[1]}"
    assert child.exitcode == 0, f"{function.__name__}{args}: exit status {child.exitcode} after its work was done"
    return found[1]


def _run(pipe: Connection, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    multiprocessing.set_start_method("fork", force=True)  # as in a program that a user starts
    try:
        pipe.send(("returned", function(*args)))
    except BaseException:
        pipe.send(("raised", traceback.format_exc()))
