"""What the loop did on copies of batches, beside what it does with its loader: in one run, no profiler on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.resampling import Estimate, Floats, blocks, interval, with_resamples
from tb_dataplugin.analyses.step_table import StepTable
from tb_dataplugin.model.trace import HeadspaceSteps, LoaderInfo


@dataclass(frozen=True, slots=True)
class Headspace:
    """Mean steps in ns, each with a 95% interval: `step_ns` on copies, `own_ns` with the loader, right before.

    `times_faster`: the one over the other. `device_idle`: share of a step on copies in which the first device would be
    idle if it were as busy per step as in the window; None without a device. Rates are None without a batch size.
    """

    recorded: HeadspaceSteps
    step_ns: Estimate
    own_ns: Estimate
    times_faster: Estimate
    samples_per_s: Estimate | None
    own_samples_per_s: Estimate | None
    device_idle: float | None


def find_headspace(
    recorded: HeadspaceSteps | None,
    settings: LoaderInfo | None,
    table: StepTable | None,
    devices: Sequence[DeviceIdle],
    samples: int | None = None,
) -> Headspace | None:
    """None where it was not measured. `samples`: in the steps of the window, if that is known."""
    if recorded is None:
        return None
    workers = settings.num_workers if settings else None
    step, own = (_resampled(times, workers or 1) for times in (recorded.step_ns, recorded.own_ns))
    size: float | None = settings.batch_size if settings else None
    if samples and table and table.rows:
        size = samples / len(table.rows)
    busy = devices[0].busy.total_ns / len(table.rows) if devices and table and table.rows else None
    return Headspace(
        recorded=recorded,
        step_ns=interval(step),
        own_ns=interval(own),
        times_faster=interval(own / step),
        samples_per_s=None if size is None else interval(size * 1e9 / step),
        own_samples_per_s=None if size is None else interval(size * 1e9 / own),
        device_idle=None if busy is None else max(0.0, 1.0 - busy / float(step[0])),
    )


def _resampled(times_ns: Sequence[int], workers: int) -> Floats:
    """The mean, then those of resamples. DataLoader workers finish in rounds, which stay together."""
    times = np.array(times_ns, dtype=np.float64)
    resamples = with_resamples(times, blocks(np.random.default_rng(0), len(times), period=workers))
    shortest: Floats = np.maximum(resamples, times.min())
    return shortest
