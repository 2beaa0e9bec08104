"""What threads wait for, seen from a process of its own: who waits for Python's lock cannot be asked from inside of it.

Run as a script, with nothing but the standard library: ``python -I -S -E watcher.py PID``. `watching.Watch` starts it.
It forks once and goes on in the child, so that it is nobody's child whom the training process might wait for. Commands
come on standard input, a line each; answers leave on standard error; samples on standard output, a file without a name.

    l                     stacks are wanted as well   answer: why they cannot be read, or nothing
    n PROGRAM FOLDER      native frames are wanted as well, by this py-spy; both are written as hexadecimal UTF-8
    t N PID TID LOCK ...  watch a thread, which gets this number; LOCKs: addresses of its lock, less `WORD` bits
                          answer, for a thread of the training process: errno, or 0
    p TID ...             these threads of the training process run Python
    o                     a window opens: samples from now on, from the beginning of the file
    c                     it closes   answer: CPU time in ns, bytes of samples (behind them are the stacks, as JSON),
                          then "TID=name" of those that held the lock
    w                     answer, after c: JSON of what came of py-spy (`native.Native.wait`)
    q                     end; so does the end of the input, or of the training process
"""

from __future__ import annotations

import gc
import json
import os
import select
import struct
import sys
from os import pread
from time import perf_counter_ns, process_time_ns
from typing import Any

RECORD = struct.Struct("<qHHiqqi")
"""When, number of the thread, state, who held the lock (TID; 0: unknown; -1: not asked), ns on a CPU, in line, stack
(-1: not read)."""

RUNNING, BLOCKED, LOCKED = 0, 1, 2
"""Running or waiting for a CPU; waiting for anything else; waiting for Python's lock."""

WORD = 3
"""Bits of an address that do not matter: glibc's condition variable waits at either half of a word of 8 bytes."""

SHARE = 0.004
SHARE_WITH_STACKS = 0.03
SHARE_WHERE_CROWDED = 0.015
"""Of one CPU: what watching may use in the long run; with stacks; and with stacks where no CPU is free."""

SHORTEST_NS = 5_000_000
SHORTEST_WITH_CHEAP_STACKS_NS = 2_000_000
SHORTEST_WHERE_CROWDED_NS = 10_000_000
LONGEST_NS = 100_000_000
"""Between two samples."""

CHEAP = 0.1
"""Of one CPU: stacks are read more often than every `SHORTEST_NS` while they take no more than this. A window of ten
short steps is over in a fraction of a second, and needs a hundred samples."""

DELAYED = 0.1
"""Part of the time that the threads wait for a CPU on average, from which none is free for reading more often. The
watcher itself need not come late then: the kernel lets those that sleep go first."""

CROWDED_NS = 2_000_000
"""No CPU is free where a sample comes so late, on average."""

