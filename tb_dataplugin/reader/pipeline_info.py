"""The `dataPipeline` value of a trace, checked."""

from __future__ import annotations

import msgspec

from annotate.trace_format import FORMAT_VERSION, METADATA_KEY, Mode
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.model.trace import HostInfo, LoaderInfo, PipelineInfo


class _Overhead(msgspec.Struct):
    marker_us: float | None = None
    marker_count: int | None = None


class _Metadata(msgspec.Struct):
    mode: Mode
    version: int = FORMAT_VERSION
    loaders: tuple[LoaderInfo, ...] = ()
    host: HostInfo = HostInfo()
    versions: dict[str, str] = {}
    overhead: _Overhead = msgspec.field(default_factory=_Overhead)
    dropped_spans: int | None = None
    notes: tuple[str, ...] = ()


def read_pipeline_info(value: object, found: DiagnosticsCollector) -> PipelineInfo | None:
    """None when the trace was not written by annotate, or says nothing that can be understood."""
    if value is None:
        return None
    try:
        told = msgspec.convert(value, _Metadata)
    except msgspec.ValidationError as error:
        found.add("bad_metadata", f"`{METADATA_KEY}` cannot be understood ({error}); the trace is read without it")
        return None
    if told.version > FORMAT_VERSION:
        message = f"The capture has format version {told.version}, this is {FORMAT_VERSION}: upgrade tb-dataplugin"
        found.add("newer_format", message)
    return PipelineInfo(
        mode=told.mode,
        loaders=told.loaders,
        host=told.host,
        versions=tuple(sorted(told.versions.items())),
        marker_us=told.overhead.marker_us,
        marker_count=told.overhead.marker_count,
        dropped_spans=told.dropped_spans,
        notes=told.notes,
    )
