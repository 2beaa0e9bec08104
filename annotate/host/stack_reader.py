"""Reads Python stacks out of the memory of other processes, which do not notice.

The standard library only, in the watcher's process. A stack is read without stopping the thread, in some 20 us: what
does not make sense (the thread went on meanwhile) is no stack, and counted by who asked.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from os import pread
from pathlib import Path
from time import perf_counter_ns
from types import CodeType
from typing import Any

from annotate.host.stack_layout import STRING_STATE, Example, Layout, UnknownLayoutError, find

UNREAD = -1
MOST_FRAMES = 256
"""Of one stack: the innermost."""
MOST_NODES = 200_000
MOST_TEXT = 4096
"""Characters of a name."""
_MOST_THREADS = 4096
_MOST_LINES = 1 << 20
_ROOM = 96
"""Bytes of a frame that are looked at."""
_AT_ONCE = 4096
"""Bytes of a stack: most have all of their frames in two such pieces."""
_LOWEST = 4096
"""Address: no object lies below."""
_TAG = ~7
_LOOKS = 60
"""For what a thread's state pointed at, of some 2 us each."""
_TRIES = 6
"""At reading a stack that changes meanwhile."""
NONSENSE = (OSError, struct.error, OverflowError, ValueError, KeyError, UnknownLayoutError)
"""What is raised where no stack is."""
_CUT = ("(outer frames)", "", 0, 0)
_OF_INTERPRETER = "<shim>"
"""File of the code that Python 3.12 has below each call from C; no frame of Python's own shows it."""

_word = struct.Struct("<Q").unpack_from
_int = struct.Struct("<i").unpack_from
_state = struct.Struct("<I").unpack_from

Place = tuple[str, str, int, int]
"""Function, file, line, first line of the function."""


class Table:
    """All stacks of a window, as a tree: a stack is the number of its innermost node."""

    def __init__(self) -> None:
        self.frames: dict[Place, int] = {}
        self.nodes: dict[tuple[int, int], int] = {}

    def node(self, places: list[Place]) -> int:
        """Of a stack, outermost frame first; -1 where there are too many."""
        node = -1
        for place in places:
            frame = self.frames.setdefault(place, len(self.frames))
            key = (node, frame)
            if key not in self.nodes and len(self.nodes) >= MOST_NODES:
                return UNREAD
            node = self.nodes.setdefault(key, len(self.nodes))
        return node

    def columns(self) -> dict[str, Any]:
        """Names, and columns of frames and of nodes, as in `trace_format.LineSamples`."""
        names: dict[str, int] = {}
        frames: dict[str, list[int]] = {"function": [], "file": [], "line": [], "first": []}
        for function, file, line, first in self.frames:
            frames["function"].append(names.setdefault(function, len(names)))
            frames["file"].append(names.setdefault(file, len(names)))
            frames["line"].append(line)
            frames["first"].append(first)
        stacks = {"parent": [parent for parent, _ in self.nodes], "frame": [frame for _, frame in self.nodes]}
        return {"names": list(names), "frames": frames, "stacks": stacks}


LATE_NS = 1_000_000
"""A stack that was read so long after its moment is none of that moment: this process had lost its CPU in between."""


