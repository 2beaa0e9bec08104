"""JSON numbers of microseconds to exact nanoseconds.

A float64 of 1.7e15 microseconds resolves 0.25 us only, so the digits are read as digits. Source of the spellings:
integers up to torch 2.3, three decimals since 2.4, strings in third-party files.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array

NS_DIGITS = 3
WHOLE_DIGITS = 16  # of the microseconds; with a first digit below 9 the nanoseconds fit into int64

_DOT, _MINUS, _ZERO, _NINE, _END = (ord(char) for char in ".-09\n")
_POWERS = 10 ** np.arange(WHOLE_DIGITS + NS_DIGITS, dtype=np.int64)


def nanoseconds(texts: Sequence[bytes]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Per text, its microseconds as nanoseconds (rounded half up below 1 ns), and whether it was a number at all."""
    count = len(texts)
    if not count:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    buffer = np.frombuffer(b"\n".join(texts) + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(buffer == _END)
    if len(ends) != count:  # a text with a line break in it
        return _one_by_one(texts)
    values, plain = _digits(buffer, ends)
    odd = np.flatnonzero(~plain)
    if len(odd):
        values[odd], plain[odd] = _one_by_one([texts[i] for i in odd.tolist()])
    return values, plain


def _digits(buffer: npt.NDArray[np.uint8], ends: npt.NDArray[np.intp]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Values of texts of the form ``-?[0-9]{1,16}(.[0-9]{0,3})?`` below 9e15, and which texts are of that form."""
    starts = np.concatenate(([0], ends[:-1] + 1))
    text_of = np.repeat(np.arange(len(ends)), ends - starts + 1)
    is_digit = (buffer >= _ZERO) & (buffer <= _NINE)
    negative = buffer[starts] == _MINUS

    dots = np.flatnonzero(buffer == _DOT)
    dot = ends.copy()
    dot[text_of[dots]] = dots
    strange = ~is_digit & (buffer != _DOT) & (buffer != _END)
    strange[starts[negative]] = False

    whole = dot - starts - negative
    plain = (
        (np.bincount(text_of[strange], minlength=len(ends)) == 0)
        & (np.bincount(text_of[dots], minlength=len(ends)) <= 1)
        & (ends - dot <= NS_DIGITS + 1)
        & (whole > 0)
        & ((whole < WHOLE_DIGITS) | ((whole == WHOLE_DIGITS) & (buffer[starts + negative] < _NINE)))
    )
    usable = is_digit & plain[text_of]
    place, owner = np.flatnonzero(usable), text_of[usable]
    exponent = dot[owner] - place + NS_DIGITS - (place < dot[owner])
    values = np.zeros(len(ends), dtype=np.int64)
    np.add.at(values, owner, (buffer[place].astype(np.int64) - _ZERO) * _POWERS[exponent])
    return np.where(negative, -values, values), plain


def _one_by_one(texts: Sequence[bytes]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    values, good = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_)
    for i, text in enumerate(texts):
        try:
            exact = Decimal(text.strip(b'" \t\r\n').decode()).scaleb(NS_DIGITS)
            if exact.is_finite() and abs(exact) < 2**63 - 1:
                values[i], good[i] = int(exact.to_integral_value("ROUND_HALF_UP")), True
        except (InvalidOperation, UnicodeDecodeError):
            continue
    return values, good
