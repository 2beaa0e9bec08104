"""From a loader's name to an outcome: the first window is captured, the model fitted to it, and the search run."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.pipeline import analyse_file, read_loop
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.tune.model import WhatIf
from tb_dataplugin.tune.patching import diff_of
from tb_dataplugin.tune.remainder import Remainder, remainder_of
from tb_dataplugin.tune.repeating import not_seen, why_not_tried
from tb_dataplugin.tune.running import CannotRun, Facts, Limits
from tb_dataplugin.tune.script import Script, at_place, chosen, facts_of, record
from tb_dataplugin.tune.search import Outcome, Search
from tb_dataplugin.tune.server import Program
from tb_dataplugin.tune.setting import Changes

RECORDED: Final = 24
"""Batches of the capture that predictions rest on."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What `tune` ends in. `diff`: "" where the call of DataLoader was not found for certain."""

    program: Program | Script
    outcome: Outcome
    diff: str
    remainder: Remainder | None
    notes: tuple[str, ...]


class Captured(NamedTuple):
    """The loop to run, what is known of it, and what a capture of it unchanged says; None where there is none."""

    program: Program | Script
    facts: Facts
    model: WhatIf | None
    capture: Capture | None
    notes: tuple[str, ...]


def tune(program: Program | Script, limits: Limits, say: Callable[[str], None], logdir: Path | None = None) -> Tuned:
    """`logdir`: where the capture of the best goes. Raises CannotRun where the unchanged loop does not run."""
    say("the unchanged loop: a capture, which predictions rest on")
    captured = _script_captured(program) if isinstance(program, Script) else _captured(program)
    program, facts = captured.program, captured.facts
    outcome = Search(program, facts, captured.model, limits, say).run()
    if not outcome.windows:
        raise CannotRun("interrupted before anything was measured")
    unseen = not_seen(facts, outcome.best, outcome.windows)
    notes = (*filter(None, (why_not_tried(facts), unseen)), *captured.notes)
    if logdir is not None and not outcome.interrupted:
        say("the best loop: a capture")
        notes = (*notes, _report_of(program, outcome.best, logdir))
    remainder = remainder_of(outcome, captured.model, captured.capture)
    return Tuned(program, outcome, diff(facts, outcome.best), remainder, notes)


def _captured(program: Program) -> Captured:
    """Without a capture the settings are tried in a fixed order."""
    server = program.start(Changes())
    try:
        facts = server.facts(_cpus())
        notes = (facts.note,) if facts.note else ()
        with tempfile.TemporaryDirectory(prefix="tb-dataplugin-tune-") as folder:
            try:
                path = Path(server.record(RECORDED, folder))
                capture = analyse_file(path).capture
                loop, _ = read_loop(path)
            except DataPipelineError as error:
                return Captured(program, facts, None, None, (*notes, f"Nothing is predicted: {error}"))
        return Captured(program, facts, WhatIf(loop, facts.made), capture, notes)
    finally:
        server.close()


def _script_captured(script: Script) -> Captured:
    with tempfile.TemporaryDirectory(prefix="tb-dataplugin-tune-") as folder:
        recorded = record(script, Changes(), Path(folder))
        capture = analyse_file(recorded.trace).capture
        size = capture.loader.batch_size if capture.loader.HasField("batch_size") else None
        loader = chosen(recorded.loaders, capture.loader.num_workers, size)
        facts, script = facts_of(loader, _cpus()), at_place(script, loader)
        try:
            loop, _ = read_loop(recorded.trace)
        except DataPipelineError as error:
            return Captured(script, facts, None, capture, (f"Nothing is predicted: {error}",))
    return Captured(script, facts, WhatIf(loop, facts.made), capture, ())


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _report_of(program: Program | Script, best: Changes, logdir: Path) -> str:
    """The verdict of the best loop's capture, which stays in `logdir`."""
    try:
        if isinstance(program, Script):
            path = record(program, best, logdir.absolute()).trace
        else:
            server = program.start(best)
            try:
                path = Path(server.record(RECORDED, str(logdir)))
            finally:
                server.close()
        sentence = analyse_file(path).capture.verdict.sentence.rstrip(". ")
    except (DataPipelineError, KeyboardInterrupt) as error:  # the ledger is there all the same
        return f"The best run has no capture: {str(error) or 'interrupted'}"
    return f"The best run: {sentence}. More: `tb-dataplugin report {shlex.quote(str(logdir))}`."


def diff(facts: Facts, changes: Changes) -> str:
    """ "" where the source is not there, or the call not found for certain."""
    try:
        source = Path(facts.file).read_bytes().decode()
    except (OSError, ValueError):
        return ""
    name = os.path.relpath(facts.file)
    return diff_of(source, facts.line, changes, Path(facts.file).name if name.startswith("..") else name)
