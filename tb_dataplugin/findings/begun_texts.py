"""Calls that began before the window, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from tb_dataplugin.analyses.begun_before import BegunBefore
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.units import duration, plural


def before_sentence(found: BegunBefore) -> str:
    """``Of its data wait, 180 ms is of 1 call that began before the window ...; the other numbers are without it.``"""
    return (
        f"Of its data wait, {_text(found, '')}; the other numbers are without {'it' if found.count == 1 else 'them'}."
    )


def _text(found: BegunBefore, of: str) -> str:
    sample = [] if found.index is None else [f"index {found.index}"]
    named = ", ".join(sample + [PurePath(file).name for file in found.files[:1]])
    took = "took" if found.count == 1 else "took up to"
    which = f" ({named})" if named else ""
    calls = f"{plural(found.count, 'call')} that began before the window and {took} {duration(found.longest_ns / 1e3)}"
    return f"{duration(found.wait_ns / 1e3)}{of} is of {calls}{which}"


def begun_before_evidence(rows: Iterable[StageCalls]) -> Iterator[Evidence]:
    for row in rows:
        if row.before is not None:
            text = _text(row.before, " of that data wait")
            yield time("begun_before", row.before.wait_ns / 1e3, text, stage=row.stage.name)
