"""A stream of JSON text, cut between the elements of `traceEvents`: structure only, nothing is decoded here.

A cut is guessed (``}`` and ``,`` and ``{`` in a row; in damaged text also ``,`` and the begin of an event, or the end
of a list) and then proved by decoding what stands before it. All scanning goes on where it stopped when the next block
comes, and none looks further ahead than its limit: damaged text takes time in proportion to its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

BOUNDARY = re.compile(rb"\}\s*,\s*(?=\{)")
_NEXT = re.compile(
    rb'\}(?=\s*,\s*\{|\s*\]\s*(?:[,}]|$))|,(?=\s*\{\s*"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp|s)"\s*:)'
)
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*){0,64}"|"|[\[\]{}]', re.DOTALL)
_REST_OF_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*){0,64}', re.DOTALL)  # bounded: each round takes memory
_SCALAR = re.compile(rb"[^,\]}\[{\s\"]*")
_BLANK = re.compile(rb"[\s,]*")
_SPACE = re.compile(rb"\s*")

CUT_TRIES = 64
LOOK_AHEAD = 1 << 20
"""The next element begins within this many bytes, unless this one is very long."""
MOST_ELEMENT_BYTES = 1 << 26
"""Longer elements, and longer values beside the events, are not part of a trace."""
MOST_JSON_DEPTH = 2000
"""The decoder goes no deeper than Python's recursion limit (1000), so deeper nesting cannot be decoded."""
_OVERLAP = 4096  # blanks may lie across the end of a block

OPENS, CLOSES = b"[{", b"]}"


class Incomplete(Exception):
    """The text ends before the value does, or the value is too long. Nothing was taken."""


