"""The `dataPipeline` record without names: the keys of its type only, numbers as they are, every text by its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from annotate import trace_format
from tb_dataplugin.sharing.hashing import Hasher

LEFT_OUT: Final = frozenset(("notes", "unseen", "why_not", "why_no_lock"))
"""Sentences, which may name anything."""

_START_METHODS: Final = ("fork", "spawn", "forkserver")
_LIBRARY: Final = re.compile(r"python|torch|torchvision|torchaudio|numpy|PIL|pillow|cv2|cuda|tensorboard|annotate")
_VERSION: Final = re.compile(r"\d+(\.\d+){0,3}")


class RecordNames:
    """`functions`: names of functions of public libraries, which are kept."""

    def __init__(self, hasher: Hasher) -> None:
        self._hasher = hasher
        self._public: frozenset[str] = frozenset()

    def record(self, value: object) -> Any:
        if not isinstance(value, dict):
            return None
        lines = value.get("lines")
        self._public = _public_functions(lines, self._hasher) if isinstance(lines, dict) else frozenset()
        known = self._mapping(trace_format.PipelineMetadata, value)
        if isinstance(lines, dict) and isinstance(known.get("lines"), dict):
            known["lines"]["names"] = self._line_names(lines)
        return known

    def _mapping(self, record: type, values: Mapping[str, Any]) -> dict[str, Any]:
        """With the keys of `record`, one of the types of `trace_format`."""
        kinds = _kinds(record)
        known = {key: value for key, value in values.items() if key in kinds and key not in LEFT_OUT}
        return {key: self._value(kinds[key], key, value) for key, value in known.items()}

    def _value(self, kind: Any, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            if key in _SPECIAL:
                return _SPECIAL[key](self._hasher, value)
            record = next((one for one in (kind, *get_args(kind)) if hasattr(one, "__total__")), None)
            return {} if record is None else self._mapping(record, value)
        if isinstance(value, list):
            return [self._value(kind, key, one) for one in value]
        return self._text(kind, key, value) if isinstance(value, str) else value

    def _text(self, kind: Any, key: str, text: str) -> str:
        closed = _START_METHODS if key == "start_method" else get_args(kind) if get_origin(kind) is Literal else ()
        if closed:
            return text if text in closed else ""
        if key in ("file", "files", "libraries", "recorder"):
            return self._hasher.path(text)
        if key == "function":
            return self._function(text)
        return self._hasher.label(text) if key in ("name", "dataset", "sampler") else self._hasher.of(text)

    def _function(self, name: str) -> str:
        return name if name in self._public else self._hasher.function(name)

    def _line_names(self, lines: Mapping[str, Any]) -> list[str]:
        """By what they are used for. One that is used for several things is hashed as a text."""
        names, frames = lines.get("names"), lines.get("frames")
        if not isinstance(names, list) or not isinstance(frames, dict):
            return []
        uses = {key: _numbers(frames.get(key)) for key in ("function", "file", "source")}

        def renamed(number: int, name: object) -> str:
            used = [key for key, numbers in uses.items() if number in numbers]
            if not isinstance(name, str) or len(used) != 1:
                return self._hasher.of(str(name))
            if used == ["file"]:
                return self._hasher.path(name)
            return self._function(name) if used == ["function"] else self._hasher.of(name)

        return [renamed(number, name) for number, name in enumerate(names)]


@cache
def _kinds(record: type) -> dict[str, Any]:
    """By key of a record, what its value is."""
    return get_type_hints(record)


def _public_functions(lines: Mapping[str, Any], hasher: Hasher) -> frozenset[str]:
    """Functions all of whose frames are in files of public libraries."""
    names, frames = lines.get("names"), lines.get("frames")
    if not isinstance(names, list) or not isinstance(frames, dict):
        return frozenset()
    public: set[str] = set()
    private: set[str] = set()
    for function, file in zip(frames.get("function") or (), frames.get("file") or (), strict=False):
        if all(isinstance(at, int) and 0 <= at < len(names) for at in (function, file)):
            (public if hasher.is_public(str(names[file])) else private).add(str(names[function]))
    return frozenset(public - private)


def _numbers(column: object) -> frozenset[int]:
    return frozenset(one for one in column if isinstance(one, int)) if isinstance(column, list) else frozenset()


def _versions(hasher: Hasher, versions: Mapping[str, Any]) -> dict[str, str]:
    found = ((hasher.unless(_LIBRARY, name), _VERSION.match(str(version))) for name, version in versions.items())
    return {name: version[0] if version else "" for name, version in found}


def _places(hasher: Hasher, places: Mapping[str, Any]) -> dict[str, str]:
    split = ((name, *str(place).rpartition(":")) for name, place in places.items())
    return {
        hasher.name(name): f"{hasher.path(file)}:{line if line.isdecimal() else ''}" for name, file, _, line in split
    }


_SPECIAL: Final[dict[str, Callable[[Hasher, Mapping[str, Any]], dict[str, str]]]] = {
    "versions": _versions,
    "stages_at": _places,
}
