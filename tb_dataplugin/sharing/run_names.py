"""The file of a whole run for copies of its traces: without names (what is read of its lines, numbers as they are, and
every text by its key), or as it is but for the names of the traces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from annotate.trace_format import TRACE_SUFFIX
from tb_dataplugin.sharing.hashing import Hasher
from tb_dataplugin.watchfile.lines import CaptureLine, Line, decode

REASON: Final = "the reason is left out of this copy"

_MACHINE: Final = frozenset(
    (
        "cpu_percent", "rss_bytes", "workers_rss_bytes", "workers", "pss_bytes", "shm_bytes", "rchar_per_s",
        "read_bytes_per_s", "gc_share", "gil_share", "device_percent", "device_memory_bytes",
    )
)  # fmt: skip
_CHANGES: Final = ("stall", "slow", "usual")
_WHAT: Final = ("data wait", "step time", "first batch")


def anonymous_run(lines: Iterable[Line], hasher: Hasher) -> Iterator[bytes]:
    """A line of JSON for each."""
    for line in lines:
        yield json.dumps(_renamed(msgspec.to_builtins(line), hasher), separators=(",", ":")).encode() + b"\n"


def with_traces(texts: Iterable[bytes], named: Callable[[str], str]) -> Iterator[bytes]:
    """The lines as they stand. `named`: what the copy of a trace is called, by the trace's file."""
    for text in texts:
        yield _with_trace(text, named) + b"\n"


def _with_trace(text: bytes, named: Callable[[str], str]) -> bytes:
    try:
        line = decode(text)
    except (msgspec.MsgspecError, RecursionError):  # the copy has as many of these
        return text
    if not isinstance(line, CaptureLine) or not line.capture:
        return text
    return json.dumps({**json.loads(text), "capture": named(line.capture)}, separators=(",", ":")).encode()


def _renamed(value: Any, hasher: Hasher, key: str = "") -> Any:
    """A text whose key is not known here is hashed, and so is a key that is no field."""
    if key in _SPECIAL:
        return _SPECIAL[key](hasher, value)
    if isinstance(value, dict):
        return {name: _renamed(one, hasher, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, hasher) for one in value]
    return hasher.of(value) if isinstance(value, str) else value


def _by_stage(hasher: Hasher, stages: dict[str, Any]) -> dict[str, Any]:
    return {hasher.name(stage): amount for stage, amount in stages.items()}


def _one_of(known: Iterable[str]) -> Callable[[Hasher, str], str]:
    return lambda hasher, text: text if text in known else hasher.of(text)


_SPECIAL: Final[dict[str, Callable[[Hasher, Any], Any]]] = {
    "kind": lambda _, tag: tag,
    "dataset": Hasher.label,
    "files": lambda hasher, paths: list(map(hasher.path, paths)),
    "stage_us": _by_stage,
    "failures": _by_stage,
    "retries": _by_stage,
    "other_failures": _by_stage,
    "machine": lambda _, facts: {name: value for name, value in facts.items() if name in _MACHINE},
    "change": _one_of(_CHANGES),
    "what": _one_of(_WHAT),
    # As the trace's copy is called, without its folder.
    "capture": lambda hasher, file: hasher.of(file) + TRACE_SUFFIX if file else "",
    "missed": lambda _, reason: REASON if reason else "",
}
