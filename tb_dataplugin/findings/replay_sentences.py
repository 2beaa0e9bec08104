"""Why a sample was slow, from what it takes alone."""

from __future__ import annotations

from typing import Final, Literal

from tb_dataplugin.analyses.replayed_samples import ReplayedSample
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.findings.line_texts import line_text
from tb_dataplugin.units import percent

Cause = Literal["itself", "storage", "contention", "unknown"]

AS_SLOW: Final = 0.7
"""Of the time in the capture: a load that takes as much shows where that time went. What is left is within what loads
of one sample differ by, and what a busy machine adds."""


BUSY: Final = 0.2
"""Share of the replay in which it waited for a CPU, from which a slow load from storage may have waited for that."""


def no_cpu_share(results: Results) -> float:
    """Share of the window in which the training thread waited for a CPU; 0 where that is not known."""
    pipeline = results.trace.info.pipeline
    costs = pipeline.training_thread if pipeline else None
    return costs.run_delay_ns / max(1, results.window.duration_ns) if costs else 0.0


def cause_of(sample: ReplayedSample, no_cpu: float) -> Cause:
    """`unknown`: its time in training was not given, its files did not come from storage, or the machine was busy.

    A busy machine makes loads longer, so that the fastest load and the CPU time count.
    """
    captured = sample.captured_ns
    if captured is None:
        return "unknown"
    if max(sample.fastest_ns, sample.cpu_ns or 0) >= AS_SLOW * captured:
        return "itself"
    if sample.cold_ns is None or (no_cpu >= BUSY and sample.cold_ns >= AS_SLOW * captured):
        return "unknown"
    return "storage" if sample.cold_ns >= AS_SLOW * captured else "contention"


def replayed_text(sample: ReplayedSample, no_cpu: float) -> str:
    """One or two sentences, with the line or stage to look at."""
    where = _where(sample)
    if sample.captured_ns is None:
        return f"{where}."
    match cause_of(sample, no_cpu):
        case "itself":
            return f"Slow in itself: it takes as long alone. {where}."
        case "storage":
            return "Storage: only its files make it slow, when they are not in the page cache."
        case "contention":
            return (
                "Contention: alone it is fast, also with its files from storage. In training it waited for a CPU, a "
                "lock or busy storage."
            )
    if sample.cold_ns is None:
        why = "its files could not be removed from the page cache"
    else:
        why = f"the replay itself waited for a CPU for {percent(no_cpu)} of its time, so repeat it on an idle machine"
    return f"Contention or storage, not the sample itself: alone it is fast. Which of the two is unknown: {why}."


def _where(sample: ReplayedSample) -> str:
    if sample.line is not None:
        return f"{percent(sample.line.share)} in {line_text(sample.line)}"
    return f"{percent(sample.stage_share)} in {sample.stage.name}"
