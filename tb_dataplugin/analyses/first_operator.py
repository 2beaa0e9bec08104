"""What a step does before anything of torch runs in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.model.trace import Trace


def before_first_operator(trace: Trace, waits: Intervals, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which moments lie behind a data wait, and before the first operator of the training thread that follows it."""
    events = trace.events
    operators = events.is_category(Category.CPU_OP) & (events.track == trace.training_track)
    begun = np.sort(events.start_ns[operators])
    return _last(waits.end, times_ns) > _last(begun, times_ns)


def _last(moments: npt.NDArray[np.int64], times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The last of the sorted moments at or before each time; before everything where there is none."""
    known = np.concatenate([[np.iinfo(np.int64).min], moments])
    found: npt.NDArray[np.int64] = known[np.searchsorted(moments, times_ns, side="right")]
    return found
