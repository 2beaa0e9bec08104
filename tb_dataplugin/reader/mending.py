"""Turns text that is almost JSON into JSON: one rule for each mistake that real writers make."""

from __future__ import annotations

import re

_CONTROLS = bytes.maketrans(bytes(range(32)), b" " * 32)
_PAIR = rb"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(
    rb'\\(?:["\\/bfnrt]|' + _PAIR + rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|u[0-9a-fA-F]{4}|(?P<bad>))"
)
_WORD = rb"(?:N/A|[-+]?(?:nan|inf|infinity)|undefined|none)"
_BARE_WORD = re.compile(rb'(?<=":)(\s*)' + _WORD + rb"(?=\s*[,}])", re.IGNORECASE)
_BARE_ITEM = re.compile(rb"(?<=[\[,\s])" + _WORD + rb"(?=\s*[,\]])", re.IGNORECASE)
_FALSE_QUOTE = re.compile(rb'\\(\\|"(?=\s*(?:,\s*"[^"\\]*"\s*:|\}|\]))|)')


def mended(text: bytes) -> bytes:
    """Without control characters, bad escapes, halves of surrogate pairs, bare NaN and bytes that are no UTF-8.

    Blanks outside strings mean nothing, so control characters become blanks everywhere. Proper JSON stays what it is,
    but for tabs and line ends outside strings.
    """
    text = text.translate(_CONTROLS)
    try:
        text.decode()
    except UnicodeDecodeError:
        text = text.decode("utf-8", "replace").encode()
    if b"\\" in text:
        text = _ESCAPE.sub(_mended_escape, text)
    return _BARE_WORD.sub(rb"\1null", text)


def _mended_escape(match: re.Match[bytes]) -> bytes:
    if match["lone"] is not None:
        return rb"\ufffd"
    return match[0] if match["bad"] is None else b"\\\\"


def mended_further(text: bytes) -> bytes:
    """What `mended` left, with guesses that proper strings may fall victim to: for an element that is lost otherwise.

    A path that ends in a backslash before its closing quote; bare words in lists.
    """
    return _BARE_ITEM.sub(b"null", _FALSE_QUOTE.sub(_mended_quote, text))


def _mended_quote(match: re.Match[bytes]) -> bytes:
    return b'\\\\"' if match[1] == b'"' else match[0]
