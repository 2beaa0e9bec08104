"""What we say to the user: warnings that point at their own line, and values in a few words."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final

from annotate.passing import PASSED_OVER
from annotate.signals import came_by_a_signal

_OWN: Final = str(Path(__file__).parent)
_BETWEEN: Final = (
    "torch.", "multiprocessing.", "contextlib", "threading",
    "lightning.", "pytorch_lightning.", "transformers.", "accelerate.",
)  # fmt: skip
"""Modules that may stand between us and the user's line."""
_LONGEST: Final = 40
_reported: Final[list[bool]] = []
_waiting: Final[list[str]] = []
"""Faults of other threads, which have no line of the user's to point at; `deliver` warns of them."""
_send: Callable[[str], None] | None = None
"""In a DataLoader worker: sends a fault to the training process, which warns of it."""


def warn(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn with the innermost line that is neither ours nor torch's."""
    warnings.warn(shown(text), category, stacklevel=_users_level() or 1)


def report_fault(text: str) -> None:
    """Warn that our own code has failed, once per capture."""
    if _reported:
        return
    _reported.append(True)
    if _send is not None:
        _send(text)
    elif threading.current_thread() is threading.main_thread() or _users_level() is not None:
        tell(text)
    else:
        _waiting.append(text)


def deliver() -> None:
    """Warn, at the user's line, of the faults of other threads."""
    while _waiting:
        tell(_waiting.pop())


def send_faults_by(send: Callable[[str], None] | None) -> None:
    """In a DataLoader worker: give faults to `send` from now on. A warning of a worker's would come once from each."""
    global _send
    _send = send


def tell(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn; on stderr where warnings are errors: training goes on."""
    try:
        warnings.warn(shown(text), category, stacklevel=_users_level() or 1)
    except category:
        print(f"{category.__name__}: {shown(text)}", file=sys.stderr)


def say(line: str) -> None:
    """A line on stderr that is no warning; lost where it cannot be written."""
    try:
        print(f"annotate: {shown(line)}", file=sys.stderr, flush=True)
    except Exception:  # closed, or a stream of the user's
        return


class guard:  # noqa: N801  (reads as a verb where it is used)
    """Keeps our errors out of the user's program: an exception in the block is reported, and ends only the block."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        """
        Args:
            what: begins the sentence that names the fault, and says what is lost by it.
        """
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(exc, Exception) or came_by_a_signal(exc):
            return False
        report_fault(f"{self._what}. Internal error: {one_line(exc)}")
        return True


def report_error(what: str, error: Exception) -> None:
    """As `guard` does, where a ``with`` would cost too much.

    Raises: `error`, where it came by a signal.
    """
    if came_by_a_signal(error):
        raise error
    report_fault(f"{what}. Internal error: {one_line(error)}")


def has_reported() -> bool:
    """True when a fault has been reported in the capture that is on."""
    return bool(_reported)


def forget_reported() -> None:
    """A capture or a worker's window begins: faults that were reported before are reported again."""
    _reported.clear()


def _users_level() -> int | None:
    """The `stacklevel` of the innermost frame outside of this package and torch, for the caller's ``warnings.warn``.

    None: there is none, as in one of our threads or torch's.
    """
    level, frame = 2, sys._getframe(2)
    while _is_internal(frame.f_code.co_filename, frame.f_globals.get("__name__", "")):
        if frame.f_back is None:
            return None
        level += not frame.f_code.co_filename.endswith(PASSED_OVER)
        frame = frame.f_back
    return level


def _is_internal(file: str, module: str) -> bool:
    return file.startswith(_OWN) or module == "torch" or module.startswith(_BETWEEN)


def shown(text: str) -> str:
    """`text` with control, bidirectional and invisible characters escaped: names of classes and files may hold any."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def in_short(value: object) -> str:
    """A value in a few words: ``42 (int)``, ``a spdl.dataloader.DataLoader``, ``the class Numbers``."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if not isinstance(value, (bool, int, float, str, bytes, type(None))):
        module, name = type(value).__module__, type(value).__qualname__
        name = name if module in ("builtins", "__main__") else f"{module}.{name}"
        return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"
    text = ascii(value)
    return f"{text if len(text) <= _LONGEST else text[: _LONGEST - 3] + '...'} ({type(value).__name__})"


def one_line(error: BaseException) -> str:
    """An exception with its type, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
