"""What we say to the user: warnings that point at their own line, and values in a few words."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import TracebackType
from typing import Final

_OWN: Final = str(Path(__file__).parent)
_TORCH: Final = ("torch.", "contextlib")
_LONGEST: Final = 40
_reported: Final[list[bool]] = []


def warn(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn with the innermost line that is neither ours nor torch's."""
    warnings.warn(shown(text), category, stacklevel=_users_level())


def report_fault(text: str) -> None:
    """Say that something of ours has failed. Where warnings are errors it goes to stderr: training goes on."""
    try:
        warnings.warn(shown(text), RuntimeWarning, stacklevel=_users_level())
    except RuntimeWarning:
        print(f"RuntimeWarning: {shown(text)}", file=sys.stderr)


class guard:  # noqa: N801  (reads as a verb where it is used)
    """Keeps a fault of ours from the user's program: an exception in the block is reported, and ends the block only."""

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
        if not isinstance(exc, Exception):
            return False
        if not _reported:  # what follows from a fault is not news
            mark_reported()
            report_fault(f"{self._what}. Internal error: {one_line(exc)}")
        return True


def mark_reported() -> None:
    """A fault is reported: those that follow from it are not."""
    _reported.append(True)


def has_reported() -> bool:
    """True when a fault has been reported in the capture that is on."""
    return bool(_reported)


def forget_reported() -> None:
    """A capture begins: faults that were reported before are reported again."""
    _reported.clear()


def _users_level() -> int:
    """The `stacklevel` of the innermost frame outside of this package and torch, for the caller's ``warnings.warn``."""
    level, frame = 2, sys._getframe(2)
    while frame.f_back is not None and _is_internal(frame.f_code.co_filename, frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_internal(file: str, module: str) -> bool:
    return file.startswith(_OWN) or module == "torch" or module.startswith(_TORCH)


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
