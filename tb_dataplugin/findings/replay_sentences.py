"""Why a sample was slow, from what it takes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from tb_dataplugin.analyses.replayed_samples import ReplayedSample
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.findings.evidence import Evidence, number
from tb_dataplugin.findings.line_texts import MOSTLY, line_text
from tb_dataplugin.units import count, duration, listed, percent, plural

Cause = Literal["itself", "storage", "contention", "ordinary", "unknown", "other_loader"]

AS_SLOW: Final = 0.7
"""Of what it took longer than the median sample in the capture: a load that takes as much longer than usual samples
alone shows where that time went. What is left is within what loads of one sample differ by, and what a busy machine
adds."""

SLOW: Final = 1.5
"""Times the median sample, below which samples differ by as much as a matter of course."""

STANDS_OUT: Final = 3.0
"""Times a usual sample: one that takes as long alone is slow, whatever held it up in training."""

PART: Final = 0.25
"""Of the time in the capture, that such a load must have at least."""

COLD: Final = 1.5
"""Times as long as with its files in the page cache, from which storage makes a difference."""

HELD_UP: Final = "in training something held it up as well"

BUSY: Final = 0.2
"""Share of the replay in which it waited for a CPU, from which a slow load from storage may have waited for that."""


IN_SHORT: Final[Mapping[Cause, tuple[str, str]]] = {
    "itself": ("slow in itself", "slow in themselves"),
    "storage": ("storage", "storage"),
    "contention": ("contention", "contention"),
    "unknown": ("contention or storage", "contention or storage"),
    "other_loader": ("unclear, maybe of another DataLoader", "unclear, maybe of another DataLoader"),
    "ordinary": ("not slow", "not slow"),
}
"""Of one and of several samples that a capture named, in the order of what one can do about it."""

OF_SAMPLE: Final = ("itself", "storage")
"""Causes whose samples are worth a look."""

NAMED: Final = 3


def no_cpu_share(results: Results) -> float:
    """Share of the window in which the training thread waited for a CPU; 0 where that is not known."""
    pipeline = results.trace.info.pipeline
    costs = pipeline.training_thread if pipeline else None
    return costs.run_delay_ns / max(1, results.window.duration_ns) if costs else 0.0


def cause_of(sample: ReplayedSample, no_cpu: float) -> Cause:
    """`unknown`: its time in training was not given, its files did not come from storage, or the machine was busy.
    `other_loader`: it may be another DataLoader's: one that does not run the stage which took the time, or one with
    other settings in which the sample is fast.

    A busy machine makes loads longer: those of usual samples as well, so that the median load counts beside theirs;
    without them the fastest load and the CPU time.
    """
    captured = sample.captured_ns
    if captured is None:
        return "unknown"
    if sample.typical_ns is not None and captured < SLOW * sample.typical_ns:
        return "ordinary"
    if sample.absent:
        return "other_loader"
    cause = _of_this_loader(sample, no_cpu)
    return "other_loader" if sample.differs and cause in ("contention", "unknown") else cause


def _of_this_loader(sample: ReplayedSample, no_cpu: float) -> Cause:
    if _explains(sample, _alone_ns(sample)):
        return "itself"
    if sample.storage_share is not None and _reads_slowly(sample):
        return "storage"
    if _stands_out(sample, _alone_ns(sample)):
        return "itself"
    if _reads_slowly(sample):
        return "storage"
    cold = sample.cold_ns
    if cold is None:
        return "unknown" if sample.reads and not _was_in_memory(sample) else "contention"
    if not _may_be_storage(sample) or not (_explains(sample, cold) or _stands_out(sample, cold)):
        return "contention"
    return "storage" if no_cpu < BUSY else "unknown"


def _alone_ns(sample: ReplayedSample) -> int:
    return max(sample.fastest_ns, sample.cpu_ns or 0) if sample.usual_ns is None else sample.warm_ns


def _explains(sample: ReplayedSample, load_ns: int) -> bool:
    """Whether such a load is as slow among loads alone as the sample was among those in training. Where neither is
    known, as long.
    """
    captured, typical = sample.captured_ns or 0, sample.typical_ns
    if not typical:
        return load_ns >= AS_SLOW * captured
    return load_ns / (sample.usual_ns or typical) - 1 >= AS_SLOW * (captured / typical - 1)


def _stands_out(sample: ReplayedSample, load_ns: int) -> bool:
    """Whether such a load would stand out as well: something else made it longer still, which is not why it is slow."""
    usual = sample.usual_ns or sample.typical_ns
    if usual is None or sample.captured_ns is None:
        return False
    return load_ns >= max(STANDS_OUT * usual, PART * sample.captured_ns)


def _may_be_storage(sample: ReplayedSample) -> bool:
    """Whether storage makes a difference, and nothing says that its files did not come from there."""
    return not _was_in_memory(sample) and sample.cold_ns is not None and sample.cold_ns >= COLD * sample.warm_ns


def _was_in_memory(sample: ReplayedSample) -> bool:
    """What was read for it in training; False also where that is not known."""
    return sample.storage_share is not None and sample.storage_share < MOSTLY


def _reads_slowly(sample: ReplayedSample) -> bool:
    """Whether reading its files took the time in training, and they came from storage there, or where that was not
    measured storage makes it longer alone too: storage that others used as well is slower in training than alone.
    """
    if sample.read_ns is None or sample.captured_ns is None or sample.read_ns < AS_SLOW * sample.captured_ns:
        return False
    return _may_be_storage(sample) if sample.storage_share is None else sample.storage_share >= MOSTLY


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
        case "ordinary":
            took, typical = _times(sample.captured_ns, sample.typical_ns)
            return f"Not slow: in training it took {took}, and the median sample {typical}."
        case "contention":
            at = f" It was at {sample.captured_line} most of that time." if sample.captured_line else ""
            alone = f"alone {_fast(sample)}, {_whence(sample)}"
            return f"Contention: {alone}. In training it waited for {_for(sample)}.{at}"
        case "other_loader":
            return f"Unclear, as this may not be that capture's DataLoader: {_doubt(sample)}."
    if sample.cold_ns is None:
        why = "its files could not be removed from the page cache"
        if not sample.files:
            why = "which files it reads, if any, is not known, so they were not removed from the page cache"
    else:
        why = f"the replay itself waited for a CPU for {percent(no_cpu)} of its time, so repeat it on an idle machine"
    return f"Contention or storage, not the sample itself: alone {_fast(sample)}. Which of the two is unknown: {why}."


def replayed_evidence(results: Results) -> tuple[Evidence, ...]:
    """What a replay of samples named from a capture is for, in one line; none where no sample has its time there."""
    no_cpu = no_cpu_share(results)
    named = [sample for sample in results.replayed_samples if sample.captured_ns is not None]
    if not named:
        return ()
    causes = [cause_of(sample, no_cpu) for sample in named]
    parts = []
    for cause, words in IN_SHORT.items():
        found = [sample.index for sample, why in zip(named, causes, strict=True) if why == cause]
        if found:
            which = f" (index {_first(found)})" if cause in OF_SAMPLE else ""
            parts.append(f"{count(len(found))} {words[len(found) > 1]}{which}")
    text = f"{plural(len(named), 'replayed sample')}: {', '.join(parts)}"
    return (number("replayed_samples", causes.count("itself"), "count", text),)


def _first(indices: Sequence[int]) -> str:
    left = len(indices) - NAMED
    return listed([*indices[:NAMED], f"{count(left)} more"] if left > 0 else indices)


def _compared(sample: ReplayedSample) -> str:
    is_as_long = sample.captured_ns is None or _alone_ns(sample) >= AS_SLOW * sample.captured_ns
    if sample.usual_ns is not None:
        alone, usual = _times(_alone_ns(sample), sample.usual_ns)
        return f"alone it takes {alone}, and a usual sample {usual}{'' if is_as_long else f'; {HELD_UP}'}"
    if is_as_long or sample.typical_ns is None:
        return "it takes as long alone"
    alone, typical = _times(_alone_ns(sample), sample.typical_ns)
    return f"alone it takes {alone}, and the median sample {typical} in training; {HELD_UP}"


def _fast(sample: ReplayedSample) -> str:
    if sample.usual_ns is None:
        return "it is fast"
    alone, usual = _times(_alone_ns(sample), sample.usual_ns)
    return f"it takes {alone}, and a usual sample {usual}"


def _doubt(sample: ReplayedSample) -> str:
    """Why it may be another DataLoader's, and what to do."""
    named = "name the one that was captured"
    if sample.absent:
        why = f"{sample.absent}, which took most of the sample's time in training, never ran in the replay"
        return f"{why}; {named}, or if {sample.absent} runs only at times, replay again"
    return f"{listed(sample.differs)}, and alone {_fast(sample)}; {named}"


def _for(sample: ReplayedSample) -> str:
    """What a sample waits for that is fast alone."""
    if sample.reads:
        return "a CPU or a lock" if sample.storage_share == 0 else "a CPU, a lock or busy storage"
    if sample.storage_share == 0:
        return "a CPU or a lock"
    return "a CPU or a lock, or for storage if it reads from a memory map"


def _whence(sample: ReplayedSample) -> str:
    if not sample.reads:
        return "and it opened no file"
    if _was_in_memory(sample):
        return "and what was read for it in training was in memory"
    return "also with its files from storage"


def _times(*times_ns: int | None) -> tuple[str, ...]:
    return tuple(duration((time or 0) / 1e3) for time in times_ns)


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
