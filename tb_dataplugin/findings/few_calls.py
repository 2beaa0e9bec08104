"""What to do about a stage of which a few calls have most of the time."""

from __future__ import annotations

from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.findings.calls import AllCalls
from tb_dataplugin.findings.line_texts import WAITS
from tb_dataplugin.findings.own_reads import wait_of_line
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HOT_LINE
from tb_dataplugin.units import duration

OF_FIRST: Final = (
    "The first call of a stage in a process often pays for imports, compilation or a cold cache. {keep}ake "
    "that call once before the loop; {more} to see what remains."
)
KEEP: Final = "Where DataLoader workers start anew in each epoch, keep them (persistent_workers=True), or m"
OF_SOME: Final = "Half of all calls take {median} or less: see for which {what} {these} longer{line}."

OF_BATCHES: Final = ("sampler", "collate", "wrapper")
"""Kinds of stages that are called for batches."""


def few_calls_advice(signals: Signals, stage: Stage, calls: AllCalls) -> str:
    if calls.may_be_first:
        keep = KEEP if signals.num_workers else "M"
        more = "choose later steps" if signals.has_later_steps else "capture more steps"
        return OF_FIRST.format(keep=keep, more=more)
    these = "one takes so much" if calls.is_one else "a few take so much"
    what = "samples" if stage.kind not in OF_BATCHES else "batches"
    return OF_SOME.format(median=duration(calls.median_us), what=what, these=these, line=_line(signals, stage))


def _line(signals: Signals, stage: Stage) -> str:
    """Where the stage spends its time."""
    line = signals.stage_lines.get(stage.name)
    if line is None or line.share < HOT_LINE:
        return ""
    named = wait_of_line(signals, stage)
    return f". {line.share_of('its time')} is {line.text}{f', which {WAITS[named]}' if named else ''}"
