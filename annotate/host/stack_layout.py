"""Where this interpreter keeps the stack of a thread in memory, found by looking at the stack of a thread of our own.

CPython promises no layout of its frames, and it changes with each version. So it is not written down here, but found:
a thread is made whose frames are known, and the memory is searched for what points at them. What was found is right
only if it reads the stack of that thread as ``sys._getframe`` shows it (`stack_reader.check`).

Runs in the watcher's process, with the standard library only, and reads no memory but its own.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

WORD = 8
_FAR = 1 << 16
"""Bytes that are searched of the large structures."""
_NEAR = 1024
_FRAME = 96
_FIRST_LINE = 12345677
_TAG = ~7
"""Of a reference in a frame: its low bits mean something else."""


class UnknownLayoutError(Exception):
    """It was not found; the text is a clause."""


class Layout(NamedTuple):
    """Offsets in bytes."""

    runtime_to_interpreter: int
    interpreter_to_thread: int
    next_thread: int
    thread_id: int
    thread_to_frame: int
    through: int
    """The thread's frame is at this place of what `thread_to_frame` points at; -1: it points at the frame."""
    code: int
    previous: int
    instruction: int
    instructions: int
    """From a code object to its first instruction."""
    filename: int
    qualname: int
    lines: int
    first_line: int
    string_mask: int
    strings: dict[int, tuple[int, int]]
    """Masked state of a string -> bytes of a character, place of the first."""
    runtime: int
    """The address of ``_PyRuntime`` in this process."""
    code_type: int


class Example:
    """A thread of ours that waits, with two frames that are known."""

    def __init__(self) -> None:
        self._wait, ready = _thread.allocate_lock(), _thread.allocate_lock()
        self._wait.acquire()
        ready.acquire()
        self._ready = ready.release
        self.address = self.tid = 0
        self.before = thread_address()
        self.frame: FrameType | None = None
        _thread.start_new_thread(self._outer, ())
        ready.acquire()

    def _outer(self) -> None:
        self._inner()

    def _inner(self) -> None:
        self.address, self.tid, self.frame = thread_address(), _thread.get_native_id(), sys._getframe()
        self._ready()
        with self._wait:
            pass

    def end(self) -> None:
        self.frame = None
        self._wait.release()


def thread_address() -> int:
    """Of the calling thread's state."""
    return _api("PyThreadState_Get")


def _api(name: str, *addresses: int) -> int:
    function: Any = getattr(ctypes.pythonapi, name)
    function.restype = ctypes.c_void_p
    return int(function(*map(ctypes.c_void_p, addresses)) or 0)


