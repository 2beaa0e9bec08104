"""An entry of the cache as bytes: a checked header, the Capture message, and the timeline's columns, raw.

    magic · length and CRC of the header · header (JSON: `Header`) · capture · columns, each at a multiple of 64

Columns are read as they lie, without a copy. Whatever is not as it was written raises `Damaged`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError
from isal import isal_zlib

from tb_dataplugin.model.intervals import Window
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.timeline.counters import CounterLine
from tb_dataplugin.timeline.lanes import Label, LaneOwner, LaneSource, TimelineSource
from tb_dataplugin.timeline.pyramid import Boxes, Level, Row, Spans

Content: TypeAlias = bytes | bytearray

MAGIC = b"tbdp\x00\x01\r\n"
PREFIX = struct.Struct("<8sII")
ALIGN = 64


_SPANS = ("<i8", "<i8", "<i4", "<i8")
_BOXES = ("<i8", "<i8", "<i4", "<i4", "<i8", "<i8", "<i8")
_LINE = ("<i8", "<f8")


class Damaged(Exception):
    """Not what was written."""


Size: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]
Time: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Column(msgspec.Struct, array_like=True, frozen=True):
    type: Literal["<i8", "<i4", "<f8"]
    offset: Size
    length: Size


class Part(msgspec.Struct, array_like=True, frozen=True):
    size: Size
    crc: Size


class LevelLayout(msgspec.Struct, array_like=True, frozen=True):
    bucket_ns: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
    longest_ns: Time
    boxes: list[Column]  # in the order of `Boxes`


class RowLayout(msgspec.Struct, array_like=True, frozen=True):
    start: Column
    end: Column
    label: Column
    index: Column | None
    longest_ns: Time
    levels: list[LevelLayout]


class LineLayout(msgspec.Struct, array_like=True, frozen=True):
    name: str
    time: Column
    value: Column


class LaneLayout(msgspec.Struct, array_like=True, frozen=True):
    id: str
    kind: str
    title: str
    rows: list[RowLayout]
    lines: list[LineLayout]
    unit: str
    top: float
    owner: LaneOwner


class Header(msgspec.Struct, array_like=True, frozen=True):
    capture: Part
    columns: Part
    window: tuple[Time, Time]
    labels: list[tuple[str, str, Size]]  # with how many spans of it no lane has
    lanes: list[LaneLayout]


class _Columns:
    """Gathers columns and says where each will lie."""

    def __init__(self) -> None:
        self.buffers: list[bytes | memoryview] = []
        self.size = 0
        self.crc = 0

    def add(self, values: npt.NDArray[Any]) -> Column:
        kind: Literal["<i8", "<i4", "<f8"]
        kind = "<f8" if values.dtype.kind == "f" else "<i4" if values.dtype.itemsize == 4 else "<i8"
        place = Column(kind, self.size, len(values))
        self._append(np.ascontiguousarray(values, dtype=kind).view(np.uint8).data)
        self._append(bytes(-self.size % ALIGN))
        return place

    def _append(self, buffer: bytes | memoryview) -> None:
        if len(buffer):
            self.buffers.append(buffer)
            self.size += len(buffer)
            self.crc = isal_zlib.crc32(buffer, self.crc)

    def lane(self, lane: LaneSource) -> LaneLayout:
        rows = [self._row(row) for row in lane.rows]
        lines = [LineLayout(line.name, self.add(line.time_ns), self.add(line.value)) for line in lane.lines]
        return LaneLayout(lane.id, lane.kind, lane.title, rows, lines, lane.unit, lane.top, lane.owner)

    def _row(self, row: Row) -> RowLayout:
        spans = row.spans
        levels = [LevelLayout(level.bucket_ns, level.longest_ns, self._boxes(level.boxes)) for level in row.levels]
        index = None if spans.index is None else self.add(spans.index)
        start, end, label = self.add(spans.start_ns), self.add(spans.end_ns), self.add(spans.label)
        return RowLayout(start, end, label, index, row.longest_ns, levels)

    def _boxes(self, boxes: Boxes) -> list[Column]:
        return [self.add(getattr(boxes, column.name)) for column in fields(boxes)]


def pack(capture: Capture, timeline: TimelineSource) -> list[bytes | memoryview]:
    """The entry, as buffers to be written one after the other."""
    columns = _Columns()
    lanes = [columns.lane(lane) for lane in timeline.lanes]
    message = capture.SerializeToString()
    header = msgspec.json.encode(
        Header(
            Part(len(message), isal_zlib.crc32(message)),
            Part(columns.size, columns.crc),
            (timeline.window.start_ns, timeline.window.end_ns),
            [(label.text, label.token, count) for label, count in zip(timeline.labels, timeline.undrawn, strict=True)],
            lanes,
        )
    )
    prefix = PREFIX.pack(MAGIC, len(header), isal_zlib.crc32(header))
    padding = bytes(-(PREFIX.size + len(header) + len(message)) % ALIGN)
    return [prefix, header, message, padding, *columns.buffers]


def unpack_prefix(content: bytes) -> tuple[int, int]:
    """Length and checksum of the header."""
    if len(content) != PREFIX.size or not content.startswith(MAGIC):
        raise Damaged
    _, length, crc = PREFIX.unpack(content)
    return length, crc


def unpack_header(content: Content, crc: int) -> Header:
    if isal_zlib.crc32(content) != crc:
        raise Damaged
    try:
        return msgspec.json.decode(content, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Damaged from None


def unpack_capture(header: Header, content: Content) -> Capture:
    _check(header.capture, content)
    try:
        return Capture.FromString(bytes(content))
    except DecodeError:
        raise Damaged from None


def columns_offset(header_size: int, header: Header) -> int:
    """Where in the file the columns begin."""
    end = PREFIX.size + header_size + header.capture.size
    return end + -end % ALIGN


def unpack_timeline(header: Header, content: Content) -> TimelineSource:
    """The timeline, whose columns are views of `content`."""
    _check(header.columns, content)
    lanes = tuple(_Reader(content, len(header.labels)).lane(lane) for lane in header.lanes)
    labels = tuple(Label(text, token) for text, token, _ in header.labels)
    return TimelineSource(Window(*header.window), lanes, labels, tuple(count for _, _, count in header.labels))


def _check(part: Part, content: Content) -> None:
    if len(content) != part.size or isal_zlib.crc32(content) != part.crc:
        raise Damaged


class _Reader:
    """Finds columns again, and checks what those who use them rely on."""

    def __init__(self, content: Content, labels: int) -> None:
        self.content, self.labels = content, labels

    def columns(self, places: Sequence[Column], types: Sequence[str]) -> list[npt.NDArray[Any]]:
        """Columns of these types, all of one length."""
        columns = []
        if len(places) != len(types):
            raise Damaged
        for place, kind in zip(places, types, strict=True):
            end = place.offset + place.length * int(kind[-1])
            if (
                place.type != kind
                or place.length != places[0].length
                or place.offset % ALIGN
                or end > len(self.content)
            ):
                raise Damaged
            columns.append(np.frombuffer(self.content, place.type, place.length, place.offset))
        return columns

    def spans(self, places: Sequence[Column], types: Sequence[str]) -> list[npt.NDArray[Any]]:
        """Columns that begin with start, end and label."""
        columns = self.columns(places, types)
        start, end, label = columns[:3]
        ordered = bool((start[1:] >= start[:-1]).all()) and bool((end >= start).all())
        if not ordered or int(label.min(initial=0)) < 0 or int(label.max(initial=-1)) >= self.labels:
            raise Damaged
        return columns

    def lane(self, lane: LaneLayout) -> LaneSource:
        rows = tuple(self._row(row) for row in lane.rows)
        lines = tuple(CounterLine(line.name, *self.columns((line.time, line.value), _LINE)) for line in lane.lines)
        return LaneSource(lane.id, lane.kind, lane.title, rows, lines, lane.unit, lane.top, lane.owner)

    def _row(self, row: RowLayout) -> Row:
        places = (row.start, row.end, row.label, *(() if row.index is None else (row.index,)))
        start, end, label, *index = self.spans(places, _SPANS[: len(places)])
        spans = Spans(start, end, label, index[0] if index else None)
        levels = tuple(
            Level(level.bucket_ns, level.longest_ns, Boxes(*self.spans(level.boxes, _BOXES))) for level in row.levels
        )
        return Row(spans, row.longest_ns, levels)
