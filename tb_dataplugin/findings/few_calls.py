"""What to do about a stage of which a few calls have most of the time."""

from __future__ import annotations

from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.analyses.line_waits import named_wait
from tb_dataplugin.findings.calls import AllCalls
from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.findings.hot import definition, line_evidence
from tb_dataplugin.findings.line_texts import WAITS
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
    return OF_SOME.format(median=duration(calls.median_us), what=what, these=these, line=_line(calls))


def few_calls_line(signals: Signals, stage: Stage, calls: AllCalls) -> tuple[Evidence, ...]:
    """The line of these calls: what has most of the stage's time may be the usual ones'."""
    return line_evidence(calls.long_line, _whole(calls), stage.name) or definition(signals, stage.name)


def _whole(calls: AllCalls) -> str:
    return f"the self time of {'that call' if calls.is_one else 'these calls'}"


def _line(calls: AllCalls) -> str:
    """Where these calls spend their time; the usual ones may have others."""
    line = calls.long_line
    if line is None or line.share < HOT_LINE:
        return ""
    named = named_wait(line.source)
    return f". {line.share_of(_whole(calls))} is {line.text}{f', which {WAITS[named]}' if named else ''}"
