"""Data wait for a DataLoader that is not annotated has a name of its own: it is no stage's of the annotated ones.

What was recorded while the training thread waited for it (its samples, where it has no DataLoader workers) may be code
that the annotated ones run as well, and says nothing of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tb_dataplugin.analyses.attribution import Attribution, DeviceAttribution, shares_of_gaps, totals
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.stages import StageTree, scaled
from tb_dataplugin.analyses.wait_parts import OTHER_LOADER
from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.model.trace import Trace


def name_other_loaders(
    whole: Attribution, trace: Trace, tree: StageTree, devices: tuple[DeviceIdle, ...], theirs: Intervals
) -> Attribution:
    """`theirs`: waits for DataLoaders that are not annotated."""
    if not len(theirs) or whole.wait_by_stage_ns is None:
        return whole
    left = {name: time.minus(theirs) for name, time in whole.by_stage.items()}
    by_stage = {**left, OTHER_LOADER: theirs}
    by_span = whole.wait_by_span_ns
    if by_span is not None:
        inside = (tree.track == trace.training_track) & theirs.contains(tree.start_ns)
        by_span = scaled(np.where(inside, 0, by_span), tree, totals(by_stage))
    return replace(
        whole,
        by_stage=by_stage,
        wait_by_stage_ns=totals(by_stage),
        wait_by_span_ns=by_span,
        devices=tuple(_of_device(*pair, by_stage) for pair in zip(whole.devices, devices, strict=True)),
        wrapped={label: time.minus(theirs) for label, time in whole.wrapped.items()},
        shutdown=whole.shutdown.minus(theirs),
    )


def _of_device(device: DeviceAttribution, idle: DeviceIdle, by_stage: Mapping[str, Intervals]) -> DeviceAttribution:
    waited = device.causes.get("data_wait")
    if waited is None:
        return device
    shares = shares_of_gaps(idle.gaps, {name: time.intersect(waited) for name, time in by_stage.items()})
    return replace(device, by_stage_ns=shares.by_stage_ns, gap_stage=shares.largest, gap_stage_ns=shares.largest_ns)
