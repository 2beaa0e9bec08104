"""The timed events of a trace as equally long columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array


class Category(IntEnum):
    """What an event is, whichever spelling the torch version used."""

    OTHER = 0
    CPU_OP = 1
    USER_ANNOTATION = 2
    RUNTIME = 3  # CUDA, HIP, XPU, MTIA runtime and driver calls
    KERNEL = 4
    MEMCPY = 5
    MEMSET = 6
    DEVICE_ANNOTATION = 7  # the device's copy of a user annotation: no activity
    DEVICE_SYNC = 8  # synchronisation records on device rows: no activity
    PYTHON = 9
    OVERHEAD = 10
    PROFILER = 11  # the profiler's own span over the whole capture


DEVICE_ACTIVITY = (Category.KERNEL, Category.MEMCPY, Category.MEMSET)


@dataclass(frozen=True, slots=True)
class EventTable:
    """Complete events, in file order, but for those that no analysis looks at. All columns have the same length.

    start_ns, end_ns   nanoseconds since the trace's first event besides the profiler's own span
    name               index into the trace's names
    category           a `Category`
    track              index into the trace's tracks (thread or device stream)
    device             device id of device events, -1 for all others
    correlation        links a runtime call to the device activity it launched; -1 when there is none
    """

    start_ns: Int64Array
    end_ns: Int64Array
    name: npt.NDArray[np.int32]
    category: npt.NDArray[np.int8]
    track: npt.NDArray[np.int32]
    device: npt.NDArray[np.int32]
    correlation: Int64Array

    def __len__(self) -> int:
        return len(self.start_ns)

    def take(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> EventTable:
        """The chosen rows (a mask or row numbers)."""
        return EventTable(*(getattr(self, column.name)[rows] for column in fields(self)))

    def is_category(self, *categories: Category) -> npt.NDArray[np.bool_]:
        matches = np.zeros(len(self), dtype=np.bool_)
        for category in categories:  # comparing bytes is a tenth of looking them up
            matches |= self.category == category
        return matches
