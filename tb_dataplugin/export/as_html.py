"""The report as one HTML file: the tab's page and its data, for a browser without a server or a network."""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tb_dataplugin.compare import program_numbers
from tb_dataplugin.export.as_json import as_compact_json, as_dict
from tb_dataplugin.export.comparisons import (
    Pair,
    comparisons,
    given_pairs,
    repeated_in,
    run_of,
    shown_pairs,
    suggested_pairs,
)
from tb_dataplugin.reader.discovery import Taken, when_taken
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_timeline import slice_timeline
from tb_dataplugin.report.rows import as_rows, row_of, worst_first
from tb_dataplugin.shown import shown
from tb_dataplugin.timeline.lanes import TimelineSource

MAX_BYTES: Final = 5_000_000
"""Of a file: what still goes through mail and issue trackers. Timelines get what the report leaves."""

SLICE_PIXELS: Final = 4000
CUTS: Final = (1, 4, 8, 16)
"""Levels of detail that are carried, while there is room: the whole window, and so many parts that overlap by half."""

OF_SEVERAL: Final = 0.6
"""Part of the room that reports of several captures have at most: long lists are cut before timelines are left out."""

LEAST_ROOM: Final = 600_000
"""For the timeline of a single capture; for comparisons and the worst captures' timelines also where the reports of
many are too large by themselves: who looks at so many wants to see what differs.
"""

COMPARED_SHARE: Final = 3
"""One part in so many of what the report leaves is for comparisons, at most."""

LIST_LENGTHS: Final = (None, 500, 100, 20)
"""To how many entries gaps, batches and queue depths are cut until a report of many captures fits."""

FEW: Final = 100
"""Length of lists from which flame graphs of single stages are left out as well."""

LEFT_OUT: Final = "its flame graph was left out, to keep this file small; that of the whole pipeline is here"

_STATIC = Path(__file__).parent.parent / "static"

_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:"
"""The page may run what it carries, and ask nobody."""


