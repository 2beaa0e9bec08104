"""HTTP in, HTTP out: each ``x_route`` reads the request and writes what its ``x_impl`` returns. See http_api.md."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, BinaryIO

from tensorboard.backend import http_util
from werkzeug import Request, Response
from werkzeug.wsgi import wrap_file

from tb_dataplugin.compare import compare, program_numbers
from tb_dataplugin.errors import BadRequest, DataPipelineError, InternalError
from tb_dataplugin.export.as_json import as_compact_json, as_json
from tb_dataplugin.options import StepRange
from tb_dataplugin.pipeline import as_report
from tb_dataplugin.rank_folders import ListedRank, RankRun, runs_of_ranks
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.reader.opening import open_trace
from tb_dataplugin.report.build_timeline import slice_timeline
from tb_dataplugin.report.report_pb2 import Capture, CaptureRow
from tb_dataplugin.report.rows import as_rows, is_cut_off
from tb_dataplugin.shown import encodable
from tb_dataplugin.tb import assets, documents
from tb_dataplugin.tb.logs import log_failure
from tb_dataplugin.tb.repeated import mixed_in, repeated_in
from tb_dataplugin.tb.runs import CaptureLibrary, Entry
from tb_dataplugin.tb.suggesting import suggestion_for
from tb_dataplugin.timeline.searching import FoundSpan, Place, Scope, search_spans

MIN_WIDTH, MAX_WIDTH = 100, 8000
MAX_RUNS = 32
MAX_WORDS = 16
"""Of a search for spans: each is looked for in every name."""
CHUNK_BYTES = 1 << 18
CACHE_S = 3600
"""Perfetto's files never change under one version; they are 40 MB."""

JSON = "application/json"


def answer(request: Request, route: Callable[[Request, CaptureLibrary], Response], library: CaptureLibrary) -> Response:
    """Runs a route; any error in it becomes one line of JSON."""
    if request.method not in ("GET", "HEAD"):
        return _json(request, {"error": "only GET is served here"}, 405)
    try:
        return route(request, library)
    except DataPipelineError as error:
        return _json(request, {"error": str(error)}, error.http_status)
    except Exception as error:
        log_failure(f"answering {request.path}")
        fault = InternalError(f"answer {request.path}", error)
        return _json(request, {"error": str(fault)}, fault.http_status)


def runs_route(request: Request, library: CaptureLibrary) -> Response:
    return _json(request, runs_impl(library))


def runs_impl(library: CaptureLibrary) -> dict[str, Any]:
    listing = library.listing()
    rank_runs = rank_runs_in(listing.entries)
    run_of_trace = {trace.path: run.name for run in rank_runs for trace in run.sources}
    return {
        "logdir": encodable(",".join(map(str, library.logdirs))),
        "scanning": listing.scanning,
        "perfetto": assets.perfetto_root() is not None,
        "whole_runs": len(library.whole_runs),
        "rank_runs": len(rank_runs),
        "captures": [_entry(entry, run_of_trace.get(entry.trace.path)) for entry in listing.entries],
        "repeated_runs": _repeated(listing.entries),
        "mixed_runs": [encodable(run) for run in mixed_in(listing.entries)],
        "problems": list(listing.problems),
    }


