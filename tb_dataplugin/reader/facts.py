"""What a recorder wrote beside its spans, and how much each copy moved: kept for the few events that have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.limits import MOST_FILES, MOST_PATH, MOST_PATHS
from tb_dataplugin.model.beside_events import SpanFacts
from tb_dataplugin.model.intervals import Int64Array
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
        self._files: dict[int, tuple[str, ...]] = {}

    def add(self, rows: Rows, spans: list[RawEvent]) -> None:
        """`rows` are ascending, and above all that were added before."""
        args = [span.args for span in spans]
        cpu = [_cpu_ns(None if own is None else own.cpu_us) for own in args]
        others = [integers([-1 if own is None else _or_none(getattr(own, key)) for own in args]) for key in _KEYS]
        self._rows.append(rows)
        values = np.stack((np.array(cpu, dtype=np.int64), *others), axis=1)
        values[(values < 0) | (values > _MOST)] = -1
        self._values.append(values)
        for row, own in zip(rows.tolist(), args, strict=True):
            if own is not None and own.files is not None and len(self._files) < MOST_FILES:
                self._files[row] = _paths(own.files)

    def close(self, keep: npt.NDArray[np.bool_]) -> FactReader:
        """`keep`: the rows of the event table that stay."""
        if not self._rows:
            return FactReader(np.zeros(0, dtype=np.intp), np.zeros((0, 1 + len(_KEYS)), dtype=np.int64), {})
        rows, values = np.concatenate(self._rows), np.concatenate(self._values)
        stays = keep[rows]
        now = np.cumsum(keep) - 1
        files = {int(now[row]): paths for row, paths in self._files.items() if keep[row]}
        return FactReader(now[rows[stays]], values[stays], files)


class FactReader:
    """Reads the facts of any rows of the final event table."""

    def __init__(self, rows: Rows, values: Int64Array, files: Mapping[int, tuple[str, ...]]) -> None:
        self._rows, self._values, self._files = rows, values, files

    def __call__(self, rows: Rows) -> SpanFacts:
        """-1 where there is none."""
        facts = np.full((len(rows), self._values.shape[1]), -1, dtype=np.int64)
        if len(self._rows):
            place = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
            known = self._rows[place] == rows
            facts[known] = self._values[place[known]]
        named = {int(row): at for at, row in enumerate(rows.tolist()) if row in self._files} if self._files else {}
        files = {named[row]: paths for row, paths in self._files.items() if row in named}
        cpu, *others = (np.ascontiguousarray(column) for column in facts.T)
        size, index, batch, epoch = others
        return SpanFacts(cpu_ns=cpu, bytes=size, index=index, batch=batch, epoch=epoch, files=files)


def _paths(value: Any) -> tuple[str, ...]:
    paths = value if isinstance(value, list) else [value]
    return tuple(path[:MOST_PATH] for path in paths[:MOST_PATHS] if isinstance(path, str))


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
