"""What threads wait for, seen from a process of its own: who waits for Python's lock cannot be asked from inside of it.

Run as a script, with nothing but the standard library: ``python -I -S -E watcher.py PID``. `watching.Watch` starts it.
It forks once and goes on in the child, so that it is nobody's child whom the training process might wait for. Commands
come on standard input, a line each; answers leave on standard error; samples on standard output, a file without a name.

    t N PID TID LOCK ...  watch a thread, which gets this number; LOCKs: addresses of its lock, less `WORD` bits
                          answer, for a thread of the training process: errno, or 0
    p TID ...             these threads of the training process run Python
    o                     a window opens: samples from now on, from the beginning of the file
    c                     it closes   answer: CPU time in ns, then "TID=name" of those that held the lock
    q                     end; so does the end of the input, or of the training process
"""

from __future__ import annotations

import gc
import os
import select
import struct
import sys
from os import pread
from time import perf_counter_ns, process_time_ns

RECORD = struct.Struct("<qHHiqq")
"""When, number of the thread, state, who held the lock (TID; 0: unknown; -1: not asked), ns on a CPU, in line."""

RUNNING, BLOCKED, LOCKED = 0, 1, 2
"""Running or waiting for a CPU; waiting for anything else; waiting for Python's lock."""

WORD = 3
"""Bits of an address that do not matter: glibc's condition variable waits at either half of a word of 8 bytes."""

SHARE = 0.004
"""Of one CPU: what watching may use in the long run."""

SHORTEST_NS = 5_000_000
LONGEST_NS = 100_000_000
"""Between two samples."""

SAVED_NS = 8_000_000
"""CPU time that was not used before a window, and may be used in it: a short window is sampled more often."""

MOST_RECORDS = 400_000
"""Of one window: 13 MB."""

MOST_THREADS = 64
"""Of the training process, that are looked at for who holds the lock."""

FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call by which a thread waits, by machine."""

_FUTEX = b"%d" % FUTEX.get(os.uname().machine if hasattr(os, "uname") else "", -2)
_ASK_EVERY = 4
_LOOK_NS = 1_000_000_000


class Thread:
    """One that is watched."""

    def __init__(self, number: int, pid: int, tid: int, locks: frozenset[int]) -> None:
        """Raises: OSError: this system does not tell."""
        self.number, self.pid, self.locks = number, pid, locks
        self.tid = tid
        folder = f"/proc/{pid}/task/{tid}"
        self.waits = 0
        self.stat = os.open(f"{folder}/schedstat", os.O_RDONLY)
        pread(self.stat, 100, 0)
        self.syscall = os.open(f"{folder}/syscall", os.O_RDONLY)
        pread(self.syscall, 200, 0)

    def state(self) -> int:
        text = pread(self.syscall, 200, 0)
        if text[:3] == b"run":
            return RUNNING
        words = text.split(b" ", 2)
        is_lock = words[0] == _FUTEX and int(words[1], 16) >> WORD in self.locks
        return LOCKED if is_lock else BLOCKED


class Watcher:
    def __init__(self, parent: int) -> None:
        self.parent = os.open(f"/proc/{parent}/stat", os.O_RDONLY)
        self.pid = parent
        self.threads: list[Thread] = []
        self.python: frozenset[int] = frozenset()
        self.holders: dict[int, str] = {}
        self.is_open = False
        self.records: list[bytes] = []
        self.written = 0
        self.began = self.seen = perf_counter_ns()
        self.credit = 0.0
        self.used = process_time_ns()
        self.cpu_at_open = 0
        self.random = os.getpid()

    def run(self) -> None:
        poll = select.poll()
        poll.register(0, select.POLLIN)
        looked = perf_counter_ns()
        rest, wait_ns = b"", 0
        while True:
            if poll.poll(wait_ns / 1e6 if self.is_open else 1000):
                text = os.read(0, 65536)
                if not text:
                    return
                *lines, rest = (rest + text).split(b"\n")
                for line in lines:
                    if line == b"q":
                        return
                    self.command(line.decode())
            now = perf_counter_ns()
            if now - looked > _LOOK_NS:
                looked = now
                if self.is_orphan():
                    return
            if self.is_open:
                self.sample()
                wait_ns = self.pause()

    def is_orphan(self) -> bool:
        try:
            return pread(self.parent, 300, 0).rpartition(b")")[2].split()[0] in (b"Z", b"X")
        except (OSError, IndexError):
            return True

    def command(self, line: str) -> None:
        word, *rest = line.split()
        numbers = list(map(int, rest))
        if word == "t":
            failed = self.watch(numbers[0], numbers[1], numbers[2], frozenset(numbers[3:]))
            if numbers[1] == self.pid:
                answer(str(failed))
        elif word == "p":
            self.python = frozenset(numbers)
        elif word == "o":
            self.open()
        elif word == "c":
            self.close()

    def watch(self, number: int, pid: int, tid: int, locks: frozenset[int]) -> int:
        """The number of the error, 0 without one."""
        try:
            self.threads.append(Thread(number, pid, tid, locks))
        except OSError as error:
            return error.errno or -1
        return 0

    def open(self) -> None:
        os.ftruncate(1, 0)
        os.lseek(1, 0, os.SEEK_SET)
        self.written, self.records, self.holders = 0, [], {}
        self.cpu_at_open = self.used = process_time_ns()
        self.seen = perf_counter_ns()
        self.credit = min(SAVED_NS, SHARE * (self.seen - self.began))
        self.is_open = True

    def close(self) -> None:
        if self.is_open:
            self.sample()
            self.flush()
            self.is_open = False
        self.began = perf_counter_ns()
        names = (f"{tid}={name}" for tid, name in self.holders.items())
        answer("\t".join((str(process_time_ns() - self.cpu_at_open), *names)))

    def sample(self) -> None:
        if self.written >= MOST_RECORDS:
            return
        for thread in list(self.threads):
            try:
                now = perf_counter_ns()
                state = thread.state()
                cpu, delay, _ = pread(thread.stat, 100, 0).split()
                holder = 0
                if state == LOCKED:
                    thread.waits += 1
                    holder = self.holder(thread) if thread.waits % _ASK_EVERY == 1 else -1
            except (OSError, ValueError):  # it has ended
                self.threads.remove(thread)
                continue
            self.records.append(RECORD.pack(now, thread.number, state, holder, int(cpu), int(delay)))
        if len(self.records) >= 256:
            self.flush()

    def flush(self) -> None:
        if self.records:
            os.write(1, b"".join(self.records))
            self.written += len(self.records)
            self.records = []

    def holder(self, waiting: Thread) -> int:
        """Which other thread of its process runs; 0 where none or several do."""
        folder = f"/proc/{waiting.pid}/task"
        running = []
        for name in os.listdir(folder)[:MOST_THREADS]:  # noqa: PTH208  (pathlib is an import more)
            if int(name) != waiting.tid:
                try:
                    if read(f"{folder}/{name}/syscall").startswith(b"run"):
                        running.append(int(name))
                except OSError:
                    continue
        ours = [tid for tid in running if tid in self.python] if waiting.pid == self.pid else []
        found = ours or running
        if len(found) != 1:
            return 0
        if found[0] not in self.holders:
            text = read(f"{folder}/{found[0]}/comm").decode("utf-8", "replace")
            self.holders[found[0]] = "".join(c for c in text if c.isprintable())
        return found[0]

    def pause(self) -> int:
        """Until the next sample; of random length, so that nothing periodic in the program is always, or never, met."""
        now, used = perf_counter_ns(), process_time_ns()
        cost = used - self.used
        self.credit += SHARE * (now - self.seen) - cost
        self.used, self.seen = used, now
        self.credit = min(self.credit, SAVED_NS)
        mean = SHORTEST_NS if self.credit > 0 else SHORTEST_NS - self.credit / SHARE
        self.random = (self.random * 1103515245 + 12345) % 2**31
        return int(min(LONGEST_NS, mean) * (0.5 + self.random / 2**31))


def read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 200)
    finally:
        os.close(file)


def answer(text: str) -> None:
    os.write(2, text.encode() + b"\n")


def main() -> None:
    if os.fork():
        os._exit(0)
    gc.disable()  # nothing of it makes cycles
    watcher = Watcher(int(sys.argv[1]))
    answer(str(os.getpid()))
    watcher.run()


if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(0)
