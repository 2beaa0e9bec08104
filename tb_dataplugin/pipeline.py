"""Composition root: a path goes in, a report comes out. No logic here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.run import run_analyses
from tb_dataplugin.analyses.steps import StepSelection, find_window, select_steps
from tb_dataplugin.cache import Store, cache_key, fingerprint
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import (
    DataPipelineError,
    InternalError,
    NoSuchSteps,
    NothingToReport,
    Refused,
    UnreadableTrace,
)
from tb_dataplugin.findings import advised_settings, judge
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.options import DEFAULT_OPTIONS, AnalysisOptions
from tb_dataplugin.ranks import RankTable, tabulate_rank
from tb_dataplugin.reader import read_trace
from tb_dataplugin.reader.discovery import TraceFile, strip_suffix
from tb_dataplugin.reader.opening import Roots
from tb_dataplugin.report.build import build_capture
from tb_dataplugin.report.pairing import with_replay
from tb_dataplugin.report.replay_command import add_replay_command
from tb_dataplugin.report.report_pb2 import Capture, Report
from tb_dataplugin.shown import encodable, shown
from tb_dataplugin.timeline.lanes import TimelineSource, build_timeline_source
from tb_dataplugin.whatif import fit_loop
from tb_dataplugin.whatif.loop import Loop

SCHEMA_VERSION = 2


@dataclass(frozen=True, slots=True)
class AnalysedCapture:
    """A capture's report, the columns that its timeline is drawn from, and what is joined with other ranks."""

    capture: Capture
    timeline: TimelineSource
    rank: RankTable | Unavailable | None


@dataclass(frozen=True, slots=True)
class KeptCapture:
    """A capture's report, and the store that has it and its timeline under `key`; None where none could keep it.

    `changed`: the file is not what it was when reading began, so that this is a report of neither state. `path` is the
    file, which the report may only name with escapes. `trace`: that file as it was found. `rank`: what is joined with
    other ranks, where the trace was read just now, or that was asked for.
    """

    capture: Capture
    store: Store | None = None
    key: str = ""
    changed: bool = False
    path: Path = Path()
    roots: Roots = ()
    options: AnalysisOptions = DEFAULT_OPTIONS
    trace: TraceFile | None = None
    rank: RankTable | Unavailable | None = None

    @property
    def modified_ns(self) -> int:
        """When the file was changed, 0 where it was not looked at."""
        return self.trace.modified_ns if self.trace is not None else 0


def open_found(
    trace: TraceFile, options: AnalysisOptions = DEFAULT_OPTIONS, stores: Sequence[Store] = ()
) -> KeptCapture:
    """As `open_capture`. Raises UnreadableTrace, Refused, NoSuchSteps, or InternalError for an unforeseen exception."""
    if trace.refused:
        raise Refused(trace.refused)
    try:
        with _named_as_asked(trace):
            kept = open_capture(trace.path, trace.id, options, stores, trace.roots)
    except (DataPipelineError, MemoryError):
        raise
    except Exception as error:
        raise InternalError(f"analyse {trace.path}", error) from error
    if trace.url:
        kept.capture.file = encodable(trace.url)
    return replace(kept, trace=trace)


@contextmanager
def _named_as_asked(trace: TraceFile) -> Iterator[None]:
    """An error names the URL, not the file that it was fetched to."""
    try:
        yield
    except DataPipelineError as error:
        if trace.url:
            error.args = (str(error).replace(shown(str(trace.path)), shown(trace.url)),)
        raise


def open_capture(
    path: Path,
    name: str | None = None,
    options: AnalysisOptions = DEFAULT_OPTIONS,
    stores: Sequence[Store] = (),
    roots: Roots = (),
) -> KeptCapture:
    """The capture in `path`: from the first of `stores` that has it, else analysed and kept in the first that can.

    Raises UnreadableTrace, also for a file that does not lie in one of `roots`, and NoSuchSteps.
    """
    before = fingerprint(path, roots) if stores else None
    if before is None:
        analysed = analyse_file(path, name, options, roots)
        return KeptCapture(analysed.capture, path=path, roots=roots, options=options, rank=analysed.rank)
    key = cache_key(before, options)
    for store in stores:
        stored = store.capture(key)
        if stored is not None:
            stored.name = encodable(strip_suffix(path.name) if name is None else name)
            stored.file = encodable(str(path))
            return KeptCapture(stored, store, key, path=path, roots=roots, options=options)
    analysed = analyse_file(path, name, options, roots)
    if fingerprint(path, roots) != before:
        return KeptCapture(analysed.capture, changed=True, path=path, roots=roots, options=options)
    kept = next((store for store in stores if store.save(key, analysed.capture, analysed.timeline)), None)
    return KeptCapture(analysed.capture, kept, key, path=path, roots=roots, options=options, rank=analysed.rank)


