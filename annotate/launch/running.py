"""Iterators of torch's that were at work before we came: who joins a program in the middle of an epoch hears of their
batches as well.

By Python's own monitoring of one function (3.12 and newer), so that nothing of ours stands between loop and iterator,
also not in the traceback of an exception.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

from annotate.hooks.loaders import start_method
from annotate.launch.turns import Source
from annotate.saying import guard
from annotate.workers.batches import SamplerProxy
from annotate.workers.standing import StandingWorkers

_LOST: Final = "annotate does not record the batches of a DataLoader"
_TOOLS: Final = (4, 3)
"""Of the numbers of monitoring tools, those that no kind of tool has as its own."""


class Running(NamedTuple):
    """In the place of an epoch, whose number nobody knows."""

    prefetched: int
    """Batches that the loader keeps ready."""
    loader: int = -1
    epoch: int = 0


class RunningIterators:
    """Tells of the batches that they hand out, and knows their workers."""

    def __init__(self, workers: StandingWorkers, batch: Callable[[Source], None]) -> None:
        """
        Args:
            batch: called for each of them, in the thread that gets it.
        """
        self._workers: Final = workers
        self._tell: Final = batch
        self._tool: int | None = None
        self._code: Any = None

    def begin(self) -> str:
        """Why they cannot be heard, as a clause; "" where they can."""
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            return "Python 3.12 or newer is needed for it"
        from torch.utils.data import dataloader

        tool = next((each for each in _TOOLS if monitoring.get_tool(each) is None), None)
        if tool is None:
            return "other tools use all that Python has for it"
        self._code = dataloader._BaseDataLoaderIter.__next__.__code__
        monitoring.use_tool_id(tool, "annotate")
        self._tool = tool
        monitoring.register_callback(tool, monitoring.events.PY_RETURN, self._returned)
        monitoring.set_local_events(tool, self._code, monitoring.events.PY_RETURN)
        return ""

    def end(self) -> None:
        """Hear no more. Harmless when that is so."""
        tool, self._tool = self._tool, None
        if tool is not None:
            monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
            monitoring.set_local_events(tool, self._code, 0)
            monitoring.register_callback(tool, monitoring.events.PY_RETURN, None)
            monitoring.free_tool_id(tool)
        self._workers.strangers.clear()

    def _returned(self, code: object, offset: int, batch: object) -> None:
        with guard(_LOST):
            iterator = sys._getframe(1).f_locals.get("self")
            if isinstance(getattr(iterator, "_index_sampler", None), SamplerProxy):
                return  # it began after we came
            workers = self._workers
            processes = getattr(iterator, "_workers", ())
            workers.strangers.update({each.pid: _start_method(each) for each in processes if getattr(each, "pid", 0)})
            if workers.is_armed and workers.on_batch is not None:
                workers.on_batch(perf_counter_ns())
            self._tell(Running(len(processes) * getattr(iterator, "_prefetch_factor", 0)))


def _start_method(process: Any) -> str:
    return getattr(process, "_start_method", None) or start_method(None)