SAVED_NS = 8_000_000
SAVED_WITH_STACKS_NS = 60_000_000
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
        self.process: Any = None
        """A `stack_reader.Process`, where stacks are read."""
        self.tid = tid
        self.delay_ns = -1
        """Time that it has waited for a CPU, at the sample before."""
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
        self.stacks: Any = None
        """A `thread_stacks.Stacks`, where they are wanted."""
        self.native: Any = None
        """A `native.Native`, where native frames are wanted."""
        self.late_ns = 0.0
        self.due = 0
        self.round_ns = 0.0
        """What taking one sample of each thread costs, on average."""
        self.waited_ns = 0
        """Time that the threads waited for a CPU, since the pause before."""
        self.delayed = 0.0
        """The same as a part of their time, on average."""

    def run(self) -> None:
        poll = select.poll()
        poll.register(0, select.POLLIN)
        looked = perf_counter_ns()
        rest, wait_ns = b"", 0
        while True:
            if poll.poll(wait_ns / 1e6 if self.is_open else 1000):
                text = os.read(0, 65536)
                if not text:
                    return self.end()
                *lines, rest = (rest + text).split(b"\n")
                for line in lines:
                    if line == b"q":
                        return self.end()
                    self.command(line.decode())
            now = perf_counter_ns()
            if now - looked > _LOOK_NS:
                looked = now
                if self.is_orphan():
                    return self.end()
            if self.is_open:
                self.sample()
                wait_ns = self.pause()

    def end(self) -> None:
        if self.native is not None:
            self.native.end()

    def is_orphan(self) -> bool:
        try:
            return pread(self.parent, 300, 0).rpartition(b")")[2].split()[0] in (b"Z", b"X")
        except (OSError, IndexError):
            return True

    def command(self, line: str) -> None:
        word, *rest = line.split()
        if word == "n":
            self.read_native(*(bytes.fromhex(text).decode() for text in rest))
            return
        numbers = list(map(int, rest))
        if word == "t":
            failed = self.watch(numbers[0], numbers[1], numbers[2], frozenset(numbers[3:]))
            if numbers[1] == self.pid:
                answer(str(failed))
        elif word == "l":
            self.read_stacks()
        elif word == "p":
            self.python = frozenset(numbers)
        elif word == "o":
            self.open()
        elif word == "c":
            self.close()
        elif word == "w":
            answer("{}" if self.native is None else json.dumps(self.native.wait()))

    def watch(self, number: int, pid: int, tid: int, locks: frozenset[int]) -> int:
        """The number of the error, 0 without one."""
        try:
            thread = Thread(number, pid, tid, locks)
        except OSError as error:
            return error.errno or -1
        if self.stacks is not None:
            thread.process = self.stacks.process(pid)
        self.threads.append(thread)
        if self.is_open and self.native is not None:
            self.native.sample(pid)
        return 0

    def read_native(self, program: str, folder: str) -> None:
        """In windows from now on."""
        find_the_package()
        from annotate.host.native import Native

        self.native = Native(program, folder)

    def read_stacks(self) -> None:
        """From now on, as well. Threads that are watched by then have none."""
        why = ""
        try:
            find_the_package()
            from annotate.host.thread_stacks import Stacks

            self.stacks = Stacks()
        except Exception as error:
            why = " ".join(str(error).split()) or type(error).__name__
        self.used = process_time_ns()
        answer(why)

    def open(self) -> None:
        os.ftruncate(1, 0)
        os.lseek(1, 0, os.SEEK_SET)
        self.written, self.records, self.holders = 0, [], {}
        if self.stacks is not None:
            self.stacks.begin()
        self.cpu_at_open = self.used = process_time_ns()
        self.seen = perf_counter_ns()
        if self.stacks is None:
            self.credit = min(SAVED_NS, SHARE * (self.seen - self.began))
        else:
            self.credit = SAVED_WITH_STACKS_NS
        self.late_ns, self.due, self.round_ns, self.waited_ns, self.delayed = 0.0, self.seen, 0.0, 0, 0.0
        for thread in self.threads:
            thread.delay_ns = -1
        self.is_open = True
        if self.native is not None:
            self.native.begin()
            for pid in dict.fromkeys(thread.pid for thread in self.threads):
                self.native.sample(pid)

    def close(self) -> None:
        if self.is_open:
            self.sample()
            self.flush()
            self.is_open = False
            if self.native is not None:
                self.native.end()
        self.began = perf_counter_ns()
        cpu, size = process_time_ns() - self.cpu_at_open, self.written * RECORD.size
        if self.stacks is not None:
            write(self.stacks.as_json())
        names = (f"{tid}={name}" for tid, name in self.holders.items())
        answer("\t".join((str(cpu), str(size), *names)))

    def sample(self) -> None:
        if self.written >= MOST_RECORDS:
            return
        for thread in list(self.threads):
            try:
                now = perf_counter_ns()
                stack = -1 if thread.process is None or self.stacks is None else self.stacks.stack(thread, now)
                state = thread.state()
                cpu, delay, _ = pread(thread.stat, 100, 0).split()
                self.note_delay(thread, int(delay))
                holder = 0
                if state == LOCKED:
                    thread.waits += 1
                    holder = self.holder(thread) if thread.waits % _ASK_EVERY == 1 else -1
            except (OSError, ValueError):  # it has ended
                self.threads.remove(thread)
                if self.stacks is not None and thread.process is not None:
                    self.stacks.leave(thread)
                continue
            self.records.append(RECORD.pack(now, thread.number, state, holder, int(cpu), int(delay), stack))
        if len(self.records) >= 256:
            self.flush()

    def note_delay(self, thread: Thread, delay_ns: int) -> None:
        if thread.delay_ns >= 0:
            self.waited_ns += delay_ns - thread.delay_ns
        thread.delay_ns = delay_ns

    def flush(self) -> None:
        if self.records:
            write(b"".join(self.records))
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
        share, shortest = SHARE if self.stacks is None else SHARE_WITH_STACKS, SHORTEST_NS
        if self.stacks is not None:
            self.round_ns += (cost - self.round_ns) * (0.1 if self.round_ns else 1)
            elapsed = max(1, now - self.seen) * max(1, len(self.threads))
            self.delayed += 0.1 * (min(1.0, self.waited_ns / elapsed) - self.delayed)
            self.waited_ns = 0
            if self.delayed < DELAYED:
                shortest = int(min(SHORTEST_NS, max(SHORTEST_WITH_CHEAP_STACKS_NS, self.round_ns / CHEAP)))
            self.late_ns += 0.1 * (max(0, now - cost - self.due) - self.late_ns)
            if self.late_ns > CROWDED_NS:
                share, shortest = SHARE_WHERE_CROWDED, SHORTEST_WHERE_CROWDED_NS
        self.credit += share * (now - self.seen) - cost
        self.used, self.seen = used, now
        self.credit = min(self.credit, SAVED_NS if self.stacks is None else SAVED_WITH_STACKS_NS)
        mean = shortest if self.credit > 0 else shortest - self.credit / share
        self.random = (self.random * 1103515245 + 12345) % 2**31
        wait = int(min(LONGEST_NS, mean) * (0.5 + self.random / 2**31))
        self.due = now + wait
        return wait


def find_the_package() -> None:
    """This script is run by its path."""
    if (ours := __file__.rpartition("/annotate/")[0]) not in sys.path:
        sys.path.append(ours)  # behind all others


def read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 200)
    finally:
        os.close(file)


def write(text: bytes) -> None:
    """All of it, to standard output."""
    while text:
        text = text[os.write(1, text) :]


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
