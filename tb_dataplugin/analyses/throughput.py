"""Samples per second: reached, and what reading (F), preparation (P) and the device side (G) alone could sustain.

After DS-Analyzer (VLDB 2021): a run is input-bound when G > min(F, P). There they take three runs; here one trace gives
all three, from the time that each part used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotate.trace_format import parse_span_name
from tb_dataplugin.analyses.attribution import OTHER, Attribution
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import LoaderInfo, Trace

BATCHED_FETCH = ".__getitems__"
"""Ends the label of a `sample` span that stands for a whole batch fetched at once."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rates in samples per second; None: the trace does not tell."""

    samples: int
    reached: float
    read: float | None
    prepare: float | None
    device: float | None


def find_throughput(
    trace: Trace,
    tree: StageTree,
    window: Window,
    loader: LoaderWait | Unavailable,
    devices: tuple[DeviceIdle, ...] | Unavailable,
    attribution: Attribution,
) -> Throughput | Unavailable:
    samples = count_samples(trace, tree, window, loader)
    if not samples or not window.duration_ns or isinstance(loader, Unavailable):
        message = "The trace does not tell how many samples were loaded, so samples per second are unknown"
        return Unavailable("throughput", "no_sample_count", message)
    spent = _spent_waiting(attribution)
    busy = 0 if isinstance(devices, Unavailable) else devices[0].busy.total_ns
    consumer = max(busy, window.duration_ns - loader.waits.total_ns)
    replaying = trace.info.mode == "replay"
    return Throughput(
        samples=samples,
        reached=_rate(samples, window.duration_ns) or 0.0,
        read=_rate(samples, spent[0]) if spent else None,
        prepare=_rate(samples, spent[1]) if spent else None,
        device=None if replaying else _rate(samples, consumer),
    )


def main_loader(trace: Trace) -> LoaderInfo | None:
    """The loader that the capture is about: the first that was recorded; else what torch's own spans tell of it."""
    pipeline = trace.info.pipeline
    if pipeline and pipeline.loaders:
        return pipeline.loaders[0]
    return LoaderInfo(num_workers=0) if trace.info.single_process_loader else None


def count_samples(trace: Trace, tree: StageTree, window: Window, loader: LoaderWait | Unavailable) -> int:
    """Sample spans in the window; else batch size times waits, when the capture recorded the batch size. 0: unknown."""
    single = [path[-1].kind == "sample" and not path[-1].label.endswith(BATCHED_FETCH) for path in tree.paths]
    inside = (tree.start_ns >= window.start_ns) & (tree.start_ns < window.end_ns)
    if any(single):
        return int((inside & np.array(single)[tree.node]).sum())
    settings = main_loader(trace)
    if isinstance(loader, Unavailable) or settings is None or settings.batch_size is None:
        return 0
    return settings.batch_size * len(loader.duration_ns)


def _spent_waiting(attribution: Attribution) -> tuple[int, int] | None:
    """Waiting time that went to reading, and to all other stages."""
    blame = attribution.wait_by_stage_ns
    if isinstance(blame, Unavailable):
        return None
    kinds = {name: stage.kind for name in blame if (stage := parse_span_name(name))}
    read = sum(time for name, time in blame.items() if kinds.get(name) == "read")
    rest = sum(time for name, time in blame.items() if name != OTHER and kinds.get(name) != "read")
    return read, rest


def _rate(samples: int, spent_ns: int) -> float | None:
    return samples / spent_ns * 1e9 if spent_ns > 0 else None
