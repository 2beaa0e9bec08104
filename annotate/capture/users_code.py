"""Functions of the user's that torch's profiler calls: what they raise is theirs to see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from annotate.recording import recording_time
from annotate.signals import came_by_a_signal


class UsersCode:
    """Knows the errors of one capture's functions from ours."""

    def __init__(self) -> None:
        self._error: BaseException | None = None

    def known(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """`function`, whose errors are known afterwards."""

        def call(argument: Any) -> Any:
            try:
                with recording_time.theirs():
                    return function(argument)
            except BaseException as error:
                self._error = error
                raise

        return call

    def has_raised(self, error: BaseException) -> bool:
        """Also where the handler of a signal did."""
        return error is self._error or came_by_a_signal(error)
