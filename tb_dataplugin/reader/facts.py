"""What a recorder wrote beside its spans, and how much each copy moved: kept for the few events that have it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import SpanFacts
from tb_dataplugin.reader.categories import integers
from tb_dataplugin.reader.decoding import RawEvent

Rows = npt.NDArray[np.intp]

_KEYS: Final = ("bytes", "index", "batch", "epoch")
_MOST: Final = np.array((7 * 24 * 3600 * 10**9, 2**50, 2**31 - 1, 2**31 - 1, 2**31 - 1), dtype=np.int64)
"""Per column: a week of CPU time, a petabyte, what the report can number. A number beyond that is ignored."""


class FactTable:
    """Facts by row of the event table."""

    def __init__(self) -> None:
        self._rows: list[Rows] = []
        self._values: list[Int64Array] = []  # columns: cpu_ns, then those of _KEYS

    def add(self, rows: Rows, spans: list[RawEvent]) -> None:
        """`rows` are ascending, and above all that were added before."""
        args = [span.args for span in spans]
        cpu = [_cpu_ns(None if own is None else own.cpu_us) for own in args]
        others = [integers([-1 if own is None else _or_none(getattr(own, key)) for own in args]) for key in _KEYS]
        self._rows.append(rows)
        values = np.stack((np.array(cpu, dtype=np.int64), *others), axis=1)
        values[(values < 0) | (values > _MOST)] = -1
        self._values.append(values)

    def close(self, keep: npt.NDArray[np.bool_]) -> FactReader:
        """`keep`: the rows of the event table that stay."""
        if not self._rows:
            return FactReader(np.zeros(0, dtype=np.intp), np.zeros((0, 1 + len(_KEYS)), dtype=np.int64))
        rows, values = np.concatenate(self._rows), np.concatenate(self._values)
        stays = keep[rows]
        return FactReader((np.cumsum(keep) - 1)[rows[stays]], values[stays])


class FactReader:
    """Reads the facts of any rows of the final event table."""

    def __init__(self, rows: Rows, values: Int64Array) -> None:
        self._rows, self._values = rows, values

    def __call__(self, rows: Rows) -> SpanFacts:
        """-1 where there is none."""
        facts = np.full((len(rows), self._values.shape[1]), -1, dtype=np.int64)
        if len(self._rows):
            place = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
            known = self._rows[place] == rows
            facts[known] = self._values[place[known]]
        return SpanFacts(*(np.ascontiguousarray(column) for column in facts.T))


def _or_none(value: Any) -> Any:
    """None is not a number; `integers` is faster without it."""
    return -1 if value is None else value


def _cpu_ns(value: Any) -> int:
    if isinstance(value, str):  # fractions of a mended event
        try:
            value = float(value)
        except ValueError:
            return -1
    return round(value * 1e3) if isinstance(value, (int, float)) and abs(value) < 1e15 else -1
