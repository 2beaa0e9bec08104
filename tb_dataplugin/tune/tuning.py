"""From a loader's name to an outcome: the first window is captured, the model fitted to it, and the search run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.pipeline import analyse_file, read_loop
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.tune.model import WhatIf
from tb_dataplugin.tune.patching import diff_of
from tb_dataplugin.tune.remainder import Remainder, remainder_of
from tb_dataplugin.tune.running import CannotRun, Facts, Limits
from tb_dataplugin.tune.search import Outcome, Search
from tb_dataplugin.tune.server import Program
from tb_dataplugin.tune.setting import Changes

RECORDED: Final = 24
"""Batches of the capture that predictions rest on."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What `tune` ends in. `diff`: "" where the call of DataLoader was not found for certain."""

    program: Program
    outcome: Outcome
    diff: str
    remainder: Remainder | None
    notes: tuple[str, ...]


def tune(program: Program, limits: Limits, say: Callable[[str], None]) -> Tuned:
    """Raises CannotRun where the unchanged loop does not run."""
    say("the unchanged loop: a capture, which predictions rest on")
    facts, model, capture, notes = _captured(program)
    outcome = Search(program, facts, model, limits, say).run()
    if not outcome.windows:
        raise CannotRun("interrupted before anything was measured")
    return Tuned(program, outcome, diff(facts, outcome.best), remainder_of(outcome, model, capture), notes)


def _captured(program: Program) -> tuple[Facts, WhatIf | None, Capture | None, tuple[str, ...]]:
    """Facts, and what a capture of the unchanged loop says; without one the settings are tried in a fixed order."""
    server = program.start(Changes())
    try:
        facts = server.facts(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
        notes = (facts.note,) if facts.note else ()
        with tempfile.TemporaryDirectory(prefix="tb-dataplugin-tune-") as folder:
            try:
                path = Path(server.record(RECORDED, folder))
                capture = analyse_file(path).capture
                loop, _ = read_loop(path)
            except DataPipelineError as error:
                return facts, None, None, (*notes, f"Nothing is predicted: {error}")
        return facts, WhatIf(loop, facts.made), capture, notes
    finally:
        server.close()


def diff(facts: Facts, changes: Changes) -> str:
    """ "" where the source is not there, or the call not found for certain."""
    try:
        source = Path(facts.file).read_bytes().decode()
    except (OSError, ValueError):
        return ""
    name = os.path.relpath(facts.file)
    return diff_of(source, facts.line, changes, Path(facts.file).name if name.startswith("..") else name)
