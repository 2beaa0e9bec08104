"""Who is told that a profiler of the program's own has exported a file with our rows in it."""

from __future__ import annotations

from annotate.capture import guest
from annotate.capture.sentences import added
from annotate.options import is_first_rank
from annotate.recording import switch
from annotate.saying import say
from annotate.trace_format import TRACE_SUFFIX
from annotate.whole_run import current as whole_run

_FOUND = (TRACE_SUFFIX, TRACE_SUFFIX.removesuffix(".gz"))


class Exports:
    """The files of one time that hooks stand: of the first of them the user is told how to look at it."""

    def __init__(self) -> None:
        self._is_told = False

    def tell(self, path: str) -> None:
        """A guest hears of each. A file that its handler goes on to pack has a name that no folder is searched for."""
        guest.wrote(path)
        if path.endswith(_FOUND):
            whole_run.recorded(path, switch.work_began, switch.work_ended)
        if not self._is_told and not guest.is_there() and path.endswith(_FOUND):
            self._is_told = True
            if is_first_rank():
                say(added(path))
