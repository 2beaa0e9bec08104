"""The routes `whole_runs` and `ranks`."""

from __future__ import annotations

from werkzeug import Request, Response

from tb_dataplugin.export.as_json import as_json
from tb_dataplugin.rank_files import folders_of_ranks
from tb_dataplugin.report.build_ranks import HINT
from tb_dataplugin.report.report_pb2 import CaptureRow, RanksList
from tb_dataplugin.tb import routes
from tb_dataplugin.tb.runs import CaptureLibrary, Entry


def whole_runs_route(request: Request, library: CaptureLibrary) -> Response:
    return routes.respond(request, as_json(library.whole_runs.answer()), routes.JSON)


def ranks_route(request: Request, library: CaptureLibrary) -> Response:
    """Of the folder that is asked for, else of all that have several ranks, one after the other."""
    found, is_reading = RanksList(), False
    asked = request.args.get("run")
    ready = {entry.trace.path: entry for entry in library.listing().entries if entry.state == "ready"}
    for traces in folders_of_ranks([(entry.trace, _rank(entry)) for entry in ready.values()]):
        run = ready[traces[0].path].run
        if asked is not None and run != asked:
            continue
        key = "\n".join(f"{trace.path} {trace.size} {trace.modified_ns}" for trace in traces)
        ranks = library.ranks.find(run, key, [(trace.path, ready[trace.path].id) for trace in traces])
        if ranks is None:
            is_reading = True
        else:
            found.ranks.append(ranks)
    if is_reading:
        return routes.loading(request)
    if not found.ranks:
        found.hint_text = HINT
    return routes.respond(request, as_json(found), routes.JSON)


def _rank(entry: Entry) -> int | None:
    row = CaptureRow.FromString(entry.row)
    return row.rank if row.HasField("rank") else None
