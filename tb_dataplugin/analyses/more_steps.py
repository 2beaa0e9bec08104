"""How a number of recorded steps is asked for, in the words of who records."""

from __future__ import annotations

from math import ceil

from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import PipelineInfo


def asked_for(pipeline: PipelineInfo | None, steps: int) -> str:
    """``active=30``; where no profiler numbered the steps also as `tb-dataplugin run` has it, which may have recorded
    them: a capture does not say that. ``tb-dataplugin attach: --seconds 15`` where seconds were asked for.
    """
    if pipeline is not None and pipeline.asked_s is not None:
        return _longer(pipeline.asked_s, pipeline.step_boundaries_ns, steps)
    if pipeline is None or pipeline.step_source == "profiler":
        return f"active={steps}"
    return f"tb-dataplugin run: --active {steps}; annotate.profile: active={steps}"


def _longer(asked_s: float, boundaries_ns: Int64Array | None, steps: int) -> str:
    """At least as long as the asked seconds for each step that came of them: what lies beside whole steps may again."""
    if boundaries_ns is None:
        return "tb-dataplugin attach: more --seconds"
    lasted_s = float(boundaries_ns[-1] - boundaries_ns[0]) / 1e9
    return f"tb-dataplugin attach: --seconds {ceil(steps * max(asked_s, lasted_s) / (len(boundaries_ns) - 1))}"
