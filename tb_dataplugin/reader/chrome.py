"""Chrome trace JSON to rows: syntax only.

This is the strict path: whole windows of valid JSON. Damaged elements go to `recovery`, which also returns windows;
reading then continues after them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.reader import recovery
from tb_dataplugin.reader.decoding import Unsound, Window, decode, decode_value
from tb_dataplugin.reader.elements import LOOK_AHEAD, MOST_ELEMENT_BYTES, ElementStream, Incomplete
from tb_dataplugin.reader.recovery import EVENT, Losses, Recovery, TooMuchJunk

WINDOW_BYTES = 1 << 20

_EVENTS = re.compile(rb'traceEvents"\s*:\s*\[')
_ANOTHER_EVENT = re.compile(rb"\s*,\s*" + EVENT.pattern)

WAIT_OR_RECAPTURE = "if a job is still writing it, wait; if the job was killed, capture again"
CHOOSE_A_TRACE = "choose a trace written by torch.profiler or annotate"

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


class ChromeReader:
    """Reads one trace. `members` holds the values beside the events, as JSON text, once `windows` is exhausted."""

    def __init__(self, blocks: Iterator[bytes], path: Path, diagnostics: DiagnosticsCollector) -> None:
        self._stream = ElementStream(blocks)
        self._path = path
        self._diagnostics = diagnostics
        self._losses = Losses(diagnostics)
        self._recovery = Recovery(self._stream, self._losses)
        self.members: dict[str, bytes] = {}

    def windows(self) -> Iterator[Window]:
        """The events in file order. Raises UnreadableTrace when the text is not a Chrome trace."""
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
            format_name = next(name for magic, name in _OTHER_FORMATS.items() if start.startswith(magic))
            remedy = "save it as UTF-8" if "UTF" in format_name else "unpack it and choose what was in it"
            raise UnreadableTrace(self._path, f"it is {format_name}", remedy)
        if first not in (b"[", b"{"):
            raise UnreadableTrace(self._path, "it is not JSON", CHOOSE_A_TRACE)
        stream.at += 1
        try:
            yield from self._bare_list() if first == b"[" else self._object()
        except TooMuchJunk:
            limit, place = recovery.MOST_JUNK, stream.place
            message = f"More than {limit:,} elements are unreadable; everything after byte {place:,} was skipped"
            self._diagnostics.add("limit_junk", message)
            return
        if stream.skip_blank():
            message = "Text after the end of the trace was ignored; is there a second trace in the file?"
            self._diagnostics.add("trailing_text", message)

    def member(self, key: str) -> Any:
        """The value beside the events under `key`; None when there is none, or it cannot be read."""
        text = self.members.get(key)
        if text is None:
            return None
        value = decode_value(text)
        if value is None and text != b"null":
            self._diagnostics.add("bad_member", f"`{key}` is not valid JSON; the trace is read without it")
        return value

    def _bare_list(self) -> Iterator[Window]:
        yield from self._elements()
        while self._stream.skip_blank() and self._stream.to_boundary():  # a closing bracket too many
            self._losses.element()
            yield from self._elements()

    def _object(self) -> Iterator[Window]:
        """The object around the events, from after its opening bracket to after its closing bracket."""
        stream, has_events = self._stream, False
        while first := stream.skip_blank():
            if first == b"}":
                stream.at += 1
                if not self._goes_on():
                    break
                continue
            if first == b"{" and has_events and self._at_event():
                self._losses.element()  # a closing bracket too many
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
            self._losses.end_of_file()
        if not has_events:
            self._no_events()

    def _goes_on(self) -> bool:
        """Whether the object goes on after its closing bracket, because that bracket was one too many."""
        following = self._stream.skip_blank()
        return following in (b'"', b"]", b"}") or (following == b"{" and self._at_event())

    def _to_more_events(self) -> None:
        """Go to the next event if one is near: a bracket inside a damaged element had ended the list."""
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
        return EVENT.match(stream.text, stream.at) is not None

    def _key(self, first: bytes) -> str | None:
        """The name of the next value; None where there is none. Always consumes something."""
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
        """Keep the next value. False when it is damaged: it may have swallowed the events."""
        stream = self._stream
        stream.skip_space()
        if key is not None:
            try:
                text = stream.value(MOST_ELEMENT_BYTES)
            except Incomplete:
                if has_events:
                    stream.at = len(stream.text)
                    self._losses.end_of_file()
                return False
            if has_events or not _EVENTS.search(text):
                self.members[key] = text
                if stream.skip_space() in (b",", b"}", b""):
                    return True
            else:
                stream.at -= len(text)
        self._diagnostics.add("bad_member", "Values beside the events are not valid JSON and were skipped")
        return False

    def _no_events(self) -> None:
        if self._diagnostics.has("truncated") and not self._diagnostics.has("bad_member"):
            raise UnreadableTrace(self._path, "it is truncated before its events", WAIT_OR_RECAPTURE)
        raise UnreadableTrace(self._path, "it has no `traceEvents`", CHOOSE_A_TRACE)

    def _elements(self) -> Iterator[Window]:
        """The list of events, from after its opening bracket to after its closing bracket."""
        stream, size = self._stream, WINDOW_BYTES
        while first := stream.skip_blank():
            if first == b"]":
                stream.at += 1
                if stream.skip_blank() != b"{" or not self._at_event():
                    return
                self._losses.element()  # a closing bracket too many
                continue
            while stream.left < size and stream.more():
                pass
            one_by_one = first != b"{" or self._recovery.is_single
            cut = None if one_by_one else stream.last_boundary(stream.at + size)
            if cut is None:
                window = self._recovery.single(first)
            else:
                window, sound = self._strict(cut, size)
                if window is None:
                    window = self._recovery.part(cut, sound, mend=size <= recovery.SMALL_BYTES)
                    size = recovery.SMALL_BYTES
                else:
                    size = min(2 * size, WINDOW_BYTES)
            if window is not None:
                yield self._losses.read(window)
        self._losses.end_of_file()

    def _strict(self, cut: int, size: int) -> tuple[Window | None, int]:
        """The elements up to `cut`, or how many bytes of them are sound. Odd types are for small windows."""
        stream = self._stream
        try:
            window = decode(stream.as_list(cut), loosely=size <= recovery.SMALL_BYTES)
        except Unsound as error:
            return None, error.sound
        stream.at = cut
        return window, 0
