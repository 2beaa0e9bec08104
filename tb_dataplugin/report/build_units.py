"""The one change that the report makes to numbers: nanoseconds become microseconds."""

from __future__ import annotations


def us(time_ns: float) -> float:
    return time_ns / 1e3


def maybe_us(time_ns: float | None) -> float | None:
    return None if time_ns is None else us(time_ns)
