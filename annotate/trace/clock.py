"""Two clocks in one: ``perf_counter_ns`` of all processes of the machine, and the trace's own `ts`.

Markers with a name of our own, recorded at both ends of a window, are anchors: ``perf_counter_ns`` is read right before
and after each begins, and `ts` is found in the trace. Two of them, and not one offset, because the clocks differ in
rate: by more than 50 us in an hour.
"""

from __future__ import annotations

import re
from _thread import get_ident
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

from annotate.recording import switch

_NAME: Final = "annotate: clock "
_TRIES: Final = 5

_ANCHOR: Final = re.compile(
    rb'"annotate: clock (\d+)",\s*"pid":\s*(\d+),\s*"tid":\s*(\d+),\s*"ts":\s*(\d+)(?:\.(\d+))?'
)


class Reading(NamedTuple):
    """A marker began between two readings of ``perf_counter_ns``."""

    number: int
    before: int
    after: int


class Anchors:
    """The anchors of one window, written into the trace and found there again."""

    def __init__(self) -> None:
        self.first: list[Reading] = []
        self.last: list[Reading] = []
        self.thread: tuple[int, int] | None = None
        """Process and thread that recorded the anchors (the training thread), as the trace numbers them."""
        self._ident = 0
        """That thread, as Python numbers it; 0: not known."""
        self._found: dict[int, int] = {}

    def begin(self) -> None:
        """Record anchors at the window's beginning. torch's profiler must be recording."""
        self.first, self._ident = _readings(0), get_ident()

    def end(self) -> None:
        """Record anchors at the window's end."""
        self.last = _readings(_TRIES)

    def is_elsewhere(self, thread: int | None) -> bool | None:
        """Whether that thread, as Python numbers it, is another one; None: not known."""
        return thread != self._ident if thread is not None and self._ident else None

    def look(self, text: bytes) -> None:
        """Find the anchors in a part of the trace."""
        quoted = b'"' + _NAME.encode()
        at = text.find(quoted)
        while at >= 0:  # the text between them is all of the trace: not a matter for a regular expression
            match = _ANCHOR.match(text, at)
            at = text.find(quoted, at + 1)
            if match is None:
                continue
            number, pid, tid, whole, fraction = match.groups()
            self._found[int(number)] = int(whole) * 1000 + int(((fraction or b"") + b"000")[:3])
            self.thread = (int(pid), int(tid))

    def clock(self) -> Clock | None:
        """What the anchors say; None when not one of them is in the trace."""
        first, last = self._tightest(self.first), self._tightest(self.last)
        if first is None:
            first = last
        if first is None:
            return None
        return Clock(*first, *(last or first))

    def _tightest(self, readings: list[Reading]) -> tuple[int, int] | None:
        found = [reading for reading in readings if reading.number in self._found]
        if not found:
            return None
        best = min(found, key=lambda reading: reading.after - reading.before)
        return (best.before + best.after) // 2, self._found[best.number]


class Clock:
    """Turns ``perf_counter_ns`` into the trace's `ts` in nanoseconds: a straight line through two anchors."""

    def __init__(self, perf: int, ts: int, last_perf: int, last_ts: int) -> None:
        self._perf = perf
        self._ts = ts
        elapsed = last_perf - perf
        self._drift = ((last_ts - ts) - elapsed) / elapsed if elapsed > 0 else 0.0

    def ts_ns(self, perf: Any) -> Any:
        """For an int or an int64 array. Never changes the order of two times."""
        elapsed = perf - self._perf
        drifted = elapsed * self._drift
        return self._ts + elapsed + (int(drifted) if isinstance(drifted, float) else drifted.astype("int64"))


def _readings(first_number: int) -> list[Reading]:
    readings = []
    for number in range(first_number, first_number + _TRIES):
        marker = switch.marker(f"{_NAME}{number}")
        before = perf_counter_ns()
        with marker:
            after = perf_counter_ns()
        readings.append(Reading(number, before, after))
    return readings
