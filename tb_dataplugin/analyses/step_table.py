"""What each step's time went to: data wait, device work, idle time by cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.apart import Apart
from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.steps import Steps


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step, on the first device: ``device_busy + idle_data_wait + idle_other = duration``.

    `data_wait_ns` is None without wait spans; the device's times are None without a device, `idle_data_wait_ns` also
    where the data wait is not known. `apart_ns`: data wait that is told apart. `between_ns`: none of it, and no part of
    the loop either (`Apart.between`).
    """

    number: int
    start_ns: int
    duration_ns: int
    data_wait_ns: int | None
    device_busy_ns: int | None
    idle_data_wait_ns: int | None
    idle_other_ns: int | None
    idle_by_cause_ns: Mapping[Cause, int]
    apart_ns: int = 0
    between_ns: int = 0


@dataclass(frozen=True, slots=True)
class StepTable:
    """Steps by start time, and their duration over all of them."""

    rows: tuple[StepRow, ...]
    mean_ns: float
    p50_ns: float
    p95_ns: float


def tabulate_steps(
    steps: Steps, loader: LoaderWait | None, devices: tuple[DeviceIdle, ...], attribution: Attribution, apart: Apart
) -> StepTable:
    start, end, duration = steps.start_ns, steps.end_ns, steps.duration_ns
    waited = None if loader is None else loader.waits.overlap(start, end)
    not_mine, between = apart.waits.overlap(start, end), apart.between.overlap(start, end)
    busy = devices[0].busy.overlap(start, end) if devices else None
    causes = attribution.devices[0].causes if attribution.devices else {}
    idle = {cause: time.overlap(start, end) for cause, time in causes.items()}
    rows = []
    for i in range(len(steps)):
        by_cause = {cause: int(time[i]) for cause, time in idle.items()}
        own_busy = None if busy is None else int(busy[i])
        idle_data_wait = by_cause.get("data_wait")
        rows.append(
            StepRow(
                number=int(steps.number[i]),
                start_ns=int(start[i]),
                duration_ns=int(duration[i]),
                data_wait_ns=None if waited is None else int(waited[i]),
                device_busy_ns=own_busy,
                idle_data_wait_ns=idle_data_wait,
                idle_other_ns=None if own_busy is None else int(duration[i]) - own_busy - (idle_data_wait or 0),
                idle_by_cause_ns=by_cause,
                apart_ns=int(not_mine[i]),
                between_ns=int(between[i]),
            )
        )
    p50, p95 = np.percentile(duration, (50, 95)).tolist()
    return StepTable(tuple(rows), float(duration.mean()), p50, p95)
