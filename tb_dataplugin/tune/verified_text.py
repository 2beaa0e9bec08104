"""What `verify` says: a finding's bound beside what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tb_dataplugin.export.paragraphs import page, title, wrap
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.shown import shown
from tb_dataplugin.tune.as_json import ratio_dict
from tb_dataplugin.tune.server import Program
from tb_dataplugin.tune.verifying import Verified
from tb_dataplugin.units import change, duration, interval, more_or_less

SCHEMA_VERSION: Final = 1


def as_text(verified: Verified, program: Program, style: Style) -> str:
    return page(_lines(verified, program, style), style)


def _lines(verified: Verified, program: Program, style: Style) -> Iterator[str]:
    finding, ratio = verified.finding, verified.beside.ratio
    bound = finding.gain_text or "gain unknown"
    relative = f"{change(ratio.value - 1)} (95% interval {interval(ratio.low - 1, ratio.high - 1)})"
    yield from title(f"verify   {finding.rule}: {shown(finding.title)}", style)
    yield from wrap(f"Advice:    {verified.changed.text}   beside   {verified.base.text}", "", "           ")
    yield from wrap(f"Bound:     {bound}", "", "           ")
    yield from wrap(f"Measured:  {_measured(verified)}; step {relative}", "", "           ")
    yield ""
    yield from wrap(f"{verified.verdict} {program.step_text}", "")


def _measured(verified: Verified) -> str:
    """Of a batch. Ends are without "more" or "less" only where both are savings."""
    saved, least, most = verified.saved_us
    takes = f"saves {duration(saved)}" if saved >= 0 else f"takes {more_or_less(-saved)}"
    if least >= 0:
        ends = f"{duration(least)} to {duration(most)}"
    else:
        ends = f"{more_or_less(-most)} to {more_or_less(-least)}"
    return f"{takes} per batch (95% interval {ends}, {verified.beside.ratio.pairs} pairs of windows)"


def as_json(verified: Verified, program: Program) -> str:
    """docs/tune.md; what is not known is absent."""
    finding, (saved, least, most) = verified.finding, verified.saved_us
    answer: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "finding": finding.rule,
        "step": {"ms": program.step_ms, "cpu": program.step_cpu, "device": program.device},
        "base": verified.base.as_dict(),
        "change": verified.changed.as_dict(),
        "measured": ratio_dict(verified.beside.ratio),
        "saved_us": {"value": saved, "low": least, "high": most},
        "verdict": verified.verdict,
    }
    if verified.bound_us is not None:
        answer["bound_us"] = verified.bound_us
    return json.dumps(answer, indent=2)
