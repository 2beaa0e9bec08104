"""Events that are not valid JSON: mended where that is safe, skipped and counted where it is not.

The same interface as the strict path of `chrome`: from the stream's position to a window of events that follows it.
A damaged element costs only itself, and time stays proportional to the text.
"""

from __future__ import annotations

import re
from typing import Final

from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.reader.decoding import Unsound, Window, decode, decode_mended, decode_somehow
from tb_dataplugin.reader.elements import LOOK_AHEAD, MOST_ELEMENT_BYTES, ElementStream, Incomplete

SMALL_BYTES: Final = 1 << 16  # of a window in which something is wrong
FEW_BYTES: Final = 1 << 14
PATIENCE_BYTES: Final = 1 << 24  # how much may be looked at in vain, and so more than once, beyond the next boundary
DEEP_TRIES: Final = 64  # how often text that proves to be nested too deeply may be taken for an element
MOST_JUNK: Final = 20_000
"""Reading ends after this many unreadable elements, one in ten readable ones not counted: each costs up to 0.2 ms."""
GROUPS: Final = (1, 4, 16)
"""An element may have lists of objects in it, so that it ends at a later boundary: so many are tried."""

EVENT: Final = re.compile(rb'\{\s*"(?:ph|cat|name|pid|tid|ts|dur|args)"\s*:')
_WHOLE_STRING = re.compile(rb'"[^"\\]{0,4096}"(?=\s*[,\]])')
_SCALAR = re.compile(rb"[^,\]}\[{\s\"]+|\[+|.", re.DOTALL)


class TooMuchJunk(Exception): ...


class Losses:
    """Counts what is skipped. Raises TooMuchJunk when reading on is no longer worthwhile."""

    def __init__(self, diagnostics: DiagnosticsCollector) -> None:
        self._diagnostics = diagnostics
        self._junk_left = float(MOST_JUNK)

    def read(self, window: Window) -> Window:
        """Counts what was lost in a window that was read."""
        self._count(window.left_out)
        self._junk_left = min(MOST_JUNK, self._junk_left + len(window.events) / 10)
        if window.was_mended:
            self._diagnostics.add("mended_json", "Invalid JSON was repaired")
        return window

    def element(self) -> None:
        """One more element is skipped."""
        self._count(1)
        self._junk_left -= 1
        if self._junk_left <= 0:
            raise TooMuchJunk

    def end_of_file(self) -> None:
        """The text ends before its brackets do."""
        if not self._diagnostics.has("truncated"):
            message = "The file is truncated; what is there was read. If a job is still writing it, wait"
            self._diagnostics.add("truncated", message)

    def _count(self, count: int) -> None:
        self._diagnostics.add("bad_event", "Elements of `traceEvents` that are not JSON objects were skipped", count)


class Recovery:
    """Reads what the strict path could not."""

    def __init__(self, stream: ElementStream, losses: Losses) -> None:
        self._stream, self._losses = stream, losses
        self._singly_to = 0  # up to this place elements are read one by one, since whole windows could not be mended
        self._patience = PATIENCE_BYTES
        self._deep_tries = DEEP_TRIES

    @property
    def is_single(self) -> bool:
        """Whether the next element has to be read by itself."""
        return self._stream.place < self._singly_to

    def part(self, cut: int, sound: int, *, mend: bool) -> Window | None:
        """Of the elements up to `cut`, of which `sound` bytes are: the sound ones, else all of them mended."""
        window = self._sound_part(sound)
        return self._mended_window(cut) if window is None and mend else window

    def _sound_part(self, length: int) -> Window | None:
        """The whole elements among the next `length` bytes."""
        cut = self._stream.last_boundary(self._stream.at + length)
        if cut is None:
            return None
        try:
            window = decode(self._stream.as_list(cut))
        except Unsound:
            return None
        self._stream.at = cut
        return window

    def _mended_window(self, cut: int) -> Window | None:
        stream = self._stream
        try:
            window = decode_mended(stream.as_list(cut))
        except Unsound:
            self._singly_to = stream.place + cut - stream.at
            return None
        stream.at = cut
        return window

    def single(self, first: bytes) -> Window | None:
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
        following = EVENT.search(stream.text, stream.at + 1, end)
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
            self._losses.element()
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
            self._losses.end_of_file()
        else:
            self._losses.element()

    def _skip_junk(self) -> None:
        """Skip text between the elements that is not an object, up to the next comma, object or closing bracket."""
        stream = self._stream
        self._losses.element()
        while stream.left and stream.text[stream.at] not in b",{]":
            match = _WHOLE_STRING.match(stream.text, stream.at) or _SCALAR.match(stream.text, stream.at)
            assert match is not None
            stream.at = match.end()
