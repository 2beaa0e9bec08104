"""Several captures, one line each: which one to look at first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Final

from tb_dataplugin.export.width import columns
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.rows import worst_first
from tb_dataplugin.units import UNKNOWN, percent, plural
from tb_dataplugin.words import MODES, label_of

NAME = 26
_TIME: Final = re.compile(r"\.\d{12,}$")
"""Ends the names of our traces: nanoseconds."""
ROWS = 40


def summary_lines(captures: Sequence[pb.Capture]) -> Iterator[str]:
    """A heading, a table, and what its columns mean."""
    names = _names(captures)
    yield f"{plural(len(captures), 'capture')}, worst first"
    yield f"  {'':<{NAME}}{'data wait':>11}{'idle':>8}{'findings':>10}  verdict"
    for capture, numbers in worst_first(captures)[:ROWS]:
        wait = numbers.data_wait_share if numbers.HasField("data_wait_share") else None
        idle = numbers.idle_share if numbers.HasField("idle_share") else None
        shares = f"{percent(wait):>11}{percent(idle):>8}"
        findings = UNKNOWN if capture.mode == "unannotated" and not capture.findings else str(len(capture.findings))
        row = f"  {_cut(names[id(capture)], NAME):<{NAME}}{shares}{findings:>10}  "
        yield row + _cut(_verdict(capture), columns() - len(row))
    if len(captures) > ROWS:
        yield f"  and {len(captures) - ROWS} more"
    yield "  data wait, idle: shares of the window; idle: the mean over the devices"


def _names(captures: Sequence[pb.Capture]) -> dict[int, str]:
    """By identity: the run's folder, the file where a folder has several, and its time where a process has several."""
    folders = {id(capture): PurePath(capture.file).parent.name or "." for capture in captures}
    stems = {id(capture): PurePath(capture.name).name for capture in captures}
    for name_of in (folders.__getitem__, lambda key: f"{folders[key]}/{_TIME.sub('', stems[key])}"):
        names = {key: name_of(key) for key in folders}
        if len(set(names.values())) == len(names):
            return names
    return {key: f"{folders[key]}/{_TIME.sub(_short, stems[key])}" for key in folders}


def _short(time: re.Match[str]) -> str:
    return f"..{time[0][-6:]}"


def _verdict(capture: pb.Capture) -> str:
    kind = "" if capture.mode == "train" else f"{label_of(MODES, capture.mode)}: "
    leading = next((finding.title for finding in capture.findings), "")
    return f"{kind}{leading or capture.verdict.sentence}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
