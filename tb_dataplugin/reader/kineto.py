"""One trace file to one `Trace`: the meaning of its columns, and its metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tb_dataplugin.diagnostics import CUT, DiagnosticsCollector
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.limits import MOST_SETTINGS
from tb_dataplugin.model.trace import DeviceInfo, ProcessGroup, Trace, TraceInfo
from tb_dataplugin.reader import discovery, source
from tb_dataplugin.reader.annotations import find_meanings
from tb_dataplugin.reader.bounds import bound_depth, bound_events
from tb_dataplugin.reader.carried import PRUNED_KEY, with_carried
from tb_dataplugin.reader.categories import integer, text
from tb_dataplugin.reader.chrome import WAIT_OR_RECAPTURE, ChromeReader
from tb_dataplugin.reader.columns import ColumnBuilder
from tb_dataplugin.reader.epochs import read_between
from tb_dataplugin.reader.opening import Roots
from tb_dataplugin.reader.pipeline_info import read_pipeline_info
from tb_dataplugin.reader.takers import with_takers
from tb_dataplugin.shown import encodable

MOST_RANKS: Final = 2**31 - 1
DAMAGE: Final = ("damaged_gzip", "truncated_gzip", "truncated", "bad_event")


@dataclass(frozen=True, slots=True)
class TraceParts:
    """A trace, and what a file of it needs besides.

    `origin_ns`: the file's own time of what is 0 in the columns. `member`: the value beside the events under a key.
    """

    trace: Trace
    origin_ns: int
    member: Callable[[str], Any]


def read_trace(path: Path, name: str | None = None, roots: Roots = ()) -> Trace:
    """Read and name the trace in `path`, which must lie in one of `roots`. `name` is what the report calls it.

    Raises UnreadableTrace.
    """
    trace = read_parts(path, name, roots).trace
    pipeline, between = trace.info.pipeline, read_between(path, roots)
    if pipeline is None or between is None:
        return trace
    return replace(trace, info=replace(trace.info, pipeline=replace(pipeline, between=between)))


def read_parts(path: Path, name: str | None = None, roots: Roots = ()) -> TraceParts:
    """The same, with what is needed to write the trace again. Raises UnreadableTrace."""
    diagnostics = DiagnosticsCollector()
    return _read(source.blocks(path, diagnostics, roots), path, name, diagnostics)


def trace_from_json(json: bytes, path: Path, name: str | None = None) -> Trace:
    """The trace in `json`; `path` is where it came from. Raises UnreadableTrace."""
    return parts_from_json(json, path, name).trace


def parts_from_json(json: bytes, path: Path, name: str | None = None) -> TraceParts:
    """The same, with what is needed to write the trace again. Raises UnreadableTrace."""
    return _read(iter((json,)), path, name, DiagnosticsCollector())


def _read(blocks: Iterator[bytes], path: Path, name: str | None, diagnostics: DiagnosticsCollector) -> TraceParts:
    reader, builder = ChromeReader(blocks, path, diagnostics), ColumnBuilder(diagnostics)
    for window in reader.windows():
        builder.add(window)
    if diagnostics.has(*CUT) and builder.ends_in_devices():
        diagnostics.add("cut_in_devices", "The file ends within its device activity")
    columns = builder.columns()
    if columns.extent is None and diagnostics.has(*DAMAGE):
        raise UnreadableTrace(path, "it is damaged or truncated before its first timed event", WAIT_OR_RECAPTURE)
    names = columns.names
    events, tracks = bound_events(columns.events, columns.tracks, diagnostics)
    meanings = find_meanings(events, names)
    stage_spans = bound_depth(events, meanings.stage_spans, diagnostics)
    info = TraceInfo(
        file=encodable(str(path)),
        name=encodable(discovery.strip_suffix(path.name) if name is None else name),
        devices=_devices(reader.member("deviceProperties")),
        pipeline=read_pipeline_info(reader.member("dataPipeline"), columns.origin_ns, diagnostics),
        single_process_loader=meanings.single_process,
        mixed_loop=meanings.mixed_loop,
        has_frames=columns.has_frames,
        origin_ns=columns.origin_ns,
        origin_unix_ns=integer(reader.member("baseTimeNanoseconds"), 0) + columns.origin_ns,
        **_whereabouts(reader),
    )
    if columns.extent is None:
        diagnostics.add(
            "no_events", "The trace has no timed events: the profiler recorded nothing; was a step run in it?"
        )
    trace = Trace(
        info=info,
        events=events,
        extent=columns.extent,
        names=names,
        tracks=tracks,
        steps=meanings.steps,
        stage_spans=stage_spans,
        span_facts=columns.facts(stage_spans.row),
        training_track=meanings.training_track,
        copies=columns.copies,
        collectives=columns.collectives,
        counters=columns.counters,
        diagnostics=with_carried(reader.member(PRUNED_KEY), diagnostics.result()),
    )
    return TraceParts(with_takers(trace), columns.origin_ns, reader.member)


def _devices(properties: object) -> tuple[DeviceInfo, ...]:
    """Names of devices. The list may lack devices that ran kernels (ROCm), so it is never indexed by device id."""
    if not isinstance(properties, list):
        return ()
    entries = [entry for entry in properties if isinstance(entry, dict)]
    return tuple(DeviceInfo(integer(entry.get("id"), -1), text(entry.get("name"))) for entry in entries)


def _whereabouts(reader: ChromeReader) -> dict[str, Any]:
    """Rank, world size and host, where the trace names them."""
    rank_info = reader.member("distributedInfo")
    rank_info = rank_info if isinstance(rank_info, dict) else {}
    rank, world = integer(rank_info.get("rank"), -1), integer(rank_info.get("world_size"), -1)
    return {
        "rank": rank if 0 <= rank < MOST_RANKS else None,
        "world_size": world if 0 < world <= MOST_RANKS else None,
        "host": text(reader.member("host_name")),
        "groups": _groups(rank_info.get("pg_config")),
    }


def _groups(config: object) -> tuple[ProcessGroup, ...]:
    entries = [entry for entry in config if isinstance(entry, dict)] if isinstance(config, list) else []
    return tuple(_group(entry) for entry in entries[:MOST_SETTINGS])


def _group(entry: dict[str, Any]) -> ProcessGroup:
    ranks = entry.get("ranks")
    known = [integer(rank, -1) for rank in ranks] if isinstance(ranks, list) else []
    return ProcessGroup(text(entry.get("pg_name")), tuple(rank for rank in known if 0 <= rank < MOST_RANKS))
