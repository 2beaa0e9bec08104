"""JSON numbers of microseconds to exact nanoseconds.

A float64 of 1.7e15 microseconds resolves 0.25 us only, so the digits are read as digits. Source of the spellings:
integers up to torch 2.3, three decimals since 2.4, other decimals and strings in third-party files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array, int64

LONGEST_NS: Final = 7 * 24 * 3600 * 10**9
"""Times further than this from the others are corrupt stamps of the device's tracer. Source: HTA's constants.py."""

NS_DIGITS = 3
WHOLE_DIGITS = 16  # of the microseconds; with a first digit below 9 the nanoseconds fit into int64

_PLAIN = re.compile(rb"(?:[0-9]{1,15}|[0-8][0-9]{15})(?:\.[0-9]{0,3})?")
_DOT, _NINE, _END = ord("."), ord("9"), ord("\n")
_POWERS = 10 ** np.arange(NS_DIGITS + 1, dtype=np.int64)


def nanoseconds(texts: Sequence[bytes]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Per text (bytes or a buffer), its microseconds as nanoseconds, and whether it was a number at all.

    Digits below 1 ns are rounded half up.
    """
    good = np.ones(len(texts), dtype=np.bool_)
    values = _plain(b"\n".join(texts), len(texts))
    if values is not None:
        return values, good
    odd = [place for place, text in enumerate(texts) if not _PLAIN.fullmatch(text)]
    filled = list(texts)
    for place in odd:
        filled[place] = b"0"
    values = _plain(b"\n".join(filled), len(texts))
    assert values is not None
    values[odd], good[odd] = _one_by_one([texts[place] for place in odd])
    return values, good


def _plain(joined: bytes, count: int) -> Int64Array | None:
    """The values when each of the `count` lines is of the form `_PLAIN`; None when one is not."""
    if not count:
        return np.zeros(0, dtype=np.int64)
    if joined.translate(None, b"0123456789.\n"):
        return None
    buffer = np.frombuffer(joined + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(buffer == _END)
    if len(ends) != count:
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    decimals = _decimals(buffer, ends) if b"." in joined else np.full(count, -1)
    if decimals is None:
        return None
    whole = ends - starts - decimals - 1
    if decimals.max() > NS_DIGITS or whole.min() < 1 or whole.max() > WHOLE_DIGITS:
        return None
    if (buffer[starts[whole == WHOLE_DIGITS]] == _NINE).any():
        return None
    digits = np.fromstring(joined.replace(b".", b"").decode(), dtype=np.int64, sep="\n")
    return int64(digits * _POWERS[NS_DIGITS - np.maximum(decimals, 0)])


def _decimals(buffer: npt.NDArray[np.uint8], ends: npt.NDArray[np.intp]) -> npt.NDArray[np.intp] | None:
    """Per line, the number of digits after its dot, -1 without a dot; None when a line has two."""
    dots = np.flatnonzero(buffer == _DOT)
    line = np.searchsorted(ends, dots)
    if (line[1:] == line[:-1]).any():
        return None
    decimals = np.full(len(ends), -1)
    decimals[line] = ends[line] - dots - 1
    return decimals


def _one_by_one(texts: Sequence[bytes]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    values, good = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_)
    for i, text in enumerate(texts):
        try:
            exact = Decimal(bytes(text).strip(b'" \t\r\n').decode()).scaleb(NS_DIGITS)
            if exact.is_finite() and abs(exact) < 2**63 - 1:
                values[i], good[i] = int(exact.to_integral_value("ROUND_HALF_UP")), True
        except (ArithmeticError, UnicodeDecodeError):
            continue
    return values, good
