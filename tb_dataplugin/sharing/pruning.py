"""The same trace without what its report does not need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.reader.carried import PRUNED_KEY, carry
from tb_dataplugin.reader.kineto import TraceParts
from tb_dataplugin.sharing.surviving import surviving_rows
from tb_dataplugin.sharing.writing import trace_text

READ_MEMBERS: Final = ("deviceProperties", "distributedInfo", "host_name", METADATA_KEY)
"""Beside the events, all that is read."""

_FOR_OTHERS: Final = ("schemaVersion", "baseTimeNanoseconds", "displayTimeUnit")
"""And what other viewers look at."""


def prune(parts: TraceParts) -> Iterator[bytes]:
    """The text of the smaller trace, in blocks."""
    known = {key: parts.member(key) for key in (*_FOR_OTHERS, *READ_MEMBERS)}
    members = {key: value for key, value in known.items() if value is not None}
    read = tuple(one for one in parts.trace.diagnostics if one.topic == "file")
    members[PRUNED_KEY] = carry(read)
    return trace_text(parts.trace, parts.origin_ns, surviving_rows(parts.trace), members)