def timeline_of(kept: KeptCapture) -> TimelineSource:
    """From the cache; where it has none the trace is read once more. Raises UnreadableTrace."""
    stored = kept.store.timeline(kept.key) if kept.store else None
    return stored or analyse_file(kept.path, kept.capture.name, kept.options, kept.roots).timeline


def analyse_file(
    path: Path, name: str | None = None, options: AnalysisOptions = DEFAULT_OPTIONS, roots: Roots = ()
) -> AnalysedCapture:
    """Read and analyse the trace in `path`; `name` is what the report calls it. Raises UnreadableTrace."""
    return analyse(read_trace(path, name, roots), options)


def analyse(trace: Trace, options: AnalysisOptions = DEFAULT_OPTIONS) -> AnalysedCapture:
    """Raises UnreadableTrace for a trace without a window, NoSuchSteps for one without the steps of `options`."""
    results = _results(trace, options)
    rank = None if options.steps else _rank_of(results)
    return AnalysedCapture(build_capture(results, judge(results)), build_timeline_source(results), rank)


def _rank_of(results: Results) -> RankTable | Unavailable | None:
    """None for a trace of no rank. A fault costs the report nothing: `read_rank` says it where the ranks are joined."""
    if results.trace.info.rank is None:
        return None
    with suppress(Exception):
        return tabulate_rank(results)
    return None


def _results(trace: Trace, options: AnalysisOptions) -> Results:
    window, selection = _window_of(trace, options)
    return run_analyses(trace, window, options, selection)


def _window_of(trace: Trace, options: AnalysisOptions) -> tuple[Window, StepSelection | None]:
    window = find_window(trace)
    if isinstance(window, Unavailable):
        raise UnreadableTrace(trace.info.file, "it has no timed events", "capture again, with steps while it records")
    if options.steps is None:
        return window, None
    found = select_steps(trace, options.steps)
    if isinstance(found, Unavailable):
        raise NoSuchSteps(trace.info.file, str(options.steps), found.message)
    selection, window = found
    return window, selection


def read_loop(path: Path, name: str | None = None, roots: Roots = ()) -> tuple[Loop, tuple[str, ...]]:
    """The training loop of the capture in `path`, for `whatif`, and what makes the capture doubtful, in sentences.

    Raises UnreadableTrace, and NothingToReport for a capture that nothing can be predicted from.
    """
    results = _results(read_trace(path, name, roots), DEFAULT_OPTIONS)
    loop = fit_loop(results)
    if isinstance(loop, Unavailable):
        raise NothingToReport(f"{path}: {loop.message}")
    advised = advised_settings(judge(results).findings, loop.settings)
    loop = replace(loop, advised=advised, doubts=results.doubts)
    return loop, tuple(doubt.sentence for doubt in results.doubts)


def loop_of(trace: TraceFile) -> tuple[Loop, tuple[str, ...]]:
    """As `read_loop`."""
    with _named_as_asked(trace):
        return read_loop(trace.path, trace.id, trace.roots)


def read_rank(path: Path, name: str | None = None, roots: Roots = ()) -> RankTable | Unavailable:
    """What is joined with other ranks, of the capture in `path`. Raises UnreadableTrace."""
    return tabulate_rank(_results(read_trace(path, name, roots), DEFAULT_OPTIONS))


def as_report(captures: Sequence[Capture], beside: Sequence[Capture] = ()) -> Report:
    """The report on `captures`; replays among them, or `beside` them, stand beside the runs that they replay."""
    known = (*captures, *beside)
    for capture in captures:
        add_replay_command(capture)
    return Report(schema_version=SCHEMA_VERSION, captures=[with_replay(capture, known) for capture in captures])
