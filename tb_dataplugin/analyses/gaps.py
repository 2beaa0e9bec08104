"""The largest idle gaps of a device, each with its causes and what led to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.chains import Chain, ChainFinder
from tb_dataplugin.analyses.idle_causes import CAUSES, Cause
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.limits import ALL_GAPS
from tb_dataplugin.model.intervals import EMPTY


@dataclass(frozen=True, slots=True)
class Gap:
    """`cause` has the largest share of it, `stage` of its data wait, however small that is: "" without any, and where
    no stages are known. `stage_ns` is the stage's part.
    `step`: in which most of it lies, None outside of all. A gap often begins as a step ends.

    `exposed_wait_ns` is the data wait that overlaps it, None when not known. `queued_ns`: of its launch, the part in
    which the host was not late (`IdleCauses.gap_queued_ns`).
    """

    start_ns: int
    duration_ns: int
    cause: Cause
    stage: str
    stage_ns: int
    step: int | None
    exposed_wait_ns: int | None
    by_cause_ns: Mapping[Cause, int]
    chain: Chain
    queued_ns: int = 0


def list_all_gaps(chains: Sequence[ChainFinder], steps: Steps | None, most: int) -> tuple[tuple[Gap, ...], ...]:
    """Per device, at most `most`; of all together no more than `ALL_GAPS`."""
    most = min(most, max(1, ALL_GAPS // max(1, len(chains))))
    return tuple(list_gaps(chain, steps, most) for chain in chains)


def list_gaps(finder: ChainFinder, steps: Steps | None, most: int) -> tuple[Gap, ...]:
    """Of its device: the largest first, at most `most` of them."""
    device, attributed = finder.device, finder.attributed
    waits = EMPTY if finder.loader is None else finder.loader.waits
    gaps, causes = device.gaps, attributed.gap_causes_ns
    waited = waits.overlap(gaps.start, gaps.end)
    listed = []
    for i in np.lexsort((gaps.start, -gaps.durations))[:most].tolist():
        start = int(gaps.start[i])
        by_cause = {cause: int(time[i]) for cause, time in causes.items()}
        listed.append(
            Gap(
                start_ns=start,
                duration_ns=int(gaps.end[i]) - start,
                cause=max((cause for cause in CAUSES if cause in by_cause), key=by_cause.__getitem__),
                stage=attributed.gap_stage[i],
                stage_ns=int(attributed.gap_stage_ns[i]),
                step=None if steps is None else _step_of(steps, start, int(gaps.end[i])),
                exposed_wait_ns=int(waited[i]) if "data_wait" in causes else None,
                by_cause_ns=by_cause,
                chain=finder.of_gap(i),
                queued_ns=int(attributed.gap_queued_ns[i]),
            )
        )
    return tuple(listed)


def _step_of(steps: Steps, start_ns: int, end_ns: int) -> int | None:
    inside = np.minimum(steps.end_ns, end_ns) - np.maximum(steps.start_ns, start_ns)
    most = int(np.argmax(inside)) if len(inside) else -1
    return int(steps.number[most]) if most >= 0 and inside[most] > 0 else None
