"""Native frames below the Python line that called them: py-spy's samples, joined to those of our own sampler.

py-spy's times are relative to its start, and its samples are others than ours. Each of our samples gets the native
frames of py-spy's nearest one whose innermost Python line is the same; where there is none it stays as it is. The shift
between the two clocks is the one at which most of our samples agree with py-spy's on that line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from annotate.host.native_stacks import NativeStacks

Line = tuple[str, int]
"""File and line of the innermost Python frame."""
NativeFrame = tuple[str, str]
"""Symbol, and the library or source file that has it."""

NO_SYMBOL: Final = "(no symbol)"
_NEAR_NS: Final = 12_000_000
"""py-spy samples every 10 ms: one that is further away is of another moment."""
_SHIFTS_NS: Final = range(-10_000_000, 150_000_001, 2_000_000)
"""py-spy reads its clock some milliseconds after it was started, and stamps a sample when it has unwound it."""
_AGREES: Final = 0.3
"""Of our samples: with fewer on the same line as py-spy's the two are not of the same thread."""
_ENOUGH: Final = 10
MOST_FRAMES: Final = 24
"""Native frames of a stack that are kept: those nearest to the Python line, and the innermost."""
MOST_SYMBOL: Final = 120


@dataclass(slots=True)
class Timeline:
    """What py-spy saw of one thread: from each time on (ns since its start) a line, and what ran below it."""

    time: list[int] = field(default_factory=list)
    line: list[Line] = field(default_factory=list)
    tail: list[tuple[NativeFrame, ...]] = field(default_factory=list)


def read_timelines(text: bytes, python_files: Iterable[str]) -> list[Timeline]:
    """One per thread.

    Args:
        text: what py-spy wrote (``--format chrometrace``).
        python_files: names that code objects have.

    Raises:
        ValueError, KeyError, TypeError: it is something else.
    """
    known, events = frozenset(python_files), json.loads(text)
    found: dict[int, Timeline] = {}
    stacks: dict[int, list[tuple[str, str, int]]] = {}
    for event in events if isinstance(events, list) else events["traceEvents"]:
        if event["ph"] not in "BE":
            continue
        tid, now = event["tid"], event["ts"] * 1000
        timeline, stack = found.setdefault(tid, Timeline()), stacks.setdefault(tid, [])
        if event["ph"] == "B":
            arguments = event["args"]
            stack.append((event["name"], arguments.get("filename") or "", arguments.get("line") or 0))
        elif stack:
            stack.pop()
        if not timeline.time or timeline.time[-1] != now:
            timeline.time.append(now)
            timeline.line.append(("", 0))
            timeline.tail.append(())
        timeline.line[-1], timeline.tail[-1] = _split(stack, known)
    return list(found.values())


def _split(stack: list[tuple[str, str, int]], python_files: frozenset[str]) -> tuple[Line, tuple[NativeFrame, ...]]:
    at = len(stack)
    while at and not _is_python(stack[at - 1][1], python_files):
        at -= 1
    if not at:
        return ("", 0), ()
    tail: list[NativeFrame] = []
    for name, file, _ in stack[at:]:
        frame = (NO_SYMBOL if name.startswith("0x") else name[:MOST_SYMBOL], file)
        if not tail or tail[-1] != frame:
            tail.append(frame)
    if len(tail) > MOST_FRAMES:
        tail = [*tail[: MOST_FRAMES // 2], *tail[-MOST_FRAMES // 2 :]]
    return (stack[at - 1][1], stack[at - 1][2]), tuple(tail)


def _is_python(file: str, python_files: frozenset[str]) -> bool:
    return file in python_files or file.endswith(".py") or file.startswith("<")


class Joined:
    """The native frames of each of our samples."""

    def __init__(self, native: NativeStacks, known: dict[str, Any]) -> None:
        """
        Args:
            known: the columns of `stack_reader.Table`.
        """
        self._native = native
        names, self._frames = known["names"], known["frames"]
        self._node_frame: list[int] = known["stacks"]["frame"]
        self._files = [names[file] for file in self._frames["file"]]
        self._timelines: dict[int, list[Timeline]] = {}
        self.why_not = list(native.why_not)
        self.samples = self.joined = 0
        for pid, text in native.texts.items():
            try:
                self._timelines[pid] = read_timelines(text, self._files)
            except (ValueError, KeyError, TypeError, AttributeError):
                self.why_not.append("what py-spy wrote could not be read")

    def tails(self, pid: int, times: list[int], stacks: list[int]) -> list[tuple[NativeFrame, ...]]:
        """Of one thread's samples: ``perf_counter_ns`` and node of each."""
        lines = [self._line(stack) for stack in stacks]
        best = max(
            (_aligned(timeline, self._native.began[pid], times, lines) for timeline in self._timelines.get(pid, ())),
            key=lambda found: found[0],
            default=(0.0, 0, Timeline()),
        )
        agrees, shift, timeline = best
        if agrees < _AGREES or len(times) < _ENOUGH:
            return [()] * len(times)
        found = [_nearest(timeline, time - shift, line) for time, line in zip(times, lines, strict=True)]
        self.samples += len(found)
        self.joined += sum(tail is not None for tail in found)
        return [tail or () for tail in found]

    def _line(self, stack: int) -> Line:
        if stack < 0:
            return ("", -1)
        frame = self._node_frame[stack]
        return self._files[frame], self._frames["line"][frame]


def _aligned(timeline: Timeline, began: int, times: list[int], lines: list[Line]) -> tuple[float, int, Timeline]:
    """How many of our samples agree at the best shift of py-spy's clock, and that shift; of equally good the median."""
    import numpy as np

    numbers: dict[Line, int] = {}
    ours = np.array([numbers.setdefault(line, len(numbers)) for line in lines])
    theirs = np.array([numbers.setdefault(line, len(numbers)) for line in timeline.line])
    starts, asked = np.array(timeline.time), np.array(times)
    scores = []
    for shift in _SHIFTS_NS:
        at = np.searchsorted(starts, asked - began - shift, side="right") - 1
        scores.append(float(np.mean((at >= 0) & (theirs[np.maximum(at, 0)] == ours))))
    best = max(scores)
    good = [shift for shift, score in zip(_SHIFTS_NS, scores, strict=True) if score >= 0.99 * best]
    return best, began + good[len(good) // 2], timeline


def _nearest(timeline: Timeline, time: int, line: Line) -> tuple[NativeFrame, ...] | None:
    """Below that line in the state at that time, or in the one before or after; None: it was not seen there."""
    from bisect import bisect_right

    at = bisect_right(timeline.time, time) - 1
    if at >= 0 and timeline.line[at] == line:
        return timeline.tail[at]
    beside = [
        (abs(edge - time), place)
        for place, edge in ((at + 1, at + 1), (at - 1, at))
        if 0 <= place < len(timeline.time) and 0 <= edge < len(timeline.time)
        for edge in (timeline.time[edge],)
        if timeline.line[place] == line and abs(edge - time) <= _NEAR_NS
    ]
    return timeline.tail[min(beside)[1]] if beside else None
