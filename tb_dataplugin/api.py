"""The report as a Python object: what `tb_dataplugin.read_report` returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from tb_dataplugin.cache import user_store
from tb_dataplugin.errors import NothingToReport
from tb_dataplugin.export.as_html import as_html
from tb_dataplugin.export.as_json import as_dict, as_json
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.options import DEFAULT_OPTIONS, AnalysisOptions, StepRange
from tb_dataplugin.pipeline import KeptCapture, as_report, loop_of, open_found, timeline_of
from tb_dataplugin.rank_folders import newest_first
from tb_dataplugin.reader.discovery import TraceFile, describe, find_traces
from tb_dataplugin.reader.modes import NOTHING_TRAINED, first_of_training
from tb_dataplugin.remote import Place, Source, Url, all_fetched, fetched, listed, place
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.shown import shown
from tb_dataplugin.whatif import Change, Prediction, predict


class Report(Sequence[Capture]):
    """Captures and all that was found in them; a sequence of `Capture` messages, as `report.proto` describes them.

    ``report[0].loader.wait_us`` is the data wait of the first capture in microseconds. A field that cannot be known is
    absent: ``capture.HasField("loader")`` is False then, and ``capture.diagnostics`` says why. Printing a report gives
    the terminal's text; a notebook shows it as the page of the TensorBoard tab.
    """

    def __init__(self, kept: Sequence[KeptCapture], title: str = "report") -> None:
        self._kept = tuple(kept)
        self._message = as_report([capture.capture for capture in kept])
        self._title = title

    def __len__(self) -> int:
        return len(self._message.captures)

    @overload
    def __getitem__(self, index: int) -> Capture: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Capture]: ...

    def __getitem__(self, index: int | slice) -> Capture | Sequence[Capture]:
        return self._message.captures[index]

    def __iter__(self) -> Iterator[Capture]:
        return iter(self._message.captures)

    def __repr__(self) -> str:
        return f"<Report: {shown(', '.join(capture.name for capture in self))}>"

    def __str__(self) -> str:
        return as_text(self._message)

    def to_dict(self) -> dict[str, Any]:
        """What ``tb-dataplugin report --format json`` writes, as a dict."""
        return as_dict(self._message)

    def to_json(self, indent: int | None = 2) -> str:
        return as_json(self._message, indent)

    def to_html(self) -> str:
        """One self-contained page, with the timelines and the comparisons of captures of one program."""
        timelines = [timeline_of(kept) for kept in self._kept]
        return as_html(self._message, timelines, self._title, modified_ns=[kept.modified_ns for kept in self._kept])

    def _repr_html_(self) -> str:
        """For a notebook, in a frame without rights: the page's styles and scripts stay inside, and cannot reach it."""
        page = self.to_html().replace("&", "&amp;").replace('"', "&quot;")
        rights = "allow-scripts allow-downloads allow-popups allow-modals"
        return f'<iframe sandbox="{rights}" srcdoc="{page}" style="width: 100%; height: 720px; border: 0"></iframe>'

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """As `_repr_html_`, and for a console the terminal's text."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}


def read_report(
    paths: str | Path | Iterable[str | Path], *more: str | Path, steps: tuple[int, int] | None = None
) -> Report:
    """The report on trace files, or on all traces below folders; either may be a URL that fsspec opens.

    Links that lead out of a folder are refused unless ``TB_DATAPLUGIN_FOLLOW_LINKS=1`` is in the environment.

    Args:
        paths: a folder, a trace file, a URL of one (``"s3://bucket/runs/exp1"``), or a list of them.
        more: further ones.
        steps: numbers of the first and the last step that all numbers are to be about; None: all of them.

    Raises:
        NothingToReport: a folder has no traces.
        UnreadableTrace: a file cannot be analysed, or fetched. The message says why, and what to do.
        NoSuchSteps: a capture does not have the steps.
        BadRequest: what opens a URL is not installed, or there is nothing that opens it.
    """
    given = [_place(path) for path in (*([paths] if isinstance(paths, (str, Path)) else paths), *more)]
    store = user_store()
    stores = () if store is None else (store,)
    traces = [trace for path in given for trace in _traces(path)]
    options = DEFAULT_OPTIONS if steps is None else AnalysisOptions(steps=StepRange(*steps))
    return Report([open_found(trace, options, stores) for trace in traces], shown(", ".join(map(str, given))))


def what_if(
    path: str | Path,
    *,
    workers: int | None = None,
    prefetch: int | None = None,
    in_order: bool | None = None,
    stages: Mapping[str, float] | None = None,
    batch: int | None = None,
    pin: bool | None = None,
    moved: Sequence[str] = (),
) -> Prediction:
    """What a change would bring, predicted from one capture; nothing is run (docs/whatif.md).

    Args:
        path: a trace file, or its URL; of a folder the newest trace that is not a replay.
        workers, prefetch, in_order: as DataLoader's `num_workers`, `prefetch_factor`, `in_order`; None: as captured.
        stages: factors of the time of stages, or of kinds of stages: ``{"transform::Blur": 0.1, "decode": 0}``.
        batch: samples of a batch. pin: True for pinned batches. moved: stages that the device does. What the step then
            takes is not in the capture: the interval has both ends, `notes` what it rests on.

    Returns:
        Step time in microseconds, samples per second, share of data wait: each with a 90% interval. `notes` has first
        what makes the capture doubtful.

    Raises:
        BadRequest: the capture has no such stage, or no DataLoader takes such a setting.
        NothingToReport: a folder has no traces, or nothing can be predicted from this capture; the message says why.
        UnreadableTrace: the file cannot be analysed.
    """
    loop, doubts = loop_of(_newest(_place(path)))
    factors = tuple((stages or {}).items())
    made = predict(loop, Change(workers, prefetch, in_order, factors, batch, pin or None, tuple(moved)))
    return replace(made, notes=(*doubts, *made.notes))


def _place(path: str | Path) -> Place:
    return place(path) if isinstance(path, str) else path


def _newest(path: Place) -> TraceFile:
    """Of training. What is remote is fetched up to it."""
    if isinstance(path, Url):
        traces: Sequence[Source] = newest_first(listed(path))
    else:
        traces = newest_first(_traces(path))
    if len(traces) == 1:
        return fetched(traces[0])
    newest = first_of_training(map(fetched, traces))
    if newest is None:
        raise NothingToReport(f"{path} has {len(traces)} traces, all of them replays, {NOTHING_TRAINED}")
    return newest


def _traces(path: Place) -> list[TraceFile]:
    """By name."""
    if isinstance(path, Url):
        return list(all_fetched(path))
    if not path.is_dir():
        return [describe(path, ".") if path.exists() else TraceFile(path, ".", path.name, 0, 0)]
    traces = sorted(find_traces(path), key=lambda trace: trace.id)
    if not traces:
        remedy = "capture one with annotate.profile, or name a trace file"
        raise NothingToReport(f"no traces (*.pt.trace.json, *.pt.trace.json.gz) below {path}: {remedy}")
    return traces