def find(example: Example) -> Layout:
    """Raises: UnknownLayoutError, OSError, AttributeError: this is not an interpreter that we know how to read."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise UnknownLayoutError("this Python runs without a global lock")
    memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _Finder(memory, example).layout()
    finally:
        os.close(memory)


class _Finder:
    def __init__(self, memory: int, example: Example) -> None:
        self.memory = memory
        self.example = example

    def words(self, address: int, size: int) -> tuple[int, ...]:
        """Empty where nothing can be read."""
        if address < 4096 or address >= 1 << 63:
            return ()
        try:
            text = os.pread(self.memory, size, address)
        except OSError:
            return ()
        return struct.unpack(f"<{len(text) // WORD}Q", text[: len(text) // WORD * WORD])

    def place(self, address: int, size: int, what: str, fits: Callable[[int], bool]) -> int:
        for number, word in enumerate(self.words(address, size)):
            if fits(word):
                return number * WORD
        raise UnknownLayoutError(f"its {what} was not found")

    def layout(self) -> Layout:
        example = self.example
        following = _api("PyThreadState_Next", example.address)
        runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
        interpreter = _api("PyInterpreterState_Get")
        if example.frame is None or example.frame.f_back is None:
            raise UnknownLayoutError("the thread to look at has no frames")
        outer, inner = self.stored(example.frame.f_back), self.stored(example.frame)
        to_frame, through = self.frame_of_thread(inner)
        instruction, instructions = self.instruction(example.frame, inner)
        filename, qualname, lines, first_line = self.code_object(example.frame.f_code)
        mask, strings = self.strings()
        return Layout(
            runtime_to_interpreter=self.place(runtime, _FAR, "interpreter", lambda word: word == interpreter),
            interpreter_to_thread=self.place(interpreter, _FAR, "threads", lambda word: word == example.address),
            next_thread=self.place(example.address, _NEAR, "next thread", lambda word: word == following),
            thread_id=self.place(example.address, _NEAR, "thread's number", lambda word: word == example.tid),
            thread_to_frame=to_frame,
            through=through,
            code=self.code_in(inner, example.frame.f_code),
            previous=self.place(inner, _FRAME, "outer frame", lambda word: word == outer),
            instruction=instruction,
            instructions=instructions,
            filename=filename,
            qualname=qualname,
            lines=lines,
            first_line=first_line,
            string_mask=mask,
            strings=strings,
            runtime=runtime,
            code_type=id(CodeType),
        )

    def code_in(self, stored: int, code: CodeType) -> int:
        return self.place(stored, _FRAME, "code", lambda word: word & _TAG == id(code))

    def stored(self, frame: FrameType) -> int:
        """Where the interpreter itself keeps a frame."""
        for word in self.words(id(frame), 64):
            if any(inner & _TAG == id(frame.f_code) for inner in self.words(word, _FRAME)):
                return word
        raise UnknownLayoutError("its frames are not kept as in Python 3.11 and later")

    def frame_of_thread(self, stored: int) -> tuple[int, int]:
        for number, word in enumerate(self.words(self.example.address, _NEAR)):
            if word == stored:
                return number * WORD, -1
        for number, word in enumerate(self.words(self.example.address, _NEAR)):
            for inner, pointed in enumerate(self.words(word, 32)):
                if pointed == stored:
                    return number * WORD, inner * WORD
        raise UnknownLayoutError("its thread's frame was not found")

    def instruction(self, frame: FrameType, stored: int) -> tuple[int, int]:
        code = id(frame.f_code)
        end = code + frame.f_code.__sizeof__()
        place = self.place(stored, _FRAME, "instruction", lambda word: code < word < end)
        return place, self.words(stored, _FRAME)[place // WORD] - code - frame.f_lasti

    def code_object(self, code: CodeType) -> tuple[int, int, int, int]:
        named: Any = code.replace(co_firstlineno=_FIRST_LINE, co_name="name")
        known = named.replace(co_qualname="outer.name")
        text = os.pread(self.memory, known.__sizeof__(), id(known))
        first_line = text.find(struct.pack("<i", _FIRST_LINE))
        if first_line < 0:
            raise UnknownLayoutError("the first line of its code was not found")
        parts = {id(getattr(known, name)): name for name in ("co_filename", "co_qualname", "co_linetable")}
        places = {parts[word]: at * WORD for at, word in enumerate(self.words(id(known), 256)) if word in parts}
        if len(places) < len(parts):
            raise UnknownLayoutError("the names in its code were not found")
        filename, qualname, lines = (places[name] for name in parts.values())
        return filename, qualname, lines, first_line

    def strings(self) -> tuple[int, dict[int, tuple[int, int]]]:
        """How each kind of string is kept."""
        found = []
        for text, encoding, width in _strings():
            raw = os.pread(self.memory, text.__sizeof__(), id(text))
            data = raw.find(text.encode(encoding))
            if data < 0 or struct.unpack_from("<q", raw, 16)[0] != len(text):
                raise UnknownLayoutError("its strings are not kept as they used to be")
            found.append((struct.unpack_from("<I", raw, STRING_STATE)[0], width, data))
        for bits in (0xFF, 0xFF00, 0xFF0000):  # the kind lies in one of these bytes; others may be anything
            mask = 0
            for state, _, _ in found:
                mask |= (state ^ found[0][0]) & bits
            kinds = {state & mask: (width, data) for state, width, data in found}
            if len(kinds) == len(found):
                return mask, kinds
        raise UnknownLayoutError("the kinds of its strings were not found")


STRING_STATE = 32


def _strings() -> Iterator[tuple[str, str, int]]:
    """One of each kind, made now, so that none is interned."""
    for first, encoding, width in (
        ("a", "latin-1", 1),
        ("\xe4", "latin-1", 1),
        ("\u0101", "utf-16-le", 2),
        ("\U0001f600", "utf-32-le", 4),
    ):
        yield first + "".join(map(str, range(20))), encoding, width
