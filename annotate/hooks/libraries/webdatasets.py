"""webdataset: the functions of ``.map``, ``.map_tuple``, ``.map_dict``, ``.select``, ``.batched``; fields decoded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import Any, Final

from annotate.hooks.libraries.library import Held, Library, Timed, timed
from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import Method
from annotate.recording import switch
from annotate.trace_format import StageKind

_KINDS: Final[Mapping[str, StageKind]] = {
    "_map": "transform",
    "_map_tuple": "transform",
    "_map_dict": "transform",
    "_select": "transform",
    "_associate": "transform",
    "_batched": "collate",
}
"""Function of ``webdataset.filters`` -> what the functions that it is given are."""
_HANDLER: Final = "handler"
"""Its keyword that is no stage: it is called for errors."""


def _show_positional(patches: Patches, stage: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    kind = _KINDS.get(getattr(stage.f, "__name__", ""))
    return values if kind is None else tuple(timed(patches, value, kind) for value in values)


def _show_by_name(patches: Patches, stage: Any, values: dict[str, Any]) -> dict[str, Any]:
    kind = _KINDS.get(getattr(stage.f, "__name__", ""))
    if kind is None:
        return values
    return {name: value if name == _HANDLER else timed(patches, value, kind) for name, value in values.items()}


def _timed_decode(patches: Patches, decode: Method) -> Method:
    @wraps(decode)
    def decode1(self: Any, key: str, data: Any) -> Any:
        if not switch.RECORDING:
            return decode(self, key, data)
        return switch.call(switch.hand_out("decode", f"webdataset.{key}"), decode, (self, key, data), {})

    return decode1


LIBRARY: Final = Library(
    "webdataset.filters",
    held=(
        Held("webdataset.filters", "FilterFunction", "args", _show_positional, from_the_start=True),
        Held("webdataset.filters", "FilterFunction", "kw", _show_by_name, from_the_start=True),
    ),
    timed=(Timed("webdataset.autodecode", "Decoder", "decode1", _timed_decode),),
)
