"""What recording took of a CPU, in one number, and the parts that it is the sum of."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.analyses.lock_time import own_lock_ns
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stage_weight import readers_extra_us
from tb_dataplugin.units import duration, percent, plural


@dataclass(frozen=True, slots=True)
class RecordingCost:
    """CPU time, and the share of one CPU with all parts in words, between semicolons."""

    us: float
    text: str


def recording_cost(results: Results) -> RecordingCost | None:
    """Of markers, of spans in DataLoader workers, and of sampling stacks; None where nothing is known, or of
    some steps only."""
    pipeline = results.trace.info.pipeline
    if pipeline is None or results.selection is not None:
        return None
    sampling_ns = results.lines.cost_ns if results.lines else None
    own, theirs = readers_extra_us(results.trace, results.tree)
    parts = {
        plural(pipeline.marker_count or 0, "marker"): _with(own, pipeline.recorder_overhead_us),
        f"{plural(pipeline.worker_span_count or 0, 'span')} in DataLoader workers": _with(
            theirs, pipeline.worker_overhead_us
        ),
        "sampling of stacks": (sampling_ns or 0) / 1e3,
    }
    known = {name: us for name, us in parts.items() if us}
    if not known:
        return None
    whole = sum(known.values())
    window_us = results.window.duration_ns / 1e3
    share = [f"{percent(whole / window_us)} of one CPU"] if window_us else []
    parts_in_words = [f"{name}: {duration(us)}" for name, us in known.items()]
    held_ns = own_lock_ns(results.limits.holders_ns) if results.limits else 0
    lock = [f"Python's lock, for which the training thread waited: {duration(held_ns / 1e3)}"] if held_ns else []
    return RecordingCost(whole, "; ".join((*share, *parts_in_words, *lock)))


def _with(extra_us: float, us: float | None) -> float | None:
    return us + extra_us if us else None