class Process:
    """One whose memory is read."""

    def __init__(self, pid: int, layout: Layout, table: Table) -> None:
        """Raises: OSError: the system does not let us. UnknownLayoutError: it runs another Python."""
        self.layout = layout
        path, base = _mapped(layout.runtime)
        self._moved = _base(pid, path) - base
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        self._threads: dict[int, int] = {}
        self.read_ns = 0
        """When the last stack had been read."""
        self.begin(table)

    def begin(self, table: Table) -> None:
        """A window begins: code may have been replaced by other code at its place."""
        self._table = table
        self._codes: dict[int, _Code | None] = {}
        self._known: dict[tuple[int, ...], int] = {}

    def close(self) -> None:
        os.close(self.memory)

    def stack(self, tid: int) -> int:
        """The number of the node in the table; `UNREAD` where it cannot be read."""
        try:
            if tid not in self._threads:
                self._threads[tid] = self._thread(tid)
            return self._stack(self._threads[tid], tid)
        except NONSENSE:
            self._threads.pop(tid, None)
            return UNREAD

    def _stack(self, thread: int, tid: int) -> int:
        """Of this moment, even if the thread goes on while it is read.

        Where C calls short functions of Python (`re.sub`, `sorted` with a key), such a function is often over before
        its frames are read, and nothing is left at their place. Left out, its time would go to its caller. So what
        the thread's state pointed at is waited for: the same C calls from the same depth again, in some microseconds.
        """
        if self._word(thread + self.layout.thread_id) != tid:
            raise UnknownLayoutError("the thread has ended")
        innermost = thread + self.layout.thread_to_frame
        first = now = self._word(innermost)
        tries = _TRIES
        for _ in range(_LOOKS):
            if now == first:
                with suppress(*NONSENSE):
                    return self._node(first)
                tries -= 1
                if not tries:
                    break
            now = self._word(innermost)
        return UNREAD

    def _node(self, innermost: int) -> int:
        key = self._frames(innermost)
        self.read_ns = perf_counter_ns()
        known = self._known.get(key)
        if known is None:
            places = self._places(key)
            if not places:
                raise UnknownLayoutError("not a stack")
            known = self._known[key] = self._table.node(places)
        return known

    def _word(self, address: int) -> int:
        word: int = _word(pread(self.memory, 8, address))[0]
        return word

    def tids(self) -> list[int]:
        """The threads that run Python. Raises: OSError, UnknownLayoutError."""
        try:
            return [tid for tid, _ in self._all_threads()]
        except struct.error:  # nothing can be read where it was: the process is ending
            raise UnknownLayoutError("the process has ended") from None

    def _all_threads(self) -> Iterator[tuple[int, int]]:
        """Number, and address of its state. Raises: OSError."""
        layout = self.layout
        interpreter = self._word(layout.runtime + self._moved + layout.runtime_to_interpreter)
        at = self._word(interpreter + layout.interpreter_to_thread)
        for _ in range(_MOST_THREADS):
            if not at:
                break
            yield self._word(at + layout.thread_id), at
            at = self._word(at + layout.next_thread)

    def _thread(self, tid: int) -> int:
        """The address of a thread's state. Raises: OSError, UnknownLayoutError."""
        for number, address in self._all_threads():
            if number == tid:
                return address
        raise UnknownLayoutError("the thread does not run Python")

    def _frames(self, at: int) -> tuple[int, ...]:
        """Code and instruction of each frame, one after the other, innermost first. `at`: where the thread points."""
        layout, memory = self.layout, self.memory
        if layout.through >= 0:
            at = self._word(at + layout.through)
        code, instruction, previous = layout.code, layout.instruction, layout.previous
        low = high = 0
        text = b""
        found: list[int] = []
        while at and len(found) < 2 * MOST_FRAMES:
            if not low <= at < high:
                low, text = _around(memory, at)
                high = low + len(text) - _ROOM + 1
            place = at - low
            found.append(_word(text, place + code)[0] & _TAG)
            found.append(_word(text, place + instruction)[0])
            at = _word(text, place + previous)[0]
        if at:
            found.append(0)
        return tuple(found)

    def _places(self, key: tuple[int, ...]) -> list[Place]:
        """Outermost frame first."""
        places = [_CUT] if len(key) % 2 else []
        for at in range(len(key) // 2 * 2 - 2, -1, -2):
            code = self._code(key[at]) if key[at] >= _LOWEST else None
            if code is not None and code.file != _OF_INTERPRETER:  # else a frame of the interpreter's own
                places.append(code.place(key[at + 1] - key[at] - self.layout.instructions))
        return places

    def _code(self, address: int) -> _Code | None:
        if address not in self._codes:
            is_code = self._word(address + 8) == self.layout.code_type + self._moved
            self._codes[address] = self._read_code(address) if is_code else None
        return self._codes[address]

    def _read_code(self, address: int) -> _Code:
        layout = self.layout
        first = _int(pread(self.memory, 4, address + layout.first_line))[0]
        lines = self._word(address + layout.lines)
        size = self._word(lines + 16)
        if size > _MOST_LINES:
            raise UnknownLayoutError("not a code object")
        return _Code(
            function=self._string(self._word(address + layout.qualname)),
            file=self._string(self._word(address + layout.filename)),
            first=first,
            lines=pread(self.memory, size, lines + 32),
        )

    def _string(self, address: int) -> str:
        head = pread(self.memory, 64, address)
        width, data = self.layout.strings[_state(head, STRING_STATE)[0] & self.layout.string_mask]
        length = min(_word(head, 16)[0], MOST_TEXT)
        text = pread(self.memory, length * width, address + data)
        encoding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[width]
        return text.decode(encoding, "replace").encode("utf-8", "replace").decode()


class _Code:
    """A code object, as far as a line needs it."""

    def __init__(self, function: str, file: str, first: int, lines: bytes) -> None:
        self.function, self.file, self.first = function, file, first
        ours = _template.replace(co_firstlineno=first, co_linetable=lines)
        self._lines = list(ours.co_lines())
        self._places: dict[int, Place] = {}

    def place(self, instruction: int) -> Place:
        """Of the instruction at so many bytes from the first."""
        known = self._places.get(instruction)
        if known is None:
            line = next((line for start, end, line in self._lines if start <= instruction < end), None)
            line = self.first if line is None and instruction < 0 else line
            known = self._places[instruction] = (self.function, self.file, line or 0, self.first)
        return known


def _template_code() -> None:
    """Its tables are replaced: the interpreter itself makes lines of them."""


_template: CodeType = _template_code.__code__


def _around(memory: int, address: int) -> tuple[int, bytes]:
    """A piece of memory with the frame at `address`, and where it begins: older frames lie below. Raises: OSError."""
    low = max(0, address + _ROOM - _AT_ONCE)
    try:
        text = pread(memory, _AT_ONCE, low)
        if len(text) == _AT_ONCE:
            return low, text
    except OSError:  # nothing below it
        pass
    start = address // _AT_ONCE * _AT_ONCE
    text = pread(memory, address - start + _ROOM, start)
    return start, text


def _mappings(pid: int) -> list[tuple[int, int, str]]:
    """Start, end and path. Raises: OSError."""
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text("utf-8", "surrogateescape").splitlines():
        words = line.split(None, 5)
        if len(words) == 6:
            start, _, end = words[0].partition("-")
            found.append((int(start, 16), int(end, 16), words[5]))
    return found


def _mapped(address: int) -> tuple[str, int]:
    """The file that an address of this process lies in, and where that file begins."""
    # The interpreter's variables may lie behind those of the file, in memory without a name.
    mappings = _mappings(os.getpid())
    before = [mapping for mapping in mappings if mapping[0] <= address and not mapping[2].startswith("[")]
    if not before:
        raise UnknownLayoutError("the interpreter was not found in memory")
    path = max(before)[2]
    return path, min(start for start, _, name in mappings if name == path)


def _base(pid: int, path: str) -> int:
    """Raises: OSError, UnknownLayoutError."""
    mappings = _mappings(pid)
    if not mappings:
        raise ProcessLookupError("it has ended")  # and nobody has asked how
    starts = [start for start, _, name in mappings if name == path]
    if not starts:
        raise UnknownLayoutError("it runs another Python than sys.executable")
    return min(starts)


def check(layout: Layout, example: Example) -> None:
    """Raises: UnknownLayoutError: the stack of a thread of ours is not read as it is."""
    table = Table()
    process = Process(os.getpid(), layout, table)
    try:
        node = process.stack(example.tid)
    finally:
        process.close()
    frames, parents = list(table.frames), list(table.nodes)
    read = []
    while node >= 0:
        node, frame = parents[node]
        read.append(frames[frame])
    expected = []
    at = example.frame
    while at is not None:
        code: Any = at.f_code
        expected.append((code.co_qualname, code.co_filename, at.f_lineno, code.co_firstlineno))
        at = at.f_back
    if not read or read != expected:
        raise UnknownLayoutError(f"that could not read the stacks of this Python ({sys.version.split()[0]})")


def prepare() -> Layout:
    """Raises: UnknownLayoutError and others: stacks cannot be read here."""
    example = Example()
    try:
        layout = find(example)
        check(layout, example)
        return layout
    finally:
        example.end()
