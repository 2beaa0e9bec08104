"""Chrome trace JSON to rows: syntax only, no meaning.

Typed decoding skips what no analysis uses (call stacks, shapes) without building it. Every field is typed as loosely
as files in the wild are written; times stay text, so that they can be read exactly.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from tb_dataplugin.errors import UnreadableTrace

NO_NUMBER = msgspec.Raw(b"")


class RawArgs(msgspec.Struct, gc=False):
    """The `args` that the reader understands; all of them may have any JSON type."""

    device: Any = None
    stream: Any = None
    correlation: Any = None
    name: Any = None
    cpu_us: Any = None
    bytes: Any = None
    index: Any = None
    batch: Any = None
    epoch: Any = None


class RawEvent(msgspec.Struct, gc=False):
    """One element of `traceEvents`. `ts` and `dur` hold the number's text."""

    ph: Any = ""
    cat: Any = ""
    name: Any = ""
    pid: Any = ""
    tid: Any = ""
    ts: msgspec.Raw = NO_NUMBER
    dur: msgspec.Raw = NO_NUMBER
    args: Any = None


class _TypedEvent(RawEvent, gc=False):
    args: RawArgs | None = None


class _TypedTop(msgspec.Struct):
    traceEvents: list[_TypedEvent]  # noqa: N815
    baseTimeNanoseconds: Any = None  # noqa: N815
    deviceProperties: Any = None  # noqa: N815
    distributedInfo: Any = None  # noqa: N815
    host_name: Any = None
    dataPipeline: Any = None  # noqa: N815


class ChromeTrace(msgspec.Struct):
    """A trace's rows and the top-level values that the reader understands (any JSON type, or None)."""

    events: list[RawEvent]
    base_time_ns: Any = None
    device_properties: Any = None
    distributed_info: Any = None
    host_name: Any = None
    pipeline: Any = None


_object_decoder = msgspec.json.Decoder(_TypedTop)
_list_decoder = msgspec.json.Decoder(list[_TypedEvent])


def parse(text: bytes, path: Path) -> ChromeTrace:
    """Raises UnreadableTrace when `text` is no Chrome trace; `path` is for the message only."""
    text = text.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise UnreadableTrace(path, "it is empty", "capture again; a profiler that is still running writes at its end")
    try:
        return _parse_typed(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _parse_loose(text, path)


def _parse_typed(text: bytes) -> ChromeTrace:
    if text.startswith(b"["):
        return ChromeTrace(list(_list_decoder.decode(text)))
    top = _object_decoder.decode(text)
    return ChromeTrace(
        list(top.traceEvents),
        top.baseTimeNanoseconds,
        top.deviceProperties,
        top.distributedInfo,
        top.host_name,
        top.dataPipeline,
    )


def _parse_loose(text: bytes, path: Path) -> ChromeTrace:
    """Control characters in strings, NaN, bytes that are no UTF-8, an odd element in the list: slower, but it reads."""
    try:
        top = json.loads(text.decode("utf-8", "replace"), strict=False, parse_float=str)
    except (ValueError, RecursionError) as error:
        remedy = "if a job is still writing it, wait; if the job was killed, capture again"
        raise UnreadableTrace(path, f"its JSON is damaged or cut off ({error})", remedy) from None
    if isinstance(top, list):
        top = {"traceEvents": top}
    events = top.get("traceEvents") if isinstance(top, dict) else None
    if not isinstance(events, list):
        raise UnreadableTrace(path, "it has no `traceEvents`", "name a trace written by torch.profiler or annotate")
    return ChromeTrace(
        [_loose_event(event) for event in events if isinstance(event, dict)],
        top.get("baseTimeNanoseconds"),
        top.get("deviceProperties"),
        top.get("distributedInfo"),
        top.get("host_name"),
        top.get("dataPipeline"),
    )


def _loose_event(event: dict[str, Any]) -> RawEvent:
    args = event.get("args")
    known = {key: args.get(key) for key in RawArgs.__struct_fields__} if isinstance(args, dict) else {}
    return RawEvent(
        event.get("ph", ""),
        event.get("cat", ""),
        event.get("name", ""),
        event.get("pid", ""),
        event.get("tid", ""),
        msgspec.Raw(str(event.get("ts", "")).encode()),
        msgspec.Raw(str(event.get("dur", "")).encode()),
        RawArgs(**known),
    )
