"""Reading what `_recorder` wrote: columns of its rows. numpy is imported when it is needed, after training began."""

from __future__ import annotations

from typing import Any

from annotate.recording.span_recorder import ALL_THE_TIME, CPU_BITS
from annotate.trace_format import parse_span_name


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
