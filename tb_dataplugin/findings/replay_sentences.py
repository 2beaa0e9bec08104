"""Why a sample was slow, from what it takes alone."""

from __future__ import annotations

from typing import Final, Literal

from tb_dataplugin.analyses.replayed_samples import ReplayedSample
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.findings.line_texts import MOSTLY, line_text
from tb_dataplugin.units import duration, percent

Cause = Literal["itself", "storage", "contention", "unknown"]

AS_SLOW: Final = 0.7
"""Of the time in the capture: a load that takes as much shows where that time went. What is left is within what loads
of one sample differ by, and what a busy machine adds."""


STANDS_OUT: Final = 3.0
"""Times the median sample: one that takes as long alone is slow, whatever held it up in training."""

PART: Final = 0.25
"""Of the time in the capture, that such a load must have at least."""

COLD: Final = 1.5
"""Times as long as with its files in the page cache, from which storage makes a difference."""

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
    if _alone_ns(sample) >= AS_SLOW * captured:
        return "itself"
    if sample.storage_share is not None and _reads_slowly(sample):
        return "storage"
    if _stands_out(sample, _alone_ns(sample)):
        return "itself"
    if _reads_slowly(sample):
        return "storage"
    if sample.cold_ns is None or (no_cpu >= BUSY and sample.cold_ns >= AS_SLOW * captured):
        return "unknown"
    is_cold = sample.cold_ns >= AS_SLOW * captured or (no_cpu < BUSY and _stands_out_cold(sample))
    return "storage" if is_cold else "contention"


def _alone_ns(sample: ReplayedSample) -> int:
    return max(sample.fastest_ns, sample.cpu_ns or 0)


def _stands_out(sample: ReplayedSample, load_ns: int) -> bool:
    """Whether such a load would stand out as well: something else made it longer still, which is not why it is slow."""
    if sample.typical_ns is None or sample.captured_ns is None:
        return False
    return load_ns >= max(STANDS_OUT * sample.typical_ns, PART * sample.captured_ns)


def _stands_out_cold(sample: ReplayedSample) -> bool:
    """Whether storage alone makes it stand out, and nothing says that its files did not come from there."""
    cold = sample.cold_ns
    if cold is None or sample.storage_share is not None:
        return False
    return cold >= COLD * sample.warm_ns and _stands_out(sample, cold)


def _reads_slowly(sample: ReplayedSample) -> bool:
    """Whether reading its files took the time in training, and they came from storage there, or where that was not
    measured storage makes it longer alone too: storage that others used as well is slower in training than alone.
    """
    if sample.read_ns is None or sample.captured_ns is None or sample.read_ns < AS_SLOW * sample.captured_ns:
        return False
    if sample.storage_share is not None:
        return sample.storage_share >= MOSTLY
    return sample.cold_ns is not None and sample.cold_ns >= COLD * sample.warm_ns


def replayed_text(sample: ReplayedSample, no_cpu: float) -> str:
    """Sentences with the line or stage to look at."""
    where = _where(sample)
    if sample.captured_ns is None:
        return f"{where}."
    match cause_of(sample, no_cpu):
        case "itself":
            return f"Slow in itself: {_compared(sample)}. {where}."
        case "storage":
            return f"Storage: {_storage(sample)}."
        case "contention":
            at = f" It was at {sample.captured_line} most of that time." if sample.captured_line else ""
            return (
                "Contention: alone it is fast, also with its files from storage. In training it waited for a CPU, a "
                f"lock or busy storage.{at}"
            )
    if sample.cold_ns is None:
        why = "its files could not be removed from the page cache"
    else:
        why = f"the replay itself waited for a CPU for {percent(no_cpu)} of its time, so repeat it on an idle machine"
    return f"Contention or storage, not the sample itself: alone it is fast. Which of the two is unknown: {why}."


def _compared(sample: ReplayedSample) -> str:
    if sample.captured_ns is None or _alone_ns(sample) >= AS_SLOW * sample.captured_ns or sample.typical_ns is None:
        return "it takes as long alone"
    alone, typical = duration(_alone_ns(sample) / 1e3), duration(sample.typical_ns / 1e3)
    return f"alone it takes {alone}, and the median sample {typical} in training, where something held it up as well"


def _storage(sample: ReplayedSample) -> str:
    if sample.read_ns is None or sample.captured_ns is None or not _reads_slowly(sample):
        return "only its files make it slow, when they are not in the page cache"
    part = percent(sample.read_ns / sample.captured_ns)
    came = ""
    if sample.storage_share is not None:
        came = ", most of it for storage"
    return f"reading its files took {part} of its time in training{came}"


def _where(sample: ReplayedSample) -> str:
    if sample.line is not None:
        return f"{percent(sample.line.share)} in {line_text(sample.line)}"
    return f"{percent(sample.stage_share)} in {sample.stage.name}"
