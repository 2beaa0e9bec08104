"""Composition root: a path goes in, a report comes out. No logic of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tb_dataplugin.analyses.attribution import attribute
from tb_dataplugin.analyses.device_idle import find_device_idle
from tb_dataplugin.analyses.loader_wait import find_loader_wait
from tb_dataplugin.analyses.samples import find_slow_samples
from tb_dataplugin.analyses.stages import build_stage_tree, tabulate_stages
from tb_dataplugin.analyses.steps import find_steps, find_window
from tb_dataplugin.analyses.throughput import find_throughput
from tb_dataplugin.analyses.workers import find_workers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.findings import find, judge, read_signals
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.options import DEFAULT_OPTIONS, AnalysisOptions
from tb_dataplugin.reader import read_trace
from tb_dataplugin.report.build import Results, build_capture
from tb_dataplugin.report.pairing import with_replay
from tb_dataplugin.report.report_pb2 import Capture, Report
from tb_dataplugin.report.timeline import TimelineSource, build_timeline_source

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class AnalysedCapture:
    """A capture's report, and the columns that its timeline is drawn from."""

    capture: Capture
    timeline: TimelineSource


def analyse_file(path: Path, name: str | None = None, options: AnalysisOptions = DEFAULT_OPTIONS) -> AnalysedCapture:
    """Read and analyse the trace in `path`; `name` is what the report calls it. Raises UnreadableTrace."""
    return analyse(read_trace(path, name), options)


def analyse(trace: Trace, options: AnalysisOptions = DEFAULT_OPTIONS) -> AnalysedCapture:
    window = find_window(trace)
    if isinstance(window, Unavailable):
        raise UnreadableTrace(trace.info.file, "it has no timed events", "capture again, with steps while it records")
    steps, devices, tree = find_steps(trace), find_device_idle(trace, window), build_stage_tree(trace)
    loader = find_loader_wait(trace, window, devices)
    workers = find_workers(trace, window, loader)
    attribution = attribute(trace, tree, loader, devices, workers)
    stages = tabulate_stages(tree, trace.span_facts, window, attribution.waits_by_track)
    signals = read_signals(trace, window, steps, devices, loader, attribution, stages)
    results = Results(
        window=window,
        steps=steps,
        devices=devices,
        loader=loader,
        attribution=attribution,
        stages=stages,
        workers=workers,
        slow_samples=find_slow_samples(trace, tree, window),
        throughput=find_throughput(trace, tree, window, loader, devices, attribution, workers),
        verdict=judge(signals),
        findings=find(signals),
        clipped_spans=tree.clipped,
    )
    timeline = build_timeline_source(trace, window, tree, devices, loader, workers)
    return AnalysedCapture(build_capture(trace, results, options), timeline)


def as_report(captures: Sequence[Capture], beside: Sequence[Capture] = ()) -> Report:
    """The report on `captures`; replays among them, or `beside` them, stand beside the runs that they replay."""
    known = (*captures, *beside)
    return Report(schema_version=SCHEMA_VERSION, captures=[with_replay(capture, known) for capture in captures])