def _repeated(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    return [{"folder": encodable(found.folder), "ids": ids} for found, ids in repeated_in(entries)]


def rank_runs_in(entries: Sequence[Entry]) -> list[RankRun[TraceFile]]:
    """The runs with captures of several ranks, of those that are ready."""
    return runs_of_ranks(
        ListedRank(entry.trace, entry.run, CaptureRow.FromString(entry.row), entry.marks)
        for entry in entries
        if entry.state == "ready"
    )


def _entry(entry: Entry, rank_run: str | None) -> dict[str, Any]:
    row, taken = CaptureRow.FromString(entry.row), entry.taken
    return {
        "id": entry.id,
        "run": entry.run,
        "name": encodable(entry.trace.name),
        "state": entry.state,
        "error": entry.error,
        "bytes": entry.trace.size,
        "modified": entry.trace.modified_ns / 1e9,
        "taken": taken.unix_ns / 1e9,
        "taken_by": taken.by,
        "mode": entry.mode,
        "rank": row.rank if row.HasField("rank") else None,
        "rank_run": rank_run,
        "cut_off": is_cut_off(row),
    }


def captures_route(request: Request, library: CaptureLibrary) -> Response:
    return respond(request, _rows(library.listing().entries), JSON)


@lru_cache(maxsize=2)
def _rows(entries: tuple[Entry, ...]) -> str:
    """Kept until one of them changes: every page asks for it, and each line is turned into JSON field by field."""
    programs = program_numbers((entry.run, Capture.FromString(entry.marks)) for entry in entries)
    return as_json(as_rows(map(_row, entries, programs)))


def _row(entry: Entry, program: int) -> CaptureRow:
    row, taken = CaptureRow.FromString(entry.row), entry.taken
    row.MergeFrom(
        CaptureRow(
            id=entry.id,
            run=entry.run,
            name=encodable(entry.trace.name),
            state=entry.state,
            error=entry.error or "",
            modified=entry.trace.modified_ns / 1e9,
            taken=taken.unix_ns / 1e9,
            taken_by=taken.by,
            program=program,
        )
    )
    return row


def report_route(request: Request, library: CaptureLibrary) -> Response:
    capture = library.capture(capture_id(request), _steps(request))
    if isinstance(capture, Entry):
        return not_ready(request, capture)
    return respond(request, as_json(as_report([capture], library.replays())), JSON)


def compare_route(request: Request, library: CaptureLibrary) -> Response:
    sides: list[list[Capture]] = []
    for side in ("before", "after"):
        ids = list(dict.fromkeys(request.args.getlist(side)))
        if not 1 <= len(ids) <= MAX_RUNS:
            raise BadRequest(f"{side} names {len(ids)} captures; name 1 to {MAX_RUNS} as listed by `runs`")
        captures = [library.capture(capture_id) for capture_id in ids]
        waiting = next((capture for capture in captures if isinstance(capture, Entry)), None)
        if waiting is not None:
            return not_ready(request, waiting)
        sides.append([capture for capture in captures if isinstance(capture, Capture)])
    return respond(request, as_json(compare(*sides)), JSON)


def suggestion_route(request: Request, library: CaptureLibrary) -> Response:
    entry = library.entry(capture_id(request))
    capture = library.capture(entry.id)
    if isinstance(capture, Entry):
        return not_ready(request, capture)
    found = suggestion_for(library, entry, capture)
    if found.waiting:
        return loading(request)
    passed_over = {"passed_over": found.passed_over} if found.passed_over else {}
    return _json(request, {"before": found.before, "after": found.after, **passed_over})


def timeline_route(request: Request, library: CaptureLibrary) -> Response:
    start, end, width = _number(request, "start_us"), _number(request, "end_us"), _number(request, "width")
    if width is None or not MIN_WIDTH <= width <= MAX_WIDTH:
        raise BadRequest(f"width must be a number of pixels between {MIN_WIDTH} and {MAX_WIDTH}")
    timeline = library.timeline(capture_id(request), _steps(request))
    if isinstance(timeline, Entry):
        return not_ready(request, timeline)
    window = timeline.window
    start = window.start_ns / 1e3 if start is None else start
    end = window.end_ns / 1e3 if end is None else end
    if not start < end:
        raise BadRequest(f"start_us {start:g} is not before end_us {end:g}; swap them")
    return respond(request, as_compact_json(slice_timeline(timeline, start, end, int(width))), JSON)


def spans_route(request: Request, library: CaptureLibrary) -> Response:
    words = request.args.get("words", "").split()
    if not 1 <= len(words) <= MAX_WORDS:
        raise BadRequest(f"words has {len(words)} words to search for; name 1 to {MAX_WORDS}")
    scope = Scope(_whole_number(request, "loader"), _whole_number(request, "device"))
    place = _place(request)
    timeline = library.timeline(capture_id(request), _steps(request))
    if isinstance(timeline, Entry):
        return not_ready(request, timeline)
    found = search_spans(timeline, words, scope, place)
    return _json(request, {"count": found.count, "undrawn": found.undrawn, "span": found.span and _span(found.span)})


def _place(request: Request) -> Place | None:
    number, start, end = _whole_number(request, "number"), _number(request, "from_us"), _number(request, "before_us")
    if number is None and start is None and end is None:
        return None
    return Place(number, None if start is None else round(start * 1e3), None if end is None else round(end * 1e3))


def _span(span: FoundSpan) -> dict[str, Any]:
    return {
        "number": span.number,
        "lane": span.lane,
        "depth": span.depth,
        "name": span.name,
        "start_us": span.start_ns / 1e3,
        "duration_us": span.duration_ns / 1e3,
    }


def trace_route(request: Request, library: CaptureLibrary) -> Response:
    entry = library.entry(capture_id(request))
    if entry.state != "ready":
        return not_ready(request, entry)
    file = _as_analysed(entry, library)
    head = file.read(2)
    file.seek(0)
    kind = "application/gzip" if head == b"\x1f\x8b" else JSON
    content = wrap_file(request.environ, file, CHUNK_BYTES)  # sent as it is read: a trace may not fit into memory
    response = Response(content, content_type=kind, direct_passthrough=True)
    response.call_on_close(file.close)
    response.headers["Content-Disposition"] = "attachment; filename=" + json.dumps(encodable(entry.trace.path.name))
    response.headers["Content-Length"] = str(os.fstat(file.fileno()).st_size)
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _as_analysed(entry: Entry, library: CaptureLibrary) -> BinaryIO:
    """The capture's file, if it is what was read as a trace: anything else is none of the page's business."""
    path = entry.trace.path
    try:
        file = open_trace(path, library.roots)
    except OSError as error:
        raise BadRequest(f"cannot read {path}: {error.strerror}; was it moved?") from None
    facts = os.fstat(file.fileno())
    if (facts.st_size, facts.st_mtime_ns) != (entry.trace.size, entry.trace.modified_ns):
        file.close()
        raise BadRequest(f"cannot send {path}: it has changed since it was read; wait until it is read again")
    return file


def bundle_route(request: Request, library: CaptureLibrary) -> Response:
    return _asset(request, assets.bundle_file(request.path.rsplit("/", 1)[-1]), 0)


def perfetto_route(request: Request, library: CaptureLibrary) -> Response:
    return _asset(request, assets.perfetto_file(request.path.split("/perfetto/", 1)[-1]), CACHE_S)


def document_route(request: Request, library: CaptureLibrary) -> Response:
    page = documents.document(request.path.split("/docs/", 1)[-1], request.args.get("theme", ""))
    return _asset(request, None if page is None else assets.Asset(page.encode(), "text/html"), 0)


def _asset(request: Request, asset: assets.Asset | None, expires: int) -> Response:
    if asset is None:
        return respond(request, "no such file", "text/plain", code=404)
    if asset.content_type == "text/html":
        return respond(request, asset.content, asset.content_type, csp_scripts_sha256s=[])
    return respond(request, asset.content, asset.content_type, expires=expires)


def capture_id(request: Request) -> str:
    found: str | None = request.args.get("id")
    if not found:
        raise BadRequest("the request names no capture; add ?id=<capture id> as listed by `runs`")
    return found


def _steps(request: Request) -> StepRange | None:
    text = request.args.get("steps")
    try:
        return StepRange.parse(text) if text else None
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _number(request: Request, name: str) -> float | None:
    text = request.args.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 1e15:
        raise BadRequest(f"{name} is {text!r}, not a number of a usable size")
    return value


def _whole_number(request: Request, name: str) -> int | None:
    value = _number(request, name)
    return None if value is None else int(value)


def not_ready(request: Request, entry: Entry) -> Response:
    if entry.state == "error":
        return _json(request, {"error": entry.error}, 422)
    return _json(request, {"state": entry.state}, 202)


def loading(request: Request) -> Response:
    return _json(request, {"state": "loading"}, 202)


def respond(request: Request, content: str | bytes, content_type: str, **options: Any) -> Response:
    """TensorBoard's own response: compressed, with its content security policy on HTML."""
    response: Response = http_util.Respond(request, content, content_type, **options)
    return response


def _json(request: Request, value: dict[str, Any], code: int = 200) -> Response:
    return respond(request, json.dumps(value, allow_nan=False), JSON, code=code)
