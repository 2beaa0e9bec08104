"""The report as JSON: proto3 mapping, snake_case names, fields without presence always written."""

from __future__ import annotations

import inspect
import json
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

_ALWAYS_PRINT = next(
    keyword
    for keyword in ("always_print_fields_with_no_presence", "including_default_value_fields")
    if keyword in inspect.signature(json_format.MessageToDict).parameters
)
"""protobuf 5.26 renamed the option; the meaning for our fields is the same."""


def as_dict(message: Message) -> dict[str, Any]:
    options: dict[str, Any] = {_ALWAYS_PRINT: True}
    return json_format.MessageToDict(message, preserving_proto_field_name=True, **options)


def as_json(message: Message, indent: int | None = None) -> str:
    """NaN and infinity cannot occur in a report; should one, this raises ValueError rather than write broken JSON."""
    return json.dumps(as_dict(message), indent=indent, allow_nan=False, ensure_ascii=False)
