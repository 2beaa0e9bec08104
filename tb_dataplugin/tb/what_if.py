"""The route `what_if`: predictions for one capture."""

from __future__ import annotations

from typing import Final

from werkzeug import Request, Response

from tb_dataplugin.errors import BadRequest
from tb_dataplugin.export.whatif_text import as_json
from tb_dataplugin.tb import routes
from tb_dataplugin.tb.runs import CaptureLibrary
from tb_dataplugin.whatif import Change, parse_changes, parse_workers, predict_all, usual_changes

MOST_STAGES: Final = 16


def what_if_route(request: Request, library: CaptureLibrary) -> Response:
    changes = changes_of(request)
    entry = library.entry(routes.capture_id(request))
    if entry.state != "ready":
        return routes.not_ready(request, entry)
    loop = library.loops.loop(entry.trace)
    return routes.respond(request, as_json(loop, predict_all(loop, changes or usual_changes(loop))), routes.JSON)


def changes_of(request: Request) -> list[Change]:
    """Those that are asked for, one for each number of DataLoader workers; none where nothing is."""
    workers, prefetch = request.args.get("workers"), whole_number(request, "prefetch")
    batch, pin = whole_number(request, "batch"), request.args.get("pin")
    stages, moves, order = request.args.getlist("stage"), request.args.getlist("move"), request.args.get("in_order")
    if order not in (None, "on", "off"):
        raise BadRequest(f"in_order is {order!r}; choose on or off")
    if pin not in (None, "on"):
        raise BadRequest(f"pin is {pin!r}; only on can be predicted")
    if len(stages) + len(moves) > MOST_STAGES:
        raise BadRequest(f"{len(stages) + len(moves)} stages are changed; name {MOST_STAGES} at most")
    in_order = None if order is None else order == "on"
    numbers = [None] if workers is None else parse_workers(workers)
    changes = parse_changes(numbers, prefetch, in_order, stages, batch, True if pin else None, moves)
    return [] if changes == [Change()] else changes


def whole_number(request: Request, name: str) -> int | None:
    text = request.args.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise BadRequest(f"{name} is {text!r}, not a whole number")
    return int(text)
