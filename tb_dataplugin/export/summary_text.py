"""Several captures, one line each: which one to look at first."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Final

from tb_dataplugin.export.paragraphs import wrap
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.width import columns, room
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.rows import doubt_words, loop_wait, wide_interval, worst_first
from tb_dataplugin.units import UNKNOWN, percent, plural
from tb_dataplugin.words import MODES, label_of

NAME, NAMES_SHARE = 26, 0.36
"""Columns that names get, and up to which share of the width where they are longer."""
COLUMNS: Final = (Column("data wait", 11), Column("idle", 8), Column("findings", 10, 1))
_TIME: Final = re.compile(r"\.\d{12,}$")
"""Ends the names of our traces: nanoseconds."""
ROWS = 40
VERDICT: Final = 36
"""Columns that a sentence needs to be read at a glance: with fewer it stands in lines of its own."""
LAST: Final = "first finding, else the verdict"
REPLAYS: Final = "  replays, which train nothing:"
BELOW_REPLAYS: Final = "  data wait and idle time unknown:"
"""What the order puts below replays: captures with neither number."""


def summary_lines(captures: Sequence[pb.Capture]) -> Iterator[str]:
    """A heading, a table, and what its columns mean."""
    names, modes = _names(captures), {capture.mode for capture in captures}
    kept = with_room(COLUMNS, columns() - 2 - NAME)
    longest = max(NAME, min(max(map(len, names.values())) + 2, int(NAMES_SHARE * columns())))
    wide = min(longest, columns() - 2 - sum(column.width for column in kept))
    head = f"  {'':<{wide}}{heads(kept)}  "
    is_beside = room() - len(head) >= VERDICT
    yield f"{plural(len(captures), 'capture')}, worst first: by the device's idle time, else by the data wait"
    yield f"{head}{LAST}" if is_beside else head.rstrip()
    was_replay = False
    for capture, numbers in worst_first(captures)[:ROWS]:
        wait = numbers.data_wait_share if numbers.HasField("data_wait_share") else None
        idle = numbers.idle_share if numbers.HasField("idle_share") else None
        findings = UNKNOWN if capture.mode == "unannotated" and not capture.findings else str(len(capture.findings))
        texts = {"data wait": percent(wait), "idle": percent(idle), "findings": findings}
        row = f"  {cut_inside(names[id(capture)], wide - 1):<{wide}}{cells(kept, texts)}  "
        below = [f"  {text:>{wide + 11}}" for text in _below(capture)]
        verdict = _verdict(capture, len(modes) > 1)
        is_replay = capture.mode == "replay"
        if is_replay != was_replay and len(modes) > 1:
            yield REPLAYS if is_replay else BELOW_REPLAYS
        was_replay = is_replay
        yield from with_verdict(row, below, verdict, is_beside=is_beside)
    if len(captures) > ROWS:
        yield f"  and {len(captures) - ROWS} more"
    if not is_beside:
        yield from wrap(f"below each: {LAST}", "  ")
    yield from wrap("data wait, idle: shares of the window; idle: the mean over the devices", "  ")
    if any(map(loop_wait, captures)):
        yield from wrap("below a data wait, the loop: without other DataLoaders and first batches", "  ")
    if any(map(wide_interval, captures)):
        said = "below a data wait: 95% interval of the steady state, where that is wide"
        yield from wrap(f"{said}; of the loop, where that is named" if any(map(loop_wait, captures)) else said, "  ")
    if sum(capture.world_size > 1 for capture in captures) > 1:
        yield from wrap("which rank holds up the others: tb-dataplugin ranks FOLDER", "  ")


def _below(capture: pb.Capture) -> Iterator[str]:
    """Of the data wait: what the loop has of it, which the steady state's interval is of."""
    if loop := loop_wait(capture):
        yield f"loop {loop.split(' ')[0]}"
    if ends := wide_interval(capture):
        yield ends


def with_verdict(row: str, below: Sequence[str], verdict: str, *, is_beside: bool) -> list[str]:
    """Behind the numbers, or below them where the rest of a line would be too short to read. `below`: in the row's
    columns.
    """
    if not is_beside:
        lines = textwrap.wrap(verdict, room(), initial_indent="    ", subsequent_indent="    ")
        return [row.rstrip(), *below, *lines]
    beside = textwrap.wrap(verdict, room() - len(row)) or [""]
    beside += [""] * (1 + len(below) - len(beside))
    rows = (row, *(f"{line:<{len(row)}}" for line in below), *[" " * len(row)] * len(beside))
    return [f"{start}{line}".rstrip() for start, line in zip(rows, beside, strict=False)]


def _names(captures: Sequence[pb.Capture]) -> dict[int, str]:
    """By identity: the run's folder; the file where all are in one folder; both where folders have several; the time
    too where a process has several.
    """
    folders = _folders(captures)
    stems = {id(capture): PurePath(capture.name).name for capture in captures}
    place = {key: "" if len({*folders.values()}) == 1 else f"{folder}/" for key, folder in folders.items()}
    for name_of in (folders.__getitem__, lambda key: f"{place[key]}{_TIME.sub('', stems[key])}"):
        names = {key: name_of(key) for key in folders}
        if len(set(names.values())) == len(names):
            return names
    return {key: f"{place[key]}{short_name(stems[key])}" for key in folders}


def _folders(captures: Sequence[pb.Capture]) -> dict[int, str]:
    """By identity: the way to the folder from where all lie, as the tab names runs; that place by its own name."""
    paths = {id(capture): PurePath(capture.file).parent for capture in captures}
    parents = [[path, *path.parents] for path in paths.values()]
    root = next((path for path in parents[0] if all(path in others for others in parents)), PurePath())
    return {key: path.relative_to(root).as_posix() if path != root else path.name or "." for key, path in paths.items()}


def short_name(name: str) -> str:
    """The name of a capture with the last digits of its time."""
    return _TIME.sub(lambda time: f"..{time[0][-6:]}", name)


def rank_words(capture: pb.Capture) -> str:
    """``rank 0 of 2``; "" for a capture of no rank, or of a run that has only one."""
    if not capture.HasField("rank") or capture.world_size < 2:
        return ""
    return f"rank {capture.rank} of {capture.world_size}"


def _verdict(capture: pb.Capture, modes_differ: bool) -> str:
    kind = f"{label_of(MODES, capture.mode)}: " if modes_differ and capture.mode != "train" else ""
    kind += f"{rank_words(capture)}: " if rank_words(capture) else ""
    kind += f"doubtful ({doubt_words(capture)}): " if capture.doubts else ""
    leading = next((finding.title for finding in capture.findings), "")
    return f"{kind}{leading or capture.verdict.sentence}"


def cut_inside(text: str, width: int) -> str:
    """Names differ at their ends more often than in the middle."""
    if len(text) <= width:
        return text
    end = (width - 3) // 2
    return f"{text[: width - 3 - end]}...{text[-end:]}"