def as_html(
    report: pb.Report,
    timelines: Sequence[TimelineSource | None],
    title: str,
    what_ifs: Sequence[str | None] = (),
    problems: Sequence[str] = (),
    modified_ns: Sequence[int] = (),
    folders: Sequence[Sequence[int]] = (),
) -> str:
    """`timelines`: one for each capture of the report, None where there is none to draw; `what_ifs`: of each its
    predictions as JSON, None or nothing where none were made; `problems`: why other captures are not there;
    `modified_ns`: when the file of each was changed (Unix time), for those of which neither trace nor name says when
    they were taken, nothing where that is unknown; `folders`: the numbers of the captures of each folder that was
    named, where several were.
    """
    taken = _taken(report.captures, modified_ns)
    rows = _json(as_dict(as_rows(_rows(report.captures, taken))))
    predicted = ", ".join(_json(None if one is None else json.loads(one)) for one in what_ifs)
    told = _json([shown(one) for one in problems])
    own = f'"title": {_json(title)}, "problems": {told}, "rows": {rows}, "what_ifs": [{predicted}]'
    whole = MAX_BYTES - _size(_page(title, f'{{{own}, "report": , "timelines": [], }}'))
    report_json = _bounded(report, whole - LEAST_ROOM if len(report.captures) < 2 else int(OF_SEVERAL * whole))
    left = whole - _size(report_json)
    room = left if left > 0 else LEAST_ROOM
    compared = _compared(report.captures, [one.unix_ns for one in taken], folders, room // COMPARED_SHARE)
    slices = _timelines(report.captures, timelines, room - _size(compared))
    return _page(title, f'{{{own}, "report": {report_json}, "timelines": [{", ".join(slices)}], {compared}}}')


def _size(text: str) -> int:
    """In bytes."""
    return len(text.encode())


def _page(title: str, data: str) -> str:
    """`data`: JSON that is safe inside of a script element."""
    script, style = (_STATIC / "index.js").read_text("utf-8"), (_STATIC / "index.css").read_text("utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{html.escape(title)}</title>
<style>{_inert(style, "style")}</style>
</head>
<body>
<script type="application/json" id="data-pipeline-embedded">{data}</script>
<script type="module">{_inert(script, "script")}</script>
</body>
</html>"""


def _compared(
    captures: Sequence[pb.Capture], taken_ns: Sequence[int], folders: Sequence[Sequence[int]], room: int
) -> str:
    """The comparisons that fit, and which one each capture is shown with."""
    pairs, kept = suggested_pairs(captures, taken_ns), dict[Pair, str]()
    given = given_pairs(captures, folders, taken_ns)
    for pair, comparison in comparisons(captures, pairs, given):
        one = _json({**pair.as_ids(), "comparison": comparison})
        size = _size(one) + len(_BETWEEN)
        if size <= room:
            kept[pair] = one
            room -= size
    suggestions = [
        None if pair is None else pair.as_ids() if pair in kept else _left_out(captures, pair)
        for pair in shown_pairs(pairs, kept, given)
    ]
    repeated = [{"folder": one.folder, "ids": [*map(str, one.numbers)]} for one in repeated_in(captures)]
    found = f'"suggestions": {_json(suggestions)}, "repeated_runs": {_json(repeated)}'
    return f'{found}, "comparisons": [{", ".join(kept.values())}]'


def _left_out(captures: Sequence[pb.Capture], pair: Pair) -> dict[str, Any]:
    """What the page names, and how it is made."""
    files = (shlex.quote(shown(captures[number].file)) for number in (*pair.before, *pair.after))
    return {**pair.as_ids(), "command": f"tb-dataplugin compare {' '.join(files)}", "left_out": True}


def without_comparison(page: str) -> int:
    """Captures of it that suggest a comparison, and of which none found room."""
    return page.count(_LEFT_OUT)


_LEFT_OUT: Final = '"left_out":true}'


def _taken(captures: Sequence[pb.Capture], modified_ns: Sequence[int]) -> list[Taken]:
    files = modified_ns if len(modified_ns) == len(captures) else [0] * len(captures)
    return [
        when_taken(capture.window_unix_us, capture.name.rpartition("/")[2], changed)
        for capture, changed in zip(captures, files, strict=True)
    ]


def _rows(captures: Sequence[pb.Capture], taken: Sequence[Taken]) -> list[pb.CaptureRow]:
    rows = [_row(capture, number) for number, capture in enumerate(captures)]
    for row, when in zip(rows, taken, strict=True):
        row.taken, row.taken_by = when.unix_ns / 1e9, when.by
    programs = program_numbers((row.run, capture) for row, capture in zip(rows, captures, strict=True))
    for row, program in zip(rows, programs, strict=True):
        row.program = program
    return rows


def _row(capture: pb.Capture, number: int) -> pb.CaptureRow:
    """The page knows a capture that it carries by its number."""
    row = row_of(capture)
    row.id, row.run, row.name = str(number), run_of(capture), capture.name.rpartition("/")[2]
    return row


def _json(value: Any) -> str:
    r"""Safe inside of a script element: a name with ``</script>`` or ``<!--`` in it is written with ``\u003c``."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _inert(code: str, element: str) -> str:
    """Code of our own that could not end its element; `</` in it only occurs within strings and patterns."""
    return code.replace(f"</{element}", f"<\\/{element}").replace("<!--", "<\\!--")


def _bounded(report: pb.Report, room: int) -> str:
    """The report without what the page does not draw, its lists cut until it fits; their counts stay true."""
    report_json = ""
    for most in LIST_LENGTHS:
        carried = pb.Report()
        carried.CopyFrom(report)
        for capture in carried.captures:
            _lighten(capture, most)
        report_json = _json(as_dict(carried))
        if _size(report_json) <= room:
            break
    return report_json


def _lighten(capture: pb.Capture, most: int | None) -> None:
    for stage in capture.stages:
        for name in ("block_worker", "block_count", "block_self_us", "block_cpu_us"):
            stage.ClearField(name)
    if most is None:
        return
    del capture.batches[most:]
    for device in capture.devices:
        del device.gaps[most:]
    for queue in capture.queues:
        for column in (queue.time_us, queue.ready, queue.in_flight):
            del column[most:]
    if capture.HasField("steps"):
        del capture.steps.items[max(most, 100) :]
    if most <= FEW:
        _lighten_lines(capture)


def _lighten_lines(capture: pb.Capture) -> None:
    """Stages without their flame graphs, which the whole pipeline's has in it, and fewer of them in depth."""
    del capture.stage_details[FEW // 5 :]
    for part in capture.lines.stages:
        if part.HasField("tree"):
            part.ClearField("tree")
            part.text = LEFT_OUT


def without_timeline(page: str) -> int:
    """Captures of it whose timeline found no room."""
    return page.count(_NO_SLICES)


def _timelines(captures: Sequence[pb.Capture], sources: Sequence[TimelineSource | None], room: int) -> list[str]:
    """Each has the same part of the room; what is left goes to those that it was too small for, the worst first."""
    room -= len(sources) * (len(_NO_SLICES) + len(_BETWEEN))
    kept = [_slices(source, room // len(sources)) for source in sources]
    room -= sum(map(_size_of, kept))
    listed = list(captures)
    places = {id(capture): number for number, capture in enumerate(listed)}
    for capture, _ in worst_first(listed):
        number = places[id(capture)]
        if number < len(sources) and not kept[number]:
            kept[number] = _slices(sources[number], room)
            room -= _size_of(kept[number])
    return [f'{{"slices": [{_BETWEEN.join(slices)}]}}' for slices in kept]


_NO_SLICES: Final = '{"slices": []}'
_BETWEEN: Final = ", "


def _size_of(slices: Sequence[str]) -> int:
    """In bytes, in a list."""
    return sum(_size(one) + len(_BETWEEN) for one in slices)


def _slices(source: TimelineSource | None, room: int) -> list[str]:
    """Slices of a timeline, level by level, as long as a level fits."""
    kept: list[str] = []
    for cuts in CUTS if source is not None else ():
        assert source is not None
        level = [_json_of(slice_timeline(source, start, end, SLICE_PIXELS)) for start, end in _parts(source, cuts)]
        room -= _size_of(level)
        if room < 0:
            break
        kept += level
    return kept


def _json_of(timeline: pb.Timeline) -> str:
    return as_compact_json(timeline).decode().replace("<", "\\u003c")


def _parts(source: TimelineSource, cuts: int) -> Iterator[tuple[float, float]]:
    """The window in `cuts` equal parts, and as many but one between them (us)."""
    start, length = source.window.start_ns / 1e3, source.window.duration_ns / 1e3
    for half in range(2 * cuts - 1):
        yield start + half * length / cuts / 2, start + (half + 2) * length / cuts / 2
