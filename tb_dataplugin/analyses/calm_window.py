"""Whether the steps before the window took longer than those in it, by more than chance: then the window shows a fast
stretch of a jerky loop, or the loop has just become faster.

The recording can slow a window down, so only a window that is faster is certain. A loop that was slow at its beginning
and has settled since is none of this: the steps before have to be slower without their first third as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.evaluation import find_evaluation
from tb_dataplugin.analyses.more_steps import asked_for
from tb_dataplugin.analyses.resampling import Floats, blocks, interval, thinned, with_resamples
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.steady_state import LEAST_STEPS, MOST_VALUES
from tb_dataplugin.analyses.steps import find_steps
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.trace import PipelineInfo
from tb_dataplugin.units import duration, plural

SAME: Final = 1.1
"""Times as long, up to which steps before a window count as like those in it: ``wait="auto"`` takes as much for a loop
that has settled.
"""


@dataclass(frozen=True, slots=True)
class CalmWindow:
    """So many steps, and how long they took on average (ns), `before` the window and `inside` it."""

    before: int
    before_ns: float
    inside: int
    inside_ns: float


def find_calm_window(results: Results) -> CalmWindow | None:
    """Of the whole capture; None where the steps before it were not recorded, or took no longer for sure. Batches of an
    evaluation are no stretch of the loop that those are of.
    """
    pipeline, steps = results.trace.info.pipeline, find_steps(results.trace)
    if pipeline is None or pipeline.mode != "train" or isinstance(steps, Unavailable):
        return None
    if find_evaluation(results.trace) is not None:
        return None
    before, inside = np.array(pipeline.steps_before_us) * 1e3, steps.duration_ns.astype(np.float64)
    later, lasting = before[len(before) // 3 :], inside + _hidden_ns(results)
    period = max((loader.num_workers or 0 for loader in pipeline.loaders), default=0)
    if all(_is_slower(part, lasting, max(1, period)) for part in (before, later)):
        return CalmWindow(len(before), float(before.mean()), len(inside), float(inside.mean()))
    return None


def _hidden_ns(results: Results) -> float:
    """Data wait per step that a queue hides while it empties: the report reckons with it."""
    steady = results.steady
    return 0.0 if steady is None or steady.wait is None else max(0.0, steady.wait.value - steady.measured_ns)


def _is_slower(before: Floats, inside: Floats, period: int) -> bool:
    if min(len(before), len(inside)) < LEAST_STEPS:
        return False
    random = np.random.default_rng(0)
    thin = [thinned(each, MOST_VALUES) for each in (before, inside)]
    longer, shorter = (with_resamples(each, blocks(random, len(each), period)) for each in thin)
    return bool(shorter.min() > 0) and interval(longer / shorter).low > SAME


def calm_sentence(found: CalmWindow, pipeline: PipelineInfo | None) -> str:
    more = -(-max(found.before, 2 * found.inside) // 10) * 10
    return (
        f"The {plural(found.before, 'step')} before the window took {duration(found.before_ns / 1e3)} each on average, "
        f"those in it {duration(found.inside_ns / 1e3)}: the window shows a fast stretch of this loop, or the loop has "
        "just become faster. Times and gains are those of this stretch. Record more steps "
        f"({asked_for(pipeline, more)})."
    )
