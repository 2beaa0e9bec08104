"""Stacks that were sampled in a window, as the trace carries them."""

from __future__ import annotations

import json
import linecache
import os
import sysconfig
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from annotate.host.stack_thread import UNKNOWN_STATE
from annotate.host.watching import States, WatchedThread
from annotate.trace.clock import Clock
from annotate.trace.native_frames import Joined, NativeFrame
from annotate.trace.thread_states import sample_rows
from annotate.trace_format import (
    LINES_VERSION,
    LINES_VERSION_NATIVE,
    LineFrames,
    LineSampler,
    LineSamples,
    NativeFacts,
    SampledLines,
)

MOST_SAMPLES: Final = 100_000
"""Of all threads together; some 1.5 MB of the trace before it is packed."""
MOST_SOURCE: Final = 120
"""Characters of a line that are kept."""
_OURS: Final = str(Path(__file__).parent.parent)
_NO_CLOCK: Final = "torch's profiler recorded no CPU activity, so its clock is unknown"


def line_samples(
    states: States, clock: Clock | None, elsewhere: Collection[int], sampler: LineSampler = "outside"
) -> LineSamples:
    """
    Args:
        elsewhere: threads of this process that ran stages, besides the training thread.
    """
    why = states.why_not or states.why_no_stacks or (_NO_CLOCK if clock is None else "")
    if why or clock is None or not states.stacks or not states.records:
        return {"version": LINES_VERSION, "why_not": why or "the window was too short for a sample"}
    known: dict[str, Any] = json.loads(states.stacks)
    rows = sample_rows(states)
    left_out, rows = max(0, len(rows) - MOST_SAMPLES), rows[:MOST_SAMPLES]
    tree, libraries = _Tree(known), _libraries()
    native = None if states.native is None else Joined(states.native, known)
    threads: list[SampledLines] = []
    holders: dict[str, SampledLines] = {}
    for number, thread in enumerate(states.threads):
        mine, name = rows[rows["thread"] == number], states.names.get(thread.tid, "")
        if not (mine["stack"] >= 0).any():
            continue
        if not thread.beside or thread.tid in elsewhere:
            threads.append(_columns(thread, mine, clock, tree, native))
        elif name:
            holders[name] = _columns(thread, mine, clock, tree, native)
    found: LineSamples = {
        "version": LINES_VERSION,
        "sampler": sampler,
        "threads": threads,
        "holders": list(holders.values()),
        "holder_names": list(holders),
        "clock_error_us": round(known["took_ns"] / 1000, 3),
        "cpu_us": round(states.cpu_ns / 1000, 3),
        "unread": known["unread"],
        "left_out": left_out,
        "unseen": [*known.get("unseen", ()), *_unseen(known["blind"])],
        **tree.columns(libraries),
        "recorder": _OURS,
        "libraries": libraries,
    }
    if tree.has_native:
        found["version"] = LINES_VERSION_NATIVE
    if native is not None:
        found["native"] = _native(native, states)
    if not found["threads"]:
        return {"version": LINES_VERSION, "why_not": "no stack could be read", "unseen": found["unseen"]}
    return found


def _libraries() -> list[str]:
    paths = sysconfig.get_paths()
    return sorted({path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := paths.get(name, ""))})


