"""Names as they are shown: nothing in a name may steer a terminal, turn text around, or hide.

Names come from traces, file systems and other machines. `shown` is the one function that makes them harmless; it is
called where text leaves for a terminal or a log, and where a path becomes text.
"""

from __future__ import annotations

import re
from typing import Final

_ASCII: Final = r"\x00-\x1f\x7f-\x9f"
"""C0 and C1 controls: ESC, BEL, CSI and OSC in one byte, line ends, NUL."""
_SPECIAL: Final = (
    "\u00ad\u034f\u061c\u070f\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u0600-\u0605\u06dd\u0890\u0891\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What has no shape of its own, turns others around, or ends a line: Unicode's format characters and fillers."""
_SURROGATES: Final = "\ud800-\udfff"
"""How Python writes bytes of a file name that are not UTF-8."""

_HOSTILE: Final = re.compile(f"[{_ASCII}{_SPECIAL}{_SURROGATES}]")
_UNPRINTABLE: Final = re.compile(f"[{_SURROGATES}]")


def shown(text: str, keep: str = "") -> str:
    r"""`text` with what a terminal would act on, or not show, as escapes: ``\x1b``, ``\u202e``, ``\xe9`` for a byte.

    Characters in `keep` (such as line ends that are meant) stay.
    """
    return _HOSTILE.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def encodable(text: str) -> str:
    r"""`text` as it can be written: bytes of a file name that are not UTF-8 become ``\xe9``; all else stays."""
    return _UNPRINTABLE.sub(lambda match: _escape(match[0]), text)


def in_json(text: str) -> str:
    r"""JSON text with the same characters as JSON's own escapes: the same value, harmless on a terminal.

    For text without line ends, or with line ends between values only: those stay.
    """
    return _HOSTILE.sub(lambda match: match[0] if match[0] == "\n" else _json_escape(match[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
