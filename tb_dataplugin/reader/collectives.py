"""What torch writes beside collectives: their process group, and their number in it."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.limits import MOST_LABEL
from tb_dataplugin.model.beside_events import CollectiveFacts
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.reader.categories import integer
from tb_dataplugin.reader.decoding import RawEvent

Rows = npt.NDArray[np.intp]

_PREFIXES: Final = ("nccl", "rccl", "gloo:", "mpi:", "ucc:", "c10d::", "record_param_comms")


def is_collective(name: str) -> bool:
    """Whether an event of this name may be (part of) a collective."""
    return name.startswith(_PREFIXES)


class CollectiveNotes:
    """Facts by row of the event table."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._groups: list[str] = []
        self._numbers: list[int] = []

    def add(self, rows: list[int], spans: list[RawEvent]) -> None:
        """`rows` are ascending, and above all that were added before; spans that say nothing are passed over."""
        for row, span in zip(rows, spans, strict=True):
            args = span.args
            if args is not None and (args.group is not None or args.seq is not None):
                self._rows.append(row)
                self._groups.append("" if args.group is None else str(args.group)[:MOST_LABEL])
                self._numbers.append(-1 if args.seq is None else integer(args.seq, -1))

    def close(self, keep: npt.NDArray[np.bool_]) -> CollectiveFacts:
        """`keep`: the rows of the event table that stay."""
        rows: Rows = np.array(self._rows, dtype=np.intp)
        stays = np.flatnonzero(keep[rows]).tolist()
        groups = tuple(dict.fromkeys(self._groups[row] for row in stays))
        place = {group: number for number, group in enumerate(groups)}
        now = np.cumsum(keep) - 1
        return CollectiveFacts(
            row=now[rows[stays]].astype(np.intp),
            group=_column([place[self._groups[row]] for row in stays]),
            number=_column([self._numbers[row] for row in stays]),
            groups=groups,
        )


def _column(values: list[int]) -> Int64Array:
    return int64(values) if values else np.zeros(0, dtype=np.int64)
