"""Which rows of a trace its report needs.

All that analyses look at is in a `Trace`; of its rows they read the categories in `READ`. Of operators inside other
operators they read nothing: of operators only the union of their times counts, and which are the outermost ones in
some part of the trace. So an operator goes where the one around it began in the same part: parts end where waits and
steps begin and end, since it is by those that analyses choose among operators. Collectives stay, and what reads
values back from a device, whose own times are read, and those of the training thread where they are counted.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tb_dataplugin.analyses.host_activity import Mask, matching, operator_rows, outermost_rows
from tb_dataplugin.analyses.launches import Rows
from tb_dataplugin.analyses.stages import groups
from tb_dataplugin.analyses.step_lines import READBACK
from tb_dataplugin.limits import LIMIT_PREFIX
from tb_dataplugin.model.events import DEVICE_ACTIVITY, Category
from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.reader.annotations import has_meaning

READ: Final = (Category.CPU_OP, Category.USER_ANNOTATION, Category.RUNTIME, *DEVICE_ACTIVITY)


def surviving_rows(trace: Trace) -> Rows:
    """Rows of the event table, ascending. Where the trace was over a limit, operators in operators stay too.

    Each thread and stream keeps its first row: the report numbers them.
    """
    keep = trace.events.is_category(*READ)
    if not any(one.code.startswith(LIMIT_PREFIX) for one in trace.diagnostics):
        keep &= ~_inner_operators(trace)
    keep[np.unique(trace.events.track, return_index=True)[1]] = True
    return np.flatnonzero(keep & (trace.events.category != Category.OTHER))


def _inner_operators(trace: Trace) -> Mask:
    events = trace.events
    by_name = np.array([has_meaning(name) for name in trace.names], dtype=np.bool_)
    read_by_name = matching(trace, READBACK) | (by_name[events.name] if len(by_name) else False)
    rows = operator_rows(trace)
    parts = np.searchsorted(_boundaries(trace), events.start_ns, side="right")
    inner = np.zeros(len(events), dtype=np.bool_)
    for _, mine in groups(events.track, rows):
        around = outermost_rows(trace, mine)
        place = np.searchsorted(events.start_ns[around], events.start_ns[mine], side="right") - 1
        outer = around[place]
        inner[mine] = (outer != mine) & (events.end_ns[outer] >= events.end_ns[mine]) & (parts[outer] == parts[mine])
    return inner & ~read_by_name & ~_counted(trace)


def _counted(trace: Trace) -> Mask:
    """Operators of the training thread, where the report says what recording so many of them costs."""
    pipeline, track = trace.info.pipeline, trace.training_track
    if pipeline is None or pipeline.operator_us is None or track is None:
        return np.zeros(len(trace.events), dtype=np.bool_)
    counted: Mask = trace.events.track == track
    return counted


def _boundaries(trace: Trace) -> Int64Array:
    """Where waits and steps begin and end, sorted."""
    events, spans = trace.events, trace.stage_spans
    rows = np.concatenate((trace.steps.row, spans.row[spans.is_kind("wait")]))
    pipeline = trace.info.pipeline
    own = None if pipeline is None else pipeline.step_boundaries_ns
    known = (events.start_ns[rows], events.end_ns[rows], np.zeros(0, dtype=np.int64) if own is None else own)
    return np.unique(np.concatenate(known))
