"""JSON text of events to rows, typed: fields that no analysis uses (call stacks, shapes) are skipped.

Every field is typed as loosely as files in the wild are written; times stay text, so that they can be read exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from tb_dataplugin.reader.mending import mended, mended_further

NO_NUMBER = msgspec.Raw(b"")


class RawArgs(msgspec.Struct, gc=False, rename={"group": "Process Group Name", "seq": "Seq"}):
    """The `args` that the reader understands; all of them may have any JSON type."""

    device: Any = None
    correlation: Any = None
    name: Any = None
    cpu_us: Any = None
    bytes: Any = None
    index: Any = None
    batch: Any = None
    epoch: Any = None
    files: Any = None
    group: Any = None
    seq: Any = None


_KEY_OF = dict(zip(RawArgs.__struct_fields__, RawArgs.__struct_encode_fields__, strict=True))
"""Fields of `RawArgs`, and what traces call them."""


class RawEvent(msgspec.Struct, gc=False):
    """One element of `traceEvents`. `ts` and `dur` hold the number's text."""

    ph: str | None = None
    cat: str | int | float | None = None
    name: str | int | float | None = None
    pid: str | int | float | None = None
    tid: str | int | float | None = None
    ts: msgspec.Raw = NO_NUMBER
    dur: msgspec.Raw = NO_NUMBER
    id: str | int | float | None = None
    args: RawArgs | None = None


class RawCounter(msgspec.Struct, gc=False):
    """An element of `traceEvents` with all its `args`, as counters need them."""

    ph: str | None = None
    name: str | int | float | None = None
    ts: msgspec.Raw = NO_NUMBER
    args: dict[str, Any] | None = None


BAD_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_decoder = msgspec.json.Decoder(list[RawEvent])
_counters_decoder = msgspec.json.Decoder(list[RawCounter])
_counter_decoder = msgspec.json.Decoder(RawCounter)
_raw_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_any_decoder = msgspec.json.Decoder(float_hook=str)

_PLACE = re.compile(r"\(byte (\d+)\)")


@dataclass(frozen=True, slots=True)
class Window:
    """Some whole elements of `traceEvents` in file order, and their text as a JSON list.

    `was_mended`: the text differs from the file's. `left_out`: how many elements are not objects.
    """

    events: list[RawEvent]
    text: bytes
    was_mended: bool = False
    left_out: int = 0

    def counters(self) -> list[RawCounter]:
        """The same elements with all their `args`."""
        try:
            return _counters_decoder.decode(self.text)
        except BAD_JSON:
            counters = map(_counter, _raw_decoder.decode(self.text))
        return [counter for counter in counters if counter is not None]


class Unsound(Exception):
    """The text is not a JSON list. Lengths count from just after its opening bracket.

    `sound`: this many bytes may be valid. `whole`: this many may be whole elements, so that only what follows is wrong.
    `truncated`: there may be more to come, or it is nested too deeply (`deep`) to tell.
    """

    def __init__(self, text: bytes, error: Exception) -> None:
        message = str(error)
        place = _PLACE.search(message)
        self.deep = isinstance(error, RecursionError)
        self.truncated = "truncated" in message or self.deep
        elements = text[1 : int(place[1])] if place else b""
        if "trailing characters" in message:  # after the closing bracket; msgspec's place is one too high
            elements = elements[:-1].rstrip().removesuffix(b"]")
        self.sound = len(elements)
        self.whole = elements.rfind(b"}") + 1
        super().__init__(message)


def decode(text: bytes, loosely: bool = True) -> Window:
    """The elements of the JSON list `text`, also where a field has an odd type if `loosely`. Raises Unsound."""
    try:
        return Window(_decoder.decode(text), text)
    except msgspec.ValidationError as error:
        if not loosely:
            raise Unsound(text, error) from None
        return _decode_loosely(text)
    except BAD_JSON as error:
        raise Unsound(text, error) from None


def _decode_loosely(text: bytes) -> Window:
    """Where an element has an odd type, all of them as they are."""
    try:
        values = _any_decoder.decode(text)
    except BAD_JSON as error:
        raise Unsound(text, error) from None
    events = [_loose_event(value) for value in values if isinstance(value, dict)]
    return Window(events, text, left_out=len(values) - len(events))


def decode_mended(text: bytes, further: bool = False) -> Window:
    """The elements of the JSON list `text`, mended; `further`: by guesses too. Raises Unsound."""
    better = mended(text)
    try:
        return replace(decode(better), was_mended=True)
    except Unsound:
        if not further or (guessed := mended_further(better)) == better:
            raise
    return replace(decode(guessed), was_mended=True)


def decode_somehow(text: bytes, further: bool = True) -> Window:
    """The elements of the JSON list `text`, mended only where needed. Raises Unsound."""
    try:
        return decode(text)
    except Unsound:
        return decode_mended(text, further)


def decode_value(text: bytes) -> Any:
    """Any JSON value, mended where needed; None when it cannot be read."""
    for mend in (lambda text: text, mended, mended_further):
        text = mend(text)
        try:
            return msgspec.json.decode(text)
        except BAD_JSON:
            continue
    return None


def _loose_event(event: dict[str, Any]) -> RawEvent:
    args = event.get("args")
    known = {field: args.get(key) for field, key in _KEY_OF.items()} if isinstance(args, dict) else {}

    def scalar(key: str) -> str | int | float | None:
        value = event.get(key)
        return value if isinstance(value, (str, int, float)) or value is None else str(value)

    return RawEvent(
        ph=str(event.get("ph", "")),
        cat=scalar("cat"),
        name=scalar("name"),
        pid=scalar("pid"),
        tid=scalar("tid"),
        ts=_number(event.get("ts")),
        dur=_number(event.get("dur")),
        id=scalar("id"),
        args=RawArgs(**known),
    )


def _counter(text: msgspec.Raw) -> RawCounter | None:
    """None: a field has an odd type."""
    try:
        return _counter_decoder.decode(text)
    except BAD_JSON:
        return None


def _number(value: Any) -> msgspec.Raw:
    return msgspec.Raw(str(value).encode("utf-8", "replace"))
