"""Chrome trace JSON to rows: syntax only, no meaning.

What is no proper JSON is mended where that is safe, and left out and counted where it is not. An element that is
damaged takes only itself along.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.reader.decoding import Unsound, Window, decode, decode_mended, decode_somehow, decode_value
from tb_dataplugin.reader.elements import LOOK_AHEAD, MOST_ELEMENT_BYTES, ElementStream, Incomplete

WINDOW_BYTES = 1 << 20
SMALL_BYTES = 1 << 16  # of a window in which something is wrong
FEW_BYTES = 1 << 14
PATIENCE_BYTES = 1 << 24  # how much may be looked at in vain, and so more than once, beyond the next boundary
DEEP_TRIES = 64  # how often text that proves to be nested too deeply may be taken for an element
MOST_JUNK = 20_000
"""So many elements that cannot be read, beyond one for ten that can, end the reading: each costs up to 0.2 ms."""
GROUPS = (1, 4, 16)
"""An element may have lists of objects in it, so that it ends at a later boundary: so many are tried."""

_EVENTS = re.compile(rb'traceEvents"\s*:\s*\[')
_EVENT = re.compile(rb'\{\s*"(?:ph|cat|name|pid|tid|ts|dur|args)"\s*:')
_ANOTHER_EVENT = re.compile(rb"\s*,\s*" + _EVENT.pattern)
_WHOLE_STRING = re.compile(rb'"[^"\\]{0,4096}"(?=\s*[,\]])')
_SCALAR = re.compile(rb"[^,\]}\[{\s\"]+|\[+|.", re.DOTALL)

WAIT_OR_RECAPTURE = "if a job is still writing it, wait; if the job was killed, capture again"
NAME_A_TRACE = "name a trace written by torch.profiler or annotate"

_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"\xfd7zXZ": "compressed by xz",
    b"BZh": "compressed by bzip2",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"{\0": "UTF-16 text",
    b"\0{": "UTF-16 text",
    b"SQLite format 3": "an SQLite database",
}


class _TooMuchJunk(Exception): ...


class ChromeReader:
    """Reads one trace. `members` holds the values beside the events, as JSON text, once `windows` is exhausted."""

    def __init__(self, blocks: Iterator[bytes], path: Path, found: DiagnosticsCollector) -> None:
        self._stream = ElementStream(blocks)
        self._path = path
        self._found = found
        self._singly_to = 0  # up to this place elements are read one by one, since whole windows could not be mended
        self._patience = PATIENCE_BYTES
        self._deep_tries = DEEP_TRIES
        self._junk_left = float(MOST_JUNK)
        self.members: dict[str, bytes] = {}

    def windows(self) -> Iterator[Window]:
        """The events in file order. Raises UnreadableTrace when the text is no Chrome trace."""
        stream = self._stream
        while stream.left < 16 and stream.more():
            pass
        stream.text = stream.text.removeprefix(b"\xef\xbb\xbf")
        start = stream.text[:16]
        first = stream.skip_space()
        if not first:
            remedy = "capture again; a profiler that is still running writes at its end"
            raise UnreadableTrace(self._path, "it is empty", remedy)
        if start.startswith(tuple(_OTHER_FORMATS)):
            told = next(told for magic, told in _OTHER_FORMATS.items() if start.startswith(magic))
            remedy = "save it as UTF-8" if "UTF" in told else "unpack it and name what was in it"
            raise UnreadableTrace(self._path, f"it is {told}", remedy)
        if first not in (b"[", b"{"):
            raise UnreadableTrace(self._path, "it is not JSON", NAME_A_TRACE)
        stream.at += 1
        try:
            yield from self._bare_list() if first == b"[" else self._object()
        except _TooMuchJunk:
            message = (
                f"More than {MOST_JUNK:,} elements cannot be read; what follows byte {stream.place:,} was left out"
            )
            self._found.add("limit_junk", message)
            return
        if stream.skip_blank():
            message = "Text after the end of the trace was ignored; is there a second trace in the file?"
            self._found.add("trailing_text", message)

    def member(self, key: str) -> Any:
        """The value beside the events under `key`; None when there is none, or it cannot be read."""
        text = self.members.get(key)
        if text is None:
            return None
        value = decode_value(text)
        if value is None and text != b"null":
            self._found.add("bad_member", f"`{key}` is no proper JSON; the trace is read without it")
        return value

    def _bare_list(self) -> Iterator[Window]:
        yield from self._elements()
        while self._stream.skip_blank() and self._stream.to_boundary():  # a closing bracket too many
            self._left_out()
            yield from self._elements()

    def _object(self) -> Iterator[Window]:
        """From behind the opening bracket of the object around the events to behind the closing one."""
        stream, has_events = self._stream, False
        while first := stream.skip_blank():
            if first == b"}":
                stream.at += 1
                if not self._goes_on():
                    break
                continue
            if first == b"{" and has_events and self._at_event():
                self._left_out()  # a closing bracket too many
            else:
                key = self._key(first)
                if key == "traceEvents" and stream.skip_space() == b"[":
                    stream.at += 1
                elif self._take_member(key, has_events):
                    continue
                elif has_events:
                    self._to_more_events()
                    continue
                elif not stream.to_match(_EVENTS):
                    continue
            has_events = True
            yield from self._elements()
        else:
            self._cut_off()
        if not has_events:
            self._no_events()

    def _goes_on(self) -> bool:
        """Whether the closing bracket before this place was one too many."""
        following = self._stream.skip_blank()
        return following in (b'"', b"]", b"}") or (following == b"{" and self._at_event())

    def _to_more_events(self) -> None:
        """Go to an event nearby, if there is one: the list was ended by a bracket in a damaged element."""
        stream = self._stream
        if stream.skip_blank() == b"{" and self._at_event():
            return
        end = stream.boundary()
        if end is not None and _ANOTHER_EVENT.match(stream.text, end):
            stream.at = end

    def _at_event(self) -> bool:
        stream = self._stream
        while stream.left < 100 and stream.more():
            pass
        return _EVENT.match(stream.text, stream.at) is not None

    def _key(self, first: bytes) -> str | None:
        """The name of the value that comes next; None where there is none. Something is taken in any case."""
        stream = self._stream
        try:
            text = stream.value(LOOK_AHEAD) if first == b'"' else b""
        except Incomplete:
            text = b""
        if not text:
            stream.at += 1
        elif stream.skip_space() == b":":
            stream.at += 1
            key = decode_value(text)
            return key if isinstance(key, str) else None
        return None

    def _take_member(self, key: str | None, has_events: bool) -> bool:
        """Keep the value that comes next. False when it is damaged: it may have swallowed the events."""
        stream = self._stream
        stream.skip_space()
        if key is not None:
            try:
                text = stream.value(MOST_ELEMENT_BYTES)
            except Incomplete:
                if has_events:
                    stream.at = len(stream.text)
                    self._cut_off()
                return False
            if has_events or not _EVENTS.search(text):
                self.members[key] = text
                if stream.skip_space() in (b",", b"}", b""):
                    return True
            else:
                stream.at -= len(text)
        self._found.add("bad_member", "Values beside the events are no proper JSON and were left out")
        return False

    def _no_events(self) -> None:
        if self._found.has("truncated") and not self._found.has("bad_member"):
            raise UnreadableTrace(self._path, "it is cut off before its events", WAIT_OR_RECAPTURE)
        raise UnreadableTrace(self._path, "it has no `traceEvents`", NAME_A_TRACE)

    def _cut_off(self) -> None:
        if not self._found.has("truncated"):
            message = "The file ends in the middle; what is there was read. If a job is still writing it, wait"
            self._found.add("truncated", message)

    def _elements(self) -> Iterator[Window]:
        """From behind the opening bracket of the events to behind the closing one."""
        stream, size = self._stream, WINDOW_BYTES
        while first := stream.skip_blank():
            if first == b"]":
                stream.at += 1
                if stream.skip_blank() != b"{" or not self._at_event():
                    return
                self._left_out()  # a closing bracket too many
                continue
            while stream.left < size and stream.more():
                pass
            singly = first != b"{" or stream.place < self._singly_to
            cut = None if singly else stream.last_boundary(stream.at + size)
            if cut is None:
                window = self._single(first)
            else:
                window, sound = self._try_window(cut, size)
                if window is not None:
                    size = min(2 * size, WINDOW_BYTES)
                elif size > SMALL_BYTES:
                    size, window = SMALL_BYTES, self._sound_part(sound)
                else:
                    window = self._sound_part(sound) or self._mended_window(cut)
            if window is not None:
                yield self._noted(window)
        self._cut_off()

    def _noted(self, window: Window) -> Window:
        self._count_left_out(window.left_out)
        self._junk_left = min(MOST_JUNK, self._junk_left + len(window.events) / 10)
        if window.was_mended:
            self._found.add("mended_json", "Stretches of text that are no proper JSON were mended")
        return window

    def _left_out(self) -> None:
        self._count_left_out(1)
        self._junk_left -= 1
        if self._junk_left <= 0:
            raise _TooMuchJunk

    def _count_left_out(self, count: int) -> None:
        self._found.add("bad_event", "Elements of `traceEvents` that are no JSON objects were left out", count)

    def _try_window(self, cut: int, size: int = 0) -> tuple[Window | None, int]:
        """The elements up to `cut`, or how many bytes of them are sound. Odd types are for small windows."""
        stream = self._stream
        try:
            window = decode(stream.as_list(cut), loosely=size <= SMALL_BYTES)
        except Unsound as error:
            return None, error.sound
        stream.at = cut
        return window, 0

    def _sound_part(self, length: int) -> Window | None:
        """The whole elements among the next `length` bytes."""
        cut = self._stream.last_boundary(self._stream.at + length)
        return None if cut is None else self._try_window(cut)[0]

    def _mended_window(self, cut: int) -> Window | None:
        stream = self._stream
        try:
            window = decode_mended(stream.as_list(cut))
        except Unsound:
            self._singly_to = stream.place + cut - stream.at
            return None
        stream.at = cut
        return window

    def _single(self, first: bytes) -> Window | None:
        """The next element by itself. None when it cannot be read: it is left out and counted."""
        stream = self._stream
        if first != b"{":
            self._skip_junk()
            return None
        for count in GROUPS:
            end = stream.boundary(count)
            if end is None or not self._is_worth(end):
                break
            if not self._deep_tries:
                return self._long()
            window, truncated = self._up_to(end)
            if window is None and not truncated:
                window = self._hidden_by_junk(end)
            if window is not None or not truncated:
                return window
            self._in_vain(end)
        nearest = stream.boundary()
        window = None
        if nearest is not None and self._is_worth(nearest):
            window = self._mended_up_to(nearest)
        return window or self._long()

    def _is_worth(self, end: int) -> bool:
        """Whether text up to there may be looked at, though it may have to be looked at again."""
        return end - self._stream.at <= max(FEW_BYTES, self._patience)

    def _in_vain(self, end: int) -> None:
        length = end - self._stream.at
        self._patience -= length if length > FEW_BYTES else 0

    def _up_to(self, end: int) -> tuple[Window | None, bool]:
        """The element that may end at `end`, or whether there may be more of it."""
        stream = self._stream
        try:
            window = decode(stream.as_list(end))
        except Unsound as error:
            self._deep_tries -= error.deep and self._deep_tries > 0
            if not error.whole:
                return None, error.truncated
            end = stream.at + error.whole
            try:
                window = decode(stream.as_list(end))
            except Unsound:
                return None, False
        stream.at = end
        return window, False

    def _mended_up_to(self, end: int, further: bool = False) -> Window | None:
        stream = self._stream
        try:
            window = decode_somehow(stream.as_list(end), further)
        except Unsound:
            return None
        stream.at = end
        return window

    def _hidden_by_junk(self, end: int) -> Window | None:
        """The element before `end`, which may hide the begin of another one; None: it is left out."""
        stream = self._stream
        following = _EVENT.search(stream.text, stream.at + 1, end)
        window = None
        element = 0 if following is None else following.start()
        for _ in range(3):  # the junk may have brackets too
            element = stream.text.rfind(b"}", stream.at, element)
            window = None if element < 0 else self._mended_up_to(element + 1)
            if window is not None or element < 0:
                break
        if window is None and (following is None or end - stream.at <= self._patience):
            window = self._mended_up_to(end, further=True)
            if window is not None:
                return window
        if following is None:
            self._skip_element()
        else:
            self._patience -= 4 * (end - stream.at)  # which will be looked at again; mending is slow
            stream.at = following.start()
            self._left_out()
        return window

    def _long(self) -> Window | None:
        """The next element, by its quotes and brackets. Scanning in vain is bounded, in all."""
        stream = self._stream
        near = stream.boundary() is not None
        most = max(FEW_BYTES, self._patience)
        if not near:
            most = MOST_ELEMENT_BYTES if self._patience > 0 else LOOK_AHEAD
        if not self._deep_tries:
            most = min(most, SMALL_BYTES)
        try:
            text = stream.value(most)
        except Incomplete:
            self._patience -= min(most, stream.left)
            self._skip_element()
            return None
        try:
            text = b"[" + text + b"]"
            return decode(text) if near and len(text) > self._mendable_bytes() else decode_somehow(text)
        except Unsound:
            stream.at -= len(text) - 2 if near else 0
            self._patience -= len(text)
            self._skip_element(near)
            return None

    def _mendable_bytes(self) -> int:
        """Mending is slow. Once nothing else is tried, an element of a few dozen kilobytes is worth it."""
        return FEW_BYTES if self._deep_tries else SMALL_BYTES

    def _skip_element(self, far: bool = True) -> None:
        """Leave out what stands here, up to where the next element may begin."""
        if far and not self._stream.to_boundary():
            self._cut_off()
        else:
            self._left_out()

    def _skip_junk(self) -> None:
        """Something between the elements that is no object: up to the next comma, object or closing bracket."""
        stream = self._stream
        self._left_out()
        while stream.left and stream.text[stream.at] not in b",{]":
            match = _WHOLE_STRING.match(stream.text, stream.at) or _SCALAR.match(stream.text, stream.at)
            assert match is not None
            stream.at = match.end()
