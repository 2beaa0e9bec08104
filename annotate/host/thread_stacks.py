"""Stacks of the threads that the watcher watches, in the watcher's process: the standard library only."""

from __future__ import annotations

import json
from time import perf_counter_ns
from typing import Any

from annotate.host import stack_reader

MOST_TIMES = 10_000
"""Stacks of which it is remembered how long reading them took."""


class Stacks:
    """Stacks of the threads that are watched."""

    def __init__(self) -> None:
        """Raises: Exception: they cannot be read here."""
        self.layout = stack_reader.prepare()
        self.table = stack_reader.Table()
        self.processes: dict[int, Any] = {}
        self.blind: dict[int, str] = {}
        """Process -> why its stacks cannot be read."""
        self.took: list[int] = []
        self.unread = 0

    def process(self, pid: int) -> Any:
        if self.processes.get(pid) is None:
            try:
                self.processes[pid] = stack_reader.Process(pid, self.layout, self.table)
                self.blind.pop(pid, None)
            except ProcessLookupError:  # it has ended: nothing is missing
                self.processes[pid] = None
            except Exception as error:
                self.processes[pid] = None
                self.blind[pid] = " ".join(str(error).split()) or type(error).__name__
        return self.processes[pid]

    def leave(self, thread: Any) -> None:
        """It has ended; with its process, where it was the main thread."""
        if thread.pid == thread.tid and self.processes.pop(thread.pid, None) is not None:
            thread.process.close()

    def begin(self) -> None:
        self.table = stack_reader.Table()
        for process in self.processes.values():
            if process is not None:
                process.begin(self.table)
        self.took, self.unread = [], 0

    def stack(self, thread: Any, now: int) -> int:
        stack: int = thread.process.stack(thread.tid)
        if stack >= 0 and thread.process.read_ns - now > stack_reader.LATE_NS:
            stack = -1
        self.unread += stack < 0
        if len(self.took) < MOST_TIMES:
            self.took.append(perf_counter_ns() - now)
        return stack

    def as_json(self) -> bytes:
        took = sorted(self.took)
        facts = {
            "took_ns": took[len(took) * 99 // 100] if took else 0,
            "unread": self.unread,
            "blind": self.blind,
        }
        return json.dumps({**self.table.columns(), **facts}, separators=(",", ":")).encode()
