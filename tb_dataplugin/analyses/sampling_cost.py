"""What it cost to look at the program's threads."""

from __future__ import annotations

from tb_dataplugin.analyses.results import Results


def sampling_cpus(results: Results) -> float:
    """CPUs of the process that looks at the loop's threads, on average over what was recorded."""
    pipeline = results.trace.info.pipeline
    samples = (pipeline.thread_samples, pipeline.lines) if pipeline else ()
    cost_ns = max((one.cost_ns or 0 for one in samples if one), default=0)
    length_ns = (results.selection.whole if results.selection else results.window).duration_ns
    return cost_ns / length_ns if length_ns else 0.0
