"""Handlers of signals may raise in the middle of whatever runs in the main thread, our code included.

torch tells by SIGCHLD that a worker has died; users set time limits by SIGALRM. What such a handler raises is the
user's: it passes our guards (`came_by_a_signal`), and where breaking off would be fatal it waits (`undisturbed`).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import CodeType, FrameType
from typing import Any, Final

_Handler = Callable[[int, FrameType | None], Any]

_NEVER_DEFERRED: Final = (signal.SIGINT,)
"""Ctrl-C: whoever presses it is waiting."""


def came_by_a_signal(error: BaseException) -> bool:
    """True for what the handler of a signal raised while our code happened to run: a time limit of the user's, or a
    worker that died, which torch tells by SIGCHLD. It is the user's to see.
    """
    raised_in = set()
    at = error.__traceback__
    while at is not None:
        raised_in.add(at.tb_frame.f_code)
        at = at.tb_next
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    return any(_code_of(handler) in raised_in for handler in handlers if callable(handler))


def _code_of(handler: object) -> CodeType | None:
    """What runs when a handler (function, method, object with ``__call__``) is called; None: nothing in Python."""
    while isinstance(handler, partial):
        handler = handler.func
    called = (vars(cls).get("__call__") for cls in type(handler).__mro__)
    for function in (handler, getattr(handler, "__func__", None), *called):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


@contextmanager
def undisturbed() -> Generator[None, None, None]:
    """Have handlers of signals wait for the end of the block, which is short; what they raise then is raised there."""
    held: dict[int, _Handler] = {}
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    if threading.current_thread() is not threading.main_thread():  # handlers run in the main thread alone
        yield
        return
    try:
        for one in signal.valid_signals():
            handler = signal.getsignal(one)
            if callable(handler) and one not in _NEVER_DEFERRED:
                held[one] = handler
                signal.signal(one, note)
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        with ExitStack() as now:
            for number, frame in reversed(came):
                now.callback(held[number], number, frame)
