"""The same trace without the names of its program, machine and data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from annotate.trace_format import METADATA_KEY, TRACE_SUFFIX
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.trace import Trace, Track
from tb_dataplugin.reader.kineto import TraceParts
from tb_dataplugin.sharing import vocabulary
from tb_dataplugin.sharing.hashing import Hasher
from tb_dataplugin.sharing.record_names import RecordNames
from tb_dataplugin.sharing.writing import trace_text

KEPT: Final = (
    "kept: all times and numbers, kinds of stages, PyTorch's operators, CUDA's calls, process and thread numbers, "
    "names of known libraries and devices"
)
_REPLAY: Final = "-replay"


def anonymise(parts: TraceParts, hasher: Hasher) -> Iterator[bytes]:
    """The text of the trace without names, in blocks."""
    trace = parts.trace
    members = {
        "schemaVersion": 1,
        "deviceProperties": [_device(entry, hasher) for entry in _dicts(parts.member("deviceProperties"))],
        "distributedInfo": _numbers(parts.member("distributedInfo"), ("rank", "world_size")),
        "host_name": hasher.of(trace.info.host),
        METADATA_KEY: RecordNames(hasher).record(parts.member(METADATA_KEY)),
    }
    rows = np.flatnonzero(trace.events.category != Category.OTHER)
    present = {key: value for key, value in members.items() if value}
    return trace_text(_renamed(trace, hasher), parts.origin_ns, rows, present)


def anonymous_file(run: str, name: str, hasher: Hasher, suffix: str = TRACE_SUFFIX) -> str:
    """The path of the trace `name` of `run`, below where anonymous traces go."""
    folders = [_folder(part, hasher) for part in run.split("/") if part != "."]
    return "/".join((*folders, hasher.of(name) + suffix))


def _folder(name: str, hasher: Hasher) -> str:
    return hasher.of(name.removesuffix(_REPLAY)) + (_REPLAY if name.endswith(_REPLAY) else "")


def _renamed(trace: Trace, hasher: Hasher) -> Trace:
    files = {at: tuple(map(hasher.path, paths)) for at, paths in trace.span_facts.files.items()}
    counters = (
        replace(series, series=hasher.unless(vocabulary.PUBLIC_SERIES, series.series)) for series in trace.counters
    )
    return replace(
        trace,
        names=tuple(map(hasher.name, trace.names)),
        tracks=tuple(_track(track, hasher) for track in trace.tracks),
        span_facts=replace(trace.span_facts, files=files),
        counters=tuple(counters),
        diagnostics=(),
    )


def _track(track: Track, hasher: Hasher) -> Track:
    pid, tid = (text if text.lstrip("-").isdecimal() else _thread(text, hasher) for text in (track.pid, track.tid))
    return Track(pid, tid, _thread(track.process_name, hasher), _thread(track.thread_name, hasher))


def _thread(name: str, hasher: Hasher) -> str:
    return hasher.unless(vocabulary.PUBLIC_THREADS, name)


def _device(entry: Mapping[str, Any], hasher: Hasher) -> dict[str, Any]:
    return _numbers(entry, ("id",)) | {"name": hasher.device(str(entry.get("name") or ""))}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _numbers(value: object, keys: tuple[str, ...]) -> dict[str, Any]:
    known = value if isinstance(value, dict) else {}
    return {key: known[key] for key in keys if isinstance(known.get(key), int)}
