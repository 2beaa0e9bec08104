"""What was odd in the file that a trace was pruned from: carried in the pruned file, so that its report says it too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tb_dataplugin.diagnostics import Diagnostic
from tb_dataplugin.limits import MOST_SETTINGS

PRUNED_KEY: Final = "dataPipelinePruned"
"""Top-level key of a pruned trace."""


class _Carried(msgspec.Struct):
    code: str
    count: int
    message: str


class _Pruned(msgspec.Struct):
    diagnostics: list[_Carried] = []


def carry(found: Sequence[Diagnostic]) -> dict[str, Any]:
    """The value of `PRUNED_KEY`."""
    return {"diagnostics": [{"code": one.code, "count": one.count, "message": one.message} for one in found]}


def with_carried(value: object, found: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """What was carried, and of `found` what is new in this file. A value that is not ours is ignored."""
    try:
        pruned = msgspec.convert(value, _Pruned)
    except msgspec.ValidationError:
        return found
    carried = {one.code: Diagnostic("file", one.code, one.count, one.message) for one in pruned.diagnostics}
    known = dict(list(carried.items())[:MOST_SETTINGS])
    return (*known.values(), *(one for one in found if one.code not in known))