def _unseen(blind: dict[str, str]) -> list[str]:
    """One sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for pid, why in blind.items():
        reasons.setdefault(why, []).append(pid)
    return [f"The stacks of {_processes(pids)} could not be read: {why}" for why, pids in sorted(reasons.items())]


def _processes(pids: list[str]) -> str:
    few = ", ".join(pids[:3])
    return f"process {few}" if len(pids) == 1 else f"{len(pids)} processes ({few}{', ...' if len(pids) > 3 else ''})"


def _native(native: Joined, states: States) -> NativeFacts:
    cpu_ns = states.native.cpu_ns if states.native else 0
    left_out = states.native.left_out if states.native else 0
    return {
        "samples": native.samples,
        "joined": native.joined,
        "cpu_us": round(cpu_ns / 1000, 3),
        "left_out": left_out,
        "why_not": list(dict.fromkeys(native.why_not)),
    }


class _Tree:
    """The stacks that are written: those of the threads that are."""

    def __init__(self, known: dict[str, Any]) -> None:
        self._names: list[str] = known["names"]
        self._frames: LineFrames = known["frames"]
        self._parent: list[int] = known["stacks"]["parent"]
        self._frame: list[int] = known["stacks"]["frame"]
        self._numbers: dict[int, int] = {-1: -1}
        """Node -> its number in `nodes`."""
        self.nodes: dict[tuple[int, int], int] = {}
        self._native: dict[NativeFrame, int] = {}
        """Native frame -> its number: below 0, where those of Python frames are not."""

    @property
    def has_native(self) -> bool:
        return bool(self._native)

    def below(self, node: int, tail: tuple[NativeFrame, ...]) -> int:
        """The number of a stack with native frames."""
        number = self.number(node)
        for frame in tail if node >= 0 else ():
            each = self._native.setdefault(frame, -1 - len(self._native))
            number = self.nodes.setdefault((number, each), len(self.nodes))
        return number

    def number(self, node: int) -> int:
        chain = []
        while node not in self._numbers:
            chain.append(node)
            node = self._parent[node]
        number = self._numbers[node]
        for each in reversed(chain):
            number = self._numbers[each] = self.nodes.setdefault((number, self._frame[each]), len(self.nodes))
        return number

    def columns(self, libraries: list[str]) -> LineSamples:
        frames: dict[int, int] = {}
        parent, frame = [], []
        for above, each in self.nodes:
            parent.append(above)
            frame.append(frames.setdefault(each, len(frames)))
        names: dict[str, int] = {}
        columns, native = self._frames, {number: frame for frame, number in self._native.items()}

        def named(texts: list[str]) -> list[int]:
            return [names.setdefault(text, len(names)) for text in texts]

        def texts(column: list[int], part: int) -> list[str]:
            return [native[each][part] if each < 0 else self._names[column[each]] for each in frames]

        sources = ["" if each < 0 else self._source(each, (*libraries, _OURS)) for each in frames]
        written: LineFrames = {
            "function": named(texts(columns["function"], 0)),
            "file": named(texts(columns["file"], 1)),
            "line": [0 if each < 0 else columns["line"][each] for each in frames],
            "first": [0 if each < 0 else columns["first"][each] for each in frames],
            "source": [names.setdefault(text, len(names)) if text else -1 for text in sources],
        }
        if native:
            written["native"] = [number for each, number in frames.items() if each < 0]
        return {"frames": written, "names": list(names), "stacks": {"parent": parent, "frame": frame}}

    def _source(self, frame: int, folders: tuple[str, ...]) -> str:
        """The line of the user's code, in a notebook as well; "" where there is none."""
        file = self._names[self._frames["file"][frame]]
        if not file or file.startswith((*(f"{folder}{os.sep}" for folder in folders), "<frozen ")):
            return ""
        with suppress(Exception):  # a loader of the user's
            return _shortened(linecache.getline(file, self._frames["line"][frame]).strip())
        return ""


def _columns(thread: WatchedThread, rows: Any, clock: Clock, tree: _Tree, native: Joined | None) -> SampledLines:
    import numpy as np

    times = clock.ts_ns(rows["time"])
    first = int(times[0])
    since = np.diff(np.rint((times - first) / 1000).astype(np.int64))
    stacks = rows["stack"].tolist()
    tails = [()] * len(stacks) if native is None else native.tails(thread.pid, rows["time"].tolist(), stacks)
    return {
        "pid": thread.pid,
        "tid": thread.tid,
        "training": thread.training,
        "start_us": round(first / 1000, 3),
        "since_us": [0, *since.tolist()],
        "stack": [tree.below(node, tail) for node, tail in zip(stacks, tails, strict=True)],
        "state": np.where(rows["state"] == UNKNOWN_STATE, -1, rows["state"].astype(np.int64)).tolist(),
    }


def _shortened(text: str) -> str:
    """A long line ends with a mark of what is missing."""
    return text if len(text) <= MOST_SOURCE else f"{text[: MOST_SOURCE - 1]}…"