class ElementStream:
    """The text read so far, and the position in it. `more()` brings the next block."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self.text = b""
        self.at = 0
        self._dropped = 0  # bytes before `text`
        self._clear_to = 0  # no boundary begins between `at` and here; counted from the start of the stream
        self._no_cut_at = -_OVERLAP  # there is no boundary just before here, counted likewise

    def more(self) -> bool:
        """Bring at least as many bytes as are left, so that long values are not copied often; False at the end."""
        blocks, wanted = [memoryview(self.text)[self.at :]], max(1, self.left)
        for block in self._blocks:
            blocks.append(memoryview(block))
            wanted -= len(block)
            if wanted <= 0:
                break
        self._dropped += self.at
        self.text, self.at = b"".join(blocks), 0
        return len(blocks) > 1

    @property
    def place(self) -> int:
        """The position, counted from the start of the stream."""
        return self._dropped + self.at

    @property
    def left(self) -> int:
        return len(self.text) - self.at

    def skip_blank(self) -> bytes:
        """Skip blanks and commas; the next byte, or b"" at the end of the text."""
        return self._skip(_BLANK)

    def skip_space(self) -> bytes:
        """Skip blanks; the next byte, or b"" at the end of the text."""
        return self._skip(_SPACE)

    def _skip(self, pattern: re.Pattern[bytes]) -> bytes:
        while True:
            match = pattern.match(self.text, self.at)
            assert match is not None
            self.at = match.end()
            if self.at < len(self.text):
                return self.text[self.at : self.at + 1]
            if not self.more():
                return b""

    def take(self, end: int) -> bytes:
        """The text from here to `end`; the position moves there."""
        taken, self.at = self.text[self.at : end], end
        return taken

    def as_list(self, end: int) -> bytes:
        """The elements from here to `end` as a JSON list; nothing is taken."""
        return b"".join((b"[", memoryview(self.text)[self.at : end], b"]"))

    def last_boundary(self, limit: int) -> int | None:
        """The end (exclusive) of what may be the last whole element before `limit`, with another one after it.

        After a search in vain, the next one waits until the limit has moved on.
        """
        last = end = min(limit, len(self.text))
        if 0 <= self._dropped + last - self._no_cut_at < _OVERLAP:
            return None
        for _ in range(CUT_TRIES):
            place = self.text.rfind(b"}", self.at, end)
            if place < 0:
                break
            if BOUNDARY.match(self.text, place):
                return place + 1
            end = place
        self._no_cut_at = self._dropped + last
        return None

    def boundary(self, count: int = 1) -> int | None:
        """The end of what may be the next `count` elements, with another one after them; None when none is near.

        An end at a comma or behind a bracket: decoding decides whether it is.
        """
        end = self._first_boundary()
        for _ in range(count - 1):
            if end is None:
                break
            match = _NEXT.search(self.text, end + 1, self.at + LOOK_AHEAD)
            end = _end(match) if match else None
        return end

    def _first_boundary(self) -> int | None:
        while True:
            begin = max(self.at + 1, self._clear_to - self._dropped)
            if self.left >= LOOK_AHEAD and self.at + LOOK_AHEAD - begin < 2 * _OVERLAP:
                return None  # as a moment ago: only the last blanks of it would be new
            match = _NEXT.search(self.text, begin, self.at + LOOK_AHEAD)
            if match is not None:
                self._clear_to = self._dropped + match.start()
                return _end(match)
            searched = min(len(self.text), self.at + LOOK_AHEAD)
            self._clear_to = max(self._clear_to, self._dropped + searched - _OVERLAP)
            if self.left >= LOOK_AHEAD:
                return None
            if not self.more():
                self._clear_to = self._dropped + len(self.text)
                return None

    def to_boundary(self) -> bool:
        """Go to the next boundary, however far; False at the end of the text."""
        while (end := self._first_boundary()) is None:
            if self.left < LOOK_AHEAD:
                self.at = len(self.text)
                return False
            self.at += LOOK_AHEAD - _OVERLAP
        self.at = end
        return True

    def to_match(self, pattern: re.Pattern[bytes]) -> bool:
        """Go past the next match, however far; False at the end of the text."""
        while (match := pattern.search(self.text, self.at)) is None:
            self.at = max(self.at, len(self.text) - _OVERLAP)
            if not self.more():
                self.at = len(self.text)
                return False
        self.at = match.end()
        return True

    def value(self, most: int) -> bytes:
        """The JSON value that begins here, taken. Raises Incomplete when it has more than about `most` bytes."""
        first = self.text[self.at : self.at + 1]
        if first in OPENS:
            return self._nested(most)
        if first == b'"':
            length = self._string_end(1, most)
            return self.take(self.at + length)
        while (match := _SCALAR.match(self.text, self.at)) and match.end() == len(self.text):
            if self.left > most or not self.more():
                break
        assert match is not None
        return self.take(match.end())

    def _nested(self, most: int) -> bytes:
        depth, seen = 0, 0  # `seen` counts from `at`, which `more` moves
        while True:
            for match in _TOKEN.finditer(self.text, self.at + seen, self.at + most):
                token, seen = match[0], match.end() - self.at
                if token == b'"':  # a string that goes on, or one with many escapes
                    seen = self._string_end(seen, most)
                    break
                depth += (token in OPENS) - (token in CLOSES)
                if not depth:
                    return self.take(match.end())
                if depth > MOST_JSON_DEPTH:
                    raise Incomplete
            else:
                seen = min(self.left, most)
                if seen == most or not self.more():
                    raise Incomplete

    def _string_end(self, seen: int, most: int) -> int:
        """Counted from `at`: just after the closing quote of the string that continues at `seen`."""
        while True:
            match = _REST_OF_STRING.match(self.text, self.at + seen)
            assert match is not None
            seen, place = match.end() - self.at, match.end()
            if self.text[place : place + 1] == b'"':
                return seen + 1
            at_end = place >= len(self.text) - 1  # a lone backslash may be the last byte
            if seen > most or (at_end and not self.more()):
                raise Incomplete


def _end(match: re.Match[bytes]) -> int:
    """The end of the element before the boundary: after its bracket, or at the comma."""
    return match.start() + (match[0] == b"}")
