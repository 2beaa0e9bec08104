"""The plugin: who it is, whether it has something to show, and its route table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tensorboard.plugins import base_plugin
from werkzeug import Request, Response

from tb_dataplugin.tb import routes
from tb_dataplugin.tb.logdirs import LogDir, logdirs_of
from tb_dataplugin.tb.run_routes import ranks_route, whole_runs_route
from tb_dataplugin.tb.runs import CaptureLibrary
from tb_dataplugin.tb.what_if import what_if_route

WsgiApp = Callable[[dict[str, Any], Any], Iterable[bytes]]
Route = Callable[[Request, CaptureLibrary], Response]

ROUTES: dict[str, Route] = {
    "/runs": routes.runs_route,
    "/captures": routes.captures_route,
    "/report": routes.report_route,
    "/compare": routes.compare_route,
    "/suggestion": routes.suggestion_route,
    "/what_if": what_if_route,
    "/whole_runs": whole_runs_route,
    "/ranks": ranks_route,
    "/timeline": routes.timeline_route,
    "/spans": routes.spans_route,
    "/trace": routes.trace_route,
    "/index.js": routes.bundle_route,
    "/index.css": routes.bundle_route,
    "/docs/*": routes.document_route,
    "/perfetto/*": routes.perfetto_route,
}
"""Documented in http_api.md. A trailing ``*`` takes everything below it."""


class DataPipelinePlugin(base_plugin.TBPlugin):  # type: ignore[misc]  # tensorboard has no types
    """Shows the captures below TensorBoard's log directories."""

    plugin_name = "data_pipeline"

    def __init__(self, context: object, library: CaptureLibrary | None = None) -> None:
        """`context` is TensorBoard's TBContext. Nothing is started and no file is touched here."""
        dirs: tuple[LogDir, ...] = logdirs_of(context)
        self._library = CaptureLibrary(dirs) if library is None else library

    def get_plugin_apps(self) -> dict[str, WsgiApp]:
        """Called once, when TensorBoard mounts us: from now on the log directories are watched."""
        self._library.start()
        return {path: self._app(route) for path, route in ROUTES.items()}

    def is_active(self) -> bool:
        """From memory: TensorBoard asks all plugins in turn and waits for each.

        Where nothing is active TensorBoard's front page lists its own plugins only; ours says what to type. So we are
        active in an empty log directory, too, until somebody writes into it; and while a storage has not answered.
        """
        return self._library.has_captures() or self._library.is_bare() or self._library.is_unsure()

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        return base_plugin.FrontendMetadata(
            es_module_path="/index.js", tab_name="Data Pipeline", disable_reload=True, remove_dom=False
        )

    def _app(self, route: Route) -> WsgiApp:
        @Request.application
        def app(request: Request) -> Response:
            return routes.answer(request, route, self._library)

        return app
