"""From the paths on the command line to captures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tb_dataplugin.cache import Store, user_store
from tb_dataplugin.errors import BadRequest, DataPipelineError, NothingToReport, OwnFault, UnreadableTrace
from tb_dataplugin.pipeline import KeptCapture, analyse_file, open_capture
from tb_dataplugin.reader.discovery import TraceFile, describe, find_traces
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.timeline.lanes import TimelineSource


def add_cache_argument(parser: argparse.ArgumentParser) -> None:
    help_cache = "analyse anew, and keep nothing (TB_DATAPLUGIN_CACHE names the cache's folder, or is off)"
    parser.add_argument("--no-cache", action="store_true", help=help_cache)


def stores_for(arguments: argparse.Namespace) -> tuple[Store, ...]:
    """Where reports are kept: the user's cache, or nowhere."""
    store = None if arguments.no_cache else user_store()
    return () if store is None else (store,)


def expand(paths: Iterable[Path]) -> Iterator[TraceFile]:
    """Files as they are, folders as the traces below them by name. Raises NothingToReport for a folder without any."""
    for path in paths:
        if not is_folder(path):
            yield TraceFile(path, ".", path.name, 0, 0) if not path.exists() else describe(path, ".")
            continue
        found = sorted(find_traces(path, complain), key=lambda trace: trace.id)
        if not found:
            raise NothingToReport(
                f"no traces (*.pt.trace.json, *.pt.trace.json.gz) below {path}: "
                "capture one with annotate.profile, or name a trace file"
            )
        yield from found


def is_folder(path: Path) -> bool:
    """Raises UnreadableTrace for a path that cannot be looked at."""
    try:
        return path.is_dir()
    except OSError as error:
        raise UnreadableTrace(path, error.strerror or str(error), "check the path and its permissions") from None


def open_all(traces: Iterable[TraceFile], stores: Sequence[Store] = ()) -> tuple[list[KeptCapture], int]:
    """All captures that can be read; a bad one costs a line and the exit status, never the others."""
    captures, status = [], 0
    for trace in traces:
        try:
            captures.append(open_one(trace, stores))
        except (UnreadableTrace, OwnFault) as error:
            complain(str(error))
            status = max(status, error.exit_status)
    return captures, status


def open_one(trace: TraceFile, stores: Sequence[Store]) -> KeptCapture:
    """Raises UnreadableTrace, or OwnFault in the place of whatever nobody foresaw."""
    try:
        return open_capture(trace.path, trace.id, stores=stores)
    except (DataPipelineError, MemoryError):
        raise
    except Exception as error:
        raise OwnFault(f"analyse {trace.path}", error) from error


def analyse_all(traces: Iterable[TraceFile], stores: Sequence[Store] = ()) -> tuple[list[Capture], int]:
    """The reports of `open_all`."""
    kept, status = open_all(traces, stores)
    return [one.capture for one in kept], status


def timeline_of(kept: KeptCapture) -> TimelineSource:
    """From the cache; where it has none the trace is read once more. Raises UnreadableTrace."""
    found = kept.store.timeline(kept.key) if kept.store else None
    return found or analyse_file(Path(kept.capture.file), kept.capture.name).timeline


def complain(message: str) -> None:
    print(f"tb-dataplugin: {message}", file=sys.stderr)


def write_text(text: str, output: Path | None) -> None:
    """To the terminal, or into a file. Raises BadRequest when that cannot be written."""
    if output is None:
        print(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        remedy = "name a file in a folder that can be written"
        raise BadRequest(f"cannot write {output}: {error.strerror}; {remedy}") from None
