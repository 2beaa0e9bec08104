"""The ledger as JSON (docs/tune.md); what is not known is absent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from tb_dataplugin.tune.pairs import Ratio
from tb_dataplugin.tune.remainder import Remainder
from tb_dataplugin.tune.running import Forecast, Window
from tb_dataplugin.tune.script import Script
from tb_dataplugin.tune.search import Row, step_of
from tb_dataplugin.tune.server import Program
from tb_dataplugin.tune.setting import Changes, in_effect
from tb_dataplugin.tune.tuning import Tuned

SCHEMA_VERSION: Final = 1


def as_json(tuned: Tuned) -> str:
    outcome, program = tuned.outcome, tuned.program
    rest = tuned.remainder
    answer = {
        "schema_version": SCHEMA_VERSION,
        "target": program.target,
        "step": None if isinstance(program, Script) else _step(program),
        "loader": program.place if isinstance(program, Script) else None,
        "baseline": side(Changes(), outcome.unchanged, tuned),
        "best": {"change": outcome.best.as_dict(), **side(outcome.best, outcome.windows, tuned)},
        "gain": None if outcome.total is None else ratio_dict(outcome.total),
        "runs": [_row(row) for row in outcome.rows],
        "stopped": outcome.stopped,
        "interrupted": outcome.interrupted,
        "diff": tuned.diff or None,
        "code": None if rest is None else _code(rest),
        "notes": list(tuned.notes) or None,
    }
    return json.dumps({name: value for name, value in answer.items() if value is not None}, indent=2)


def _step(program: Program) -> dict[str, Any]:
    return {"ms": program.step_ms, "cpu": program.step_cpu, "device": program.device}


def _code(rest: Remainder) -> dict[str, Any]:
    known = {"stage": rest.stage, "line": rest.where}
    named = {name: value for name, value in known.items() if value}
    wait = {"data_wait_us": rest.wait_s * 1e6, "data_wait_share": rest.share}
    return {**wait, **named, "sentence": rest.sentence}


def side(changes: Changes, windows: Sequence[Window], tuned: Tuned) -> dict[str, Any]:
    """All windows of one setting together."""
    step, facts = step_of(windows), tuned.outcome.facts
    settings = {name: value for name, value in in_effect(changes, facts.made).items() if value is not None}
    found: dict[str, Any] = {
        "settings": settings,
        "step_us": step * 1e6,
        "data_wait_share": sum(one.wait for one in windows) / sum(one.total for one in windows),
        "windows": len(windows),
    }
    if facts.batch_size:
        found["samples_per_s"] = facts.batch_size / step
    return found


def _row(row: Row) -> dict[str, Any]:
    found = {
        "change": row.changes.as_dict(),
        "beside": row.beside.as_dict(),
        "predicted": None if row.forecast is None or row.is_crowded else _ends(row.forecast),
        "measured": None if row.ratio is None else ratio_dict(row.ratio),
        "step_us": None if row.step_s is None else row.step_s * 1e6,
        "beside_step_us": None if row.beside_step_s is None else row.beside_step_s * 1e6,
        "kept": row.kept,
        "why": row.why,
    }
    return {name: value for name, value in found.items() if value is not None}


def ratio_dict(ratio: Ratio) -> dict[str, float]:
    """Step time over that of the other side."""
    return {**_ends(ratio), "pairs": ratio.pairs}


def _ends(range_: Ratio | Forecast) -> dict[str, float]:
    return {"value": range_.value, "low": range_.low, "high": range_.high}
