"""How a number of recorded steps is asked for, in the words of who records."""

from __future__ import annotations

from tb_dataplugin.model.trace import PipelineInfo


def asked_for(pipeline: PipelineInfo | None, steps: int) -> str:
    """``active=30``; where no profiler numbered the steps also as `tb-dataplugin run` has it, which may have recorded
    them: a capture does not say that.
    """
    if pipeline is None or pipeline.step_source == "profiler":
        return f"active={steps}"
    return f"tb-dataplugin run: --active {steps}; annotate.profile: active={steps}"
