"""Baselines: what `compare` needs of some captures, in one JSON file that a repository can hold."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from google.protobuf import json_format

from tb_dataplugin.compare.sides import group_runs
from tb_dataplugin.errors import BadRequest, UnreadableTrace
from tb_dataplugin.export.as_json import as_json
from tb_dataplugin.pipeline import SCHEMA_VERSION
from tb_dataplugin.report.report_pb2 import Capture, Report

MOST_RUNS: Final = 10
"""In one baseline; the oldest is forgotten."""
_KEPT: Final = (
    "name", "mode", "rank", "world_size", "host", "torch_version", "window_us", "steps", "devices", "loader", "stages",
    "throughput", "environment", "operators", "file",
)  # fmt: skip
"""Fields of a capture that `compare` looks at; not the stacks and single batches, which are most of a report."""
_WRITE_AGAIN: Final = "write it again with --data-pipeline-update"


def read_baseline(path: Path) -> list[Capture]:
    """Raises UnreadableTrace for a file that is missing or is no baseline of this version."""
    try:
        facts = json.loads(path.read_bytes())
        report = json_format.ParseDict(facts, Report(), ignore_unknown_fields=True)
    except OSError as error:
        remedy = "write it with --data-pipeline-update"
        raise UnreadableTrace(path, error.strerror or type(error).__name__, remedy) from None
    except (ValueError, RecursionError, json_format.ParseError):
        raise UnreadableTrace(path, "it is no baseline", _WRITE_AGAIN) from None
    if report.schema_version != SCHEMA_VERSION or not report.captures:
        raise UnreadableTrace(path, "it is a baseline of another version, or an empty one", _WRITE_AGAIN)
    return list(report.captures)


def write_baseline(path: Path, captures: Sequence[Capture], earlier: Sequence[Capture] = ()) -> int:
    """Replace the file by these captures, after those of `earlier` runs. Returns how many runs it has now.

    Raises BadRequest where it cannot be written.
    """
    runs = [*(list(run.captures) for run in group_runs(earlier)[0]), [_reduced(capture) for capture in captures]]
    runs = runs[-MOST_RUNS:]
    for number, run in enumerate(runs, start=1):
        for capture in run:  # process ids recur in containers, and runs are told apart by these names
            capture.name = f"run{number}/{Path(capture.name).name}"
    report = Report(schema_version=SCHEMA_VERSION, captures=[capture for run in runs for capture in run])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        beside.write_text(as_json(report) + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        remedy = "name a file in a folder that can be written"
        raise BadRequest(f"cannot write {path}: {error.strerror or type(error).__name__}; {remedy}") from None
    return len(runs)


def _reduced(capture: Capture) -> Capture:
    reduced = Capture()
    reduced.CopyFrom(capture)
    for field, _ in capture.ListFields():
        if field.name not in _KEPT:
            reduced.ClearField(field.name)  # type: ignore[arg-type]  # the stub has literal names
    reduced.file = Path(capture.file).name
    return reduced
