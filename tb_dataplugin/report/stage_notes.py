"""Why a stage may have fewer calls, or less time, than what is around it or inside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.report import report_pb2 as pb

CUT: Final = (
    "A stage may take longer than the one around it: calls count where they begin, and a call that began before the "
    "first of these steps is missing, but not those inside it"
)

SERIALISED: Final = frozenset(("json.loads", "orjson.loads", "pickle.loads"))
"""Labels of stages that the recorder marks from 4 KiB on (docs/readers.md)."""


def stage_notes(rows: Sequence[pb.Stage]) -> Iterator[str]:
    totals = {tuple(row.path): row.total_us for row in rows}
    if any(row.total_us > totals.get(tuple(row.path[:-1]), row.total_us) for row in rows):
        yield CUT
    small = [row.path[-1] for row in rows if row.label in SERIALISED]
    if small:
        yield f"{', '.join(dict.fromkeys(small))}: calls on less than 4 KiB are not recorded"
