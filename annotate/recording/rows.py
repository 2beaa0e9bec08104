"""Rows: a span in 24 bytes, as recorders keep it, the spool carries it and the trace's writer reads it.

A number more about a span is a row more behind it: most have none, and each number costs a tenth of a span. Encoding
stands in `span_recorder`, whose hot path it is; here is what the numbers mean, and how they are read.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

from annotate.trace_format import parse_span_name

FIELDS: Final = ("name_cpu", "start", "end")
"""Name and CPU time; start and end (perf_counter_ns). Or `EXTRA`, a number about the span before, and 0. Or `READING`,
its start and end."""

EXTRA: Final = -1
"""In place of name and CPU time. The number is the dataset index of a `sample`, the bytes of any other result."""

READING: Final = -2
"""In place of name and CPU time: the recorder's own reading of CPU time, from `start` to `end`, in which its thread
waited for a CPU."""

SPAN: Final = [(field, "i8") for field in (*FIELDS, "extra")]
"""A span as it is read; `extra` is `UNKNOWN` where nothing was said."""
ROW_SIZE: Final = 8 * len(FIELDS)
"""Bytes. Integers are in the machine's own byte order: the reader is on the same machine."""

UNKNOWN: Final = -1
"""In `extra`: not measured."""

CPU_BITS: Final = 44
"""Of CPU nanoseconds in a row's first number (4.8 hours); the number of its name stands above them."""
ALL_THE_TIME: Final = (1 << CPU_BITS) - 1
"""Instead of CPU nanoseconds: as long as the span."""


class ThreadRow(NamedTuple):
    """A span of another thread of a worker than its own."""

    iteration: int
    """Of the batch that was in work when the span ended, -1: not known; so is `batch`."""
    batch: int
    thread: int
    """As the system numbers it."""
    name: int
    start: int
    end: int
    cpu: int
    item: int
    """Dataset index of a sample, -1 otherwise."""


THREAD_ROW: Final = struct.Struct(f"={len(ThreadRow._fields)}q")


def read_rows(packed: bytes) -> Any:
    """An array of `SPAN`. numpy is imported when it is needed, after the training has begun."""
    import numpy as np

    rows = _unpacked(packed)
    rows = rows[rows[:, 0] != READING]
    is_extra = rows[:, 0] == EXTRA
    spans = np.empty(len(rows) - int(is_extra.sum()), dtype=SPAN)
    for at, field in enumerate(FIELDS):
        spans[field] = rows[:, at][~is_extra]
    spans["extra"] = UNKNOWN
    (extras,) = np.nonzero(is_extra)
    spans["extra"][extras - np.arange(len(extras)) - 1] = rows[extras, 1]
    return spans


def read_readings(packed: bytes) -> Any:
    """Beginning and end of each `READING`, as an array of two columns."""
    rows = _unpacked(packed)
    return rows[rows[:, 0] == READING, 1:]


def _unpacked(packed: bytes) -> Any:
    import numpy as np

    return np.frombuffer(packed, dtype=np.int64).reshape(-1, len(FIELDS))


def name_numbers(rows: Any) -> Any:
    return rows["name_cpu"] >> CPU_BITS


def cpu_ns(rows: Any) -> Any:
    """CPU time of each row."""
    import numpy as np

    cpu = rows["name_cpu"] & ALL_THE_TIME
    return np.where(cpu == ALL_THE_TIME, rows["end"] - rows["start"], cpu)


def is_sample(name: str) -> bool:
    """Whether a span name is that of a `sample`, whose `extra` is the dataset index."""
    stage = parse_span_name(name)
    return stage is not None and stage.kind == "sample"


def enclosing_index(rows: Any, samples: Any) -> Any:
    """For each row (by start) the dataset index of the sample that it lies in, or -1.

    Args:
        samples: per row, whether it is a `sample`.
    """
    import numpy as np

    result = np.full(len(rows), -1, dtype=np.int64)
    found = rows[samples]
    if len(found):
        at = np.searchsorted(found["start"], rows["start"], side="right") - 1
        inside = (at >= 0) & (rows["end"] <= found["end"][at])
        result[inside] = found["extra"][at[inside]]
    return result
