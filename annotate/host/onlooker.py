"""Looks at programs that know nothing of us: the Python stacks of all their threads, read from outside of them.

Run as a script by the Python that runs the program, with nothing but the standard library:
``python -I -S -E onlooker.py SECONDS PID``. It reads process PID and all below it, those that come meanwhile included,
neither stops nor writes to them, and takes at most `SHARE` of one CPU. It ends with one JSON object on standard output,
in the form of `trace_format.LineSamples`.
"""

from __future__ import annotations

import json
import linecache
import os
import random
import sys
import sysconfig
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from time import monotonic, perf_counter_ns, process_time, sleep
from typing import Any

sys.path.append(__file__.rpartition("/annotate/")[0])  # behind all others
from annotate.host import stack_reader
from annotate.host.stack_layout import UnknownLayoutError
from annotate.host.watcher import Thread
from annotate.trace_format import LINES_VERSION

SHARE = 0.05
"""Of one CPU, on average: who asks for a look at a program that runs wants enough of it in a few seconds."""
SHORTEST_S, LONGEST_S = 0.0025, 0.0075
"""Between two rounds, at random, so that no loop beats in time with them."""
ROUND_EACH_S = 1.0
"""Between two looks for new processes and threads."""
MOST_THREADS = 512
MOST_SAMPLES = 400_000
MOST_SOURCE = 120
"""Characters of a line that are kept."""
UNKNOWN_STATE = -1


class Looked:
    """One thread, and what was seen of it: columns as in `trace_format.SampledLines`."""

    def __init__(self, pid: int, tid: int) -> None:
        self.pid, self.tid = pid, tid
        self.time_ns: list[int] = []
        self.stack: list[int] = []
        self.state: list[int] = []
        self.took_ns = 0
        """What reading a stack took at most."""
        self._kernels: Thread | None = None
        with suppress(OSError):
            self._kernels = Thread(0, pid, tid, frozenset())

    def look(self, process: stack_reader.Process) -> None:
        now = perf_counter_ns()
        stack = process.stack(self.tid)
        if stack >= 0 and process.read_ns - now > stack_reader.LATE_NS:
            stack = stack_reader.UNREAD
        self.time_ns.append(now)
        self.took_ns = max(self.took_ns, process.read_ns - now) if stack >= 0 else self.took_ns
        self.stack.append(stack)
        self.state.append(self._state())

    def _state(self) -> int:
        try:
            return UNKNOWN_STATE if self._kernels is None else self._kernels.state()
        except (OSError, ValueError, IndexError):
            return UNKNOWN_STATE

    def columns(self, begin_ns: int) -> dict[str, Any]:
        """Times in microseconds, the first since `begin_ns`."""
        times = [(each - begin_ns) // 1000 for each in self.time_ns]
        since = [0, *(later - earlier for earlier, later in pairwise(times))]
        return {
            "pid": self.pid,
            "tid": self.tid,
            "training": False,
            "start_us": float(times[0]),
            "since_us": since,
            "stack": self.stack,
            "state": self.state,
        }


class Onlooker:
    def __init__(self, pid: int) -> None:
        """Raises: UnknownLayoutError and others: stacks cannot be read by this Python."""
        self.pid = pid
        self.layout = stack_reader.prepare()
        self.table = stack_reader.Table()
        self.processes: dict[int, stack_reader.Process] = {}
        self.threads: dict[tuple[int, int], Looked] = {}
        self.blind: dict[int, str] = {}
        self.why_not = ""
        """Of the process that was named: it may be a shell."""
        self.samples = 0

    def run(self, seconds: float) -> None:
        self.look_around()
        begin, used = monotonic(), process_time()
        until, look_around = begin + seconds, begin + ROUND_EACH_S
        while (now := monotonic()) < until and self.samples < MOST_SAMPLES and self.processes:
            if now >= look_around:
                self.look_around()
                look_around = now + ROUND_EACH_S
            self.look()
            afforded = begin + (process_time() - used) / SHARE
            pause = max(random.uniform(SHORTEST_S, LONGEST_S), afforded - monotonic())
            sleep(min(pause, max(0.0, until - monotonic())))

    def look_around(self) -> None:
        """Find processes and threads that are new."""
        for pid in with_descendants(self.pid):
            if pid not in self.processes:
                self.open(pid)
        for pid, process in list(self.processes.items()):
            try:
                tids = process.tids()
            except (OSError, UnknownLayoutError):
                process.close()
                del self.processes[pid]
                continue
            for tid in tids:
                if (pid, tid) not in self.threads and len(self.threads) < MOST_THREADS:
                    self.threads[pid, tid] = Looked(pid, tid)

    def open(self, pid: int) -> None:
        try:
            process = stack_reader.Process(pid, self.layout, self.table)
        except PermissionError:
            self.blind[pid] = "the kernel does not let this user read its memory"
        except (OSError, UnknownLayoutError) as error:
            if pid == self.pid:  # other programs below it are nobody's concern
                self.why_not = " ".join(str(error).split())
        else:
            self.processes[pid] = process
            self.blind.pop(pid, None)

    def look(self) -> None:
        for (pid, _), thread in self.threads.items():
            process = self.processes.get(pid)
            if process is not None:
                thread.look(process)
                self.samples += 1

    def found(self, begin_ns: int) -> dict[str, Any]:
        """As `trace_format.LineSamples`."""
        libraries = list(filter(None, {sysconfig.get_paths().get(name) for name in ("stdlib", "platstdlib")}))
        threads = [each for each in self.threads.values() if max(each.stack, default=-1) >= 0]
        columns = self.table.columns()
        return {
            "version": LINES_VERSION,
            "sampler": "outside",
            **with_sources(columns, tuple(libraries)),
            "threads": [each.columns(begin_ns) for each in threads],
            "clock_error_us": max((each.took_ns for each in threads), default=0) / 1000,
            "cpu_us": process_time() * 1e6,
            "unread": sum(each.stack.count(stack_reader.UNREAD) for each in threads),
            "libraries": libraries,
            "why_not": "" if threads else self.why_not,
            "unseen": [f"The stacks of process {pid} could not be read: {why}" for pid, why in self.blind.items()],
        }


def with_sources(columns: dict[str, Any], libraries: tuple[str, ...]) -> dict[str, Any]:
    """The table of stacks, with the text of lines that are nobody's library."""
    names: dict[str, int] = {name: number for number, name in enumerate(columns["names"])}
    frames = columns["frames"]
    source = []
    for file, line in zip(frames["file"], frames["line"], strict=True):
        path = columns["names"][file]
        is_library = path.startswith((*libraries, "<")) or "-packages/" in path
        text = "" if is_library else " ".join(linecache.getline(path, line).split())
        text = text if len(text) <= MOST_SOURCE else text[: MOST_SOURCE - 1] + "…"
        source.append(names.setdefault(text, len(names)) if text else -1)
    return {**columns, "names": list(names), "frames": {**frames, "source": source}}


def with_descendants(pid: int) -> list[int]:
    """It, its children, theirs, and so on."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for each in found:
        found += sorted(children.get(each, []))
    return found


def main() -> None:
    seconds, pid = float(sys.argv[1]), int(sys.argv[2])
    begin_ns = perf_counter_ns()
    try:
        onlooker = Onlooker(pid)
        onlooker.run(seconds)
        found = onlooker.found(begin_ns)
    except Exception as error:
        found = {"version": LINES_VERSION, "why_not": " ".join(str(error).split()) or type(error).__name__}
    found.setdefault("python", os.path.realpath(sys.executable))
    sys.stdout.write(json.dumps(found, separators=(",", ":")))


if __name__ == "__main__":
    main()
