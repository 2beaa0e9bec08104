"""Further arguments of the training thread's markers, found by name and time in its rows."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, Final

from annotate.recording import span_recorder, switch
from annotate.recording.rows import UNKNOWN, cpu_ns, enclosing_index, is_sample, name_numbers
from annotate.trace.clock import Clock
from annotate.trace_format import ARG_BYTES, ARG_CPU_US, ARG_FILES, ARG_INDEX

_SLACK_NS: Final = 1_000
"""How far a row may stick out of its marker: the two clocks are matched to less than that."""


class Arguments:
    """What the training thread's rows say beside the times of its markers: CPU time, dataset index, bytes."""

    def __init__(self, rows: Any, clock: Clock, files: Mapping[int, list[str]]) -> None:
        """`files`: of slow samples, by their start (perf_counter_ns)."""
        import numpy as np

        rows = rows[np.argsort(rows["start"], kind="stable")]
        number = name_numbers(rows)
        names = [switch.HANDED_OUT.get(name, name) for name in span_recorder.names]
        samples = np.array([is_sample(name) for name in names])[number]
        index = enclosing_index(rows, samples)
        size = np.where(samples, UNKNOWN, rows["extra"])
        paths = np.array(files_column(rows["start"], samples, files), dtype=object)
        markers = [switch.END_OF.get(name, name) for name in span_recorder.names]
        ends = [
            names[at] if marker != name else ""
            for at, (marker, name) in enumerate(zip(markers, span_recorder.names, strict=True))
        ]
        renamed = np.array(ends, dtype=object)[number]
        columns = (clock.ts_ns(rows["start"]), clock.ts_ns(rows["end"]), cpu_ns(rows), index, size, paths, renamed)
        numbers_of: dict[str, list[int]] = {}
        for one in np.unique(number).tolist():
            numbers_of.setdefault(markers[one], []).append(one)
        self._of: Final = {
            marker: tuple(column[np.isin(number, mine)].tolist() for column in columns)
            for marker, mine in numbers_of.items()
        }

    def of(self, name: str, start: int, duration: int) -> tuple[str, str]:
        """The span name of a marker where it is another than it was opened with, else ""; and JSON text of its further
        arguments, each with a comma behind it.

        They are those of the row that begins next to the marker: rows of spans of the same name inside it come later.

        Args:
            start: of the marker, in nanoseconds of the trace; so is `duration`.
        """
        if name not in self._of:
            return "", ""
        starts, ends, cpu, index, size, files, renamed = self._of[name]
        at = bisect_left(starts, start - _SLACK_NS)
        if at + 1 < len(starts) and abs(starts[at + 1] - start) < abs(starts[at] - start):
            at += 1
        if at == len(starts) or ends[at] > start + duration + _SLACK_NS:
            return "", ""
        args = f'"{ARG_CPU_US}": {cpu[at] / 1000:.1f}, '
        for key, value in ((ARG_INDEX, index[at]), (ARG_BYTES, size[at])):
            args += f'"{key}": {value}, ' if value >= 0 else ""
        return renamed[at], f"{args}{files[at]}, " if files[at] else args


def files_column(starts: Any, samples: Any, files: Mapping[int, list[str]]) -> list[str]:
    """JSON text of `ARG_FILES` for each row; "" for most.

    Args:
        starts: of rows, in ``perf_counter_ns``.
        samples: whether each is a `sample`.
        files: by start.
    """
    import numpy as np

    column = [""] * len(starts)
    named = np.flatnonzero(samples & np.isin(starts, np.fromiter(files, dtype=np.int64, count=len(files))))
    for row, start in zip(named.tolist(), starts[named].tolist(), strict=True):
        column[row] = f'"{ARG_FILES}": {json.dumps(files[start])}'
    return column
