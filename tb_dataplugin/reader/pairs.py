"""Begin and end events (``B`` and ``E``, ``b`` and ``e``) to spans. Kineto writes none; other writers do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.reader.decimals import nanoseconds
from tb_dataplugin.reader.decoding import RawEvent

BEGINS: Final = ("B", "b")
PAIRED: Final = frozenset("BEbe")

Pair = tuple[RawEvent, int, int]
"""The begin event, start and length in ns."""


class PairMaker:
    """Pairs the latest begin of a thread with the next end; asynchronous ones by category, id and process."""

    def __init__(self, diagnostics: DiagnosticsCollector) -> None:
        self._diagnostics = diagnostics
        self._open: dict[Hashable, list[tuple[RawEvent, int]]] = {}

    def add(self, events: Sequence[RawEvent]) -> list[Pair]:
        """The spans that end among these events."""
        pairs: list[Pair] = []
        times, good = nanoseconds([event.ts for event in events])
        for event, time, readable in zip(events, times.tolist(), good.tolist(), strict=True):
            if not readable:
                self._diagnostics.add("event_without_start", "Events without a readable `ts` were skipped")
                continue
            stack = self._open.setdefault(_key(event), [])
            if event.ph in BEGINS:
                stack.append((event, time))
            elif stack and stack[-1][1] <= time:
                begin, start = stack.pop()
                pairs.append((begin, start, time - start))
            else:
                self._diagnostics.add("unpaired_event", "Begin or end events without their counterpart were skipped")
        return pairs

    def close(self) -> None:
        """Count what never ended."""
        left = sum(map(len, self._open.values()))
        self._diagnostics.add("unpaired_event", "Begin or end events without their counterpart were skipped", left)


def _key(event: RawEvent) -> Hashable:
    return (event.cat, event.id, event.pid) if event.ph in ("b", "e") else (event.pid, event.tid)
