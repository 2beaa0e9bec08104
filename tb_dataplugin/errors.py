"""Every error that a user may see.

    DataPipelineError           exit 2, HTTP 422
    ├── BadRequest              exit 2, HTTP 400   wrong arguments
    │   └── NoSuchSteps         exit 2, HTTP 400   a range of steps that a capture does not have
    ├── UnreadableTrace         exit 2, HTTP 422   a file that is not a trace, is truncated, or cannot be opened
    ├── NothingToReport         exit 1, HTTP 404   the command ran, and there is nothing to say
    ├── UnknownCapture          exit 2, HTTP 404   a capture that no run holds
    ├── CannotStart             exit 125 to 127    `run` cannot start the program (as `timeout` has it)
    └── InternalError           exit 3, HTTP 500   a mistake in this package, never in the input

A message is one line: what, which file, why, what to do. Names in it are escaped (`shown`).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.shown import shown


class DataPipelineError(Exception):
    """Base of all errors that are shown as one line instead of a traceback."""

    exit_status: int = 2
    http_status: ClassVar[int] = 422

    def __init__(self, message: str) -> None:
        super().__init__(shown(message))

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """As it stands: the arguments that made its line are not kept."""
        return _again, (type(self), str(self), self.__dict__)


def _again(kind: type[DataPipelineError], line: str, facts: dict[str, object]) -> DataPipelineError:
    error = kind.__new__(kind)
    Exception.__init__(error, line)
    error.__dict__.update(facts)
    return error


class BadRequest(DataPipelineError):
    http_status: ClassVar[int] = 400


class NoSuchSteps(BadRequest):
    """`reason` says what `path` has, and what to choose."""

    def __init__(self, path: Path | str, steps: str, reason: str) -> None:
        super().__init__(f"cannot select steps {steps} of {path}: {reason}")


class UnreadableTrace(DataPipelineError):
    """`path` cannot be analysed because of `reason`; `remedy` is what the user can do."""

    def __init__(self, path: Path | str, reason: str, remedy: str) -> None:
        self.path, self.reason, self.remedy = str(path), reason, remedy
        super().__init__(f"cannot read {path}: {reason}; {remedy}")


class Refused(UnreadableTrace):
    """A trace that discovery found and that may not, or cannot, be opened: its line is `TraceFile.refused`."""

    def __init__(self, line: str) -> None:
        self.path, self.reason, self.remedy = "", line, ""
        Exception.__init__(self, line)  # names in it are safe to print already


class NothingToReport(DataPipelineError):
    exit_status: int = 1
    http_status: ClassVar[int] = 404


class UnknownCapture(DataPipelineError):
    http_status: ClassVar[int] = 404


class CannotStart(DataPipelineError):
    """125: for a reason of ours; 126: the program cannot be executed; 127: it is not there."""

    def __init__(self, exit_status: int, message: str) -> None:
        super().__init__(message)
        self.exit_status = exit_status


class InternalError(DataPipelineError):
    """Something unforeseen went wrong in `doing`, such as "analyse a.json"; the line names the place for the report."""

    exit_status: int = 3
    http_status: ClassVar[int] = 500

    def __init__(self, doing: str, error: Exception) -> None:
        places = traceback.extract_tb(error.__traceback__)
        where = f" ({Path(places[-1].filename).name}, line {places[-1].lineno})" if places else ""
        what = " ".join(f"{type(error).__name__}: {error}".split())
        super().__init__(
            f"cannot {doing}: {what}{where}; this is an internal error of tb-dataplugin, please report this line"
        )


def traceback_text(error: BaseException) -> str:
    """Python 3.11 parses each line of a traceback to underline a part of it, and may fail at that by itself
    (python/cpython#106905): the lines then lack their text.
    """
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        at = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        places = [f'  File "{code.co_filename}", line {line}, in {code.co_name}\n' for code, line in at]
        return "".join((*places, f"{type(error).__name__}: {error}\n"))
