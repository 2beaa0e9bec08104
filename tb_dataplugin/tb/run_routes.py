"""The routes `whole_runs` and `ranks`."""

from __future__ import annotations

from werkzeug import Request, Response

from tb_dataplugin.export.as_json import as_json
from tb_dataplugin.report.build_ranks import HINT
from tb_dataplugin.report.report_pb2 import RanksList
from tb_dataplugin.tb import routes
from tb_dataplugin.tb.runs import CaptureLibrary


def whole_runs_route(request: Request, library: CaptureLibrary) -> Response:
    return routes.respond(request, as_json(library.whole_runs.answer()), routes.JSON)


def ranks_route(request: Request, library: CaptureLibrary) -> Response:
    """Of the run that is asked for, or that has that folder, else of all with several ranks, one after the other."""
    found, is_reading = RanksList(), False
    asked = request.args.get("run")
    entries = library.listing().entries
    ids = {entry.trace.path: entry.id for entry in entries}
    for run in routes.rank_runs_in(entries):
        if asked is not None and asked not in (run.name, *run.folders):
            continue
        key = "\n".join((run.name, *(f"{trace.path} {trace.size} {trace.modified_ns}" for trace in run.sources)))
        ranks = library.ranks.find(run.name, key, [(trace.path, ids[trace.path]) for trace in run.sources])
        if ranks is None:
            is_reading = True
        else:
            found.ranks.append(ranks)
            found.ranks[-1].folders.extend(run.folders)
    if is_reading:
        return routes.loading(request)
    if not found.ranks:
        found.hint_text = HINT
    return routes.respond(request, as_json(found), routes.JSON)
