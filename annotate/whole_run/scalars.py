"""Scalars and histograms for TensorBoard: an event file, written without TensorBoard.

The format: records, each its length, the masked CRC-32C of that, the data and their masked CRC-32C; the data are an
``Event`` of TensorFlow's ``event.proto``, of which few fields are needed. In a folder of its own: TensorBoard reads one
event file of a folder at a time, and would overlook what is added to the program's own.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from annotate.host.facts import host_name
from annotate.whole_run.appending import Appended
from annotate.whole_run.tally import upper_edge_us

LIMIT: Final = 64 << 20
"""Bytes of one file; a week of intervals of 10 s takes about half of it."""

_NAME: Final = "events.out.tfevents."


def _table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


_TABLE: Final = _table()


def crc32c(data: bytes) -> int:
    """Castagnoli's, as in RFC 3720."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """A TFRecord."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", _masked(length)) + data + struct.pack("<I", _masked(data))


def _masked(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def event(wall_time: float, step: int, values: list[bytes]) -> bytes:
    """An ``Event`` with a ``Summary`` of these ``Summary.Value``."""
    summary = b"".join(_bytes(1, value) for value in values)
    return _double(1, wall_time) + _varint(2 << 3) + _varint(step) + _bytes(5, summary)


def scalar(tag: str, value: float) -> bytes:
    """A ``Summary.Value`` with a ``simple_value``."""
    return _bytes(1, tag.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", value)


def histogram(tag: str, buckets: Mapping[int, int]) -> bytes:
    """A ``Summary.Value`` with a ``HistogramProto`` of the buckets of `tally`, in milliseconds."""
    edges = {bucket: upper_edge_us(bucket) / 1000 for bucket in sorted(buckets)}
    limits = [edge for bucket in edges for edge in (upper_edge_us(bucket - 1) / 1000, edges[bucket])]
    counts = [count for bucket in edges for count in (0, buckets[bucket])]
    total = sum(edges[bucket] * buckets[bucket] for bucket in edges)
    squares = sum(edges[bucket] ** 2 * buckets[bucket] for bucket in edges)
    heads = (limits[0], limits[-1], sum(buckets.values()), total, squares)
    data = b"".join(_double(number, value) for number, value in enumerate(heads, 1))
    for field, values in ((6, limits), (7, counts)):
        data += _bytes(field, struct.pack(f"<{len(values)}d", *values))
    return _bytes(1, tag.encode()) + _bytes(5, data)


def latest_writer(folder: Path) -> tuple[str, int] | None:
    """Host and pid of the process that wrote the newest event file of a folder of ours. Raises: OSError."""
    names = (path.name.removeprefix(_NAME).partition(".") for path in folder.glob(f"{_NAME}*"))
    written = sorted((int(second), rest) for second, _, rest in names if second.isdecimal())
    if not written:
        return None
    host, *rest = written[-1][1].rsplit(".", 2)
    return (host, int(rest[0])) if rest and rest[0].isdecimal() else None


class EventFile:
    """Open for appending."""

    def __init__(self, folder: Path) -> None:
        """Raises: OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        name = f"{_NAME}{int(now):010d}.{host_name()}.{os.getpid()}.{time.time_ns() % 1_000_000_000}"
        self._file = Appended(folder / name)
        self._file.write(record(_double(1, now) + _bytes(3, b"brain.Event:2")))

    def add(self, wall_time: float, step: int, values: list[bytes]) -> None:
        """One point of each value. Raises: OSError."""
        if values and self._file.size < LIMIT:
            self._file.write(record(event(wall_time, step, values)))

    def close(self) -> None:
        """Harmless when it is closed."""
        self._file.close()
