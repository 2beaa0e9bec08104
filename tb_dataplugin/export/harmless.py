"""A message whose texts are escaped for a terminal, before anything is laid out: escapes have a width."""

from __future__ import annotations

from typing import Final, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tb_dataplugin.shown import shown

SEVERAL_LINES: Final = frozenset({"code"})
"""Fields that are meant to have several lines."""

_M = TypeVar("_M", bound=Message)


def harmless(message: _M) -> _M:
    """A copy with every text as it is `shown`. Keys of maps stay: they are not printed."""
    copy = type(message)()
    copy.CopyFrom(message)
    _escape(copy)
    return copy


def _escape(message: Message) -> None:
    for field, value in message.ListFields():
        if field.message_type is not None:
            if not field.message_type.GetOptions().map_entry:
                for one in [value] if isinstance(value, Message) else value:
                    _escape(one)
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING and field.type == FieldDescriptor.TYPE_STRING:
            keep = "\n" if field.name in SEVERAL_LINES else ""
            if isinstance(value, str):
                setattr(message, field.name, shown(value, keep))
            else:
                value[:] = [shown(one, keep) for one in value]
