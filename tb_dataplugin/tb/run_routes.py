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
    """Of the folder that is asked for, else of all that have several ranks, one after the other."""
    found, is_reading = RanksList(), False
    asked = request.args.get("run")
    for entries in routes.rank_folders(library.listing().entries):
        run = entries[0].run
        if asked is not None and run != asked:
            continue
        traces = [entry.trace for entry in entries]
        key = "\n".join(f"{trace.path} {trace.size} {trace.modified_ns}" for trace in traces)
        ranks = library.ranks.find(run, key, [(entry.trace.path, entry.id) for entry in entries])
        if ranks is None:
            is_reading = True
        else:
            found.ranks.append(ranks)
    if is_reading:
        return routes.loading(request)
    if not found.ranks:
        found.hint_text = HINT
    return routes.respond(request, as_json(found), routes.JSON)
