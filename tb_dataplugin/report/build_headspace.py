"""The headspace in the report: ns to us."""

from __future__ import annotations

from tb_dataplugin.analyses.headspace import Headspace
from tb_dataplugin.analyses.resampling import Estimate
from tb_dataplugin.report import report_pb2 as pb


def headspace_report(headspace: Headspace, sentence: str) -> pb.Headspace:
    recorded = headspace.recorded
    rate, own_rate = headspace.samples_per_s, headspace.own_samples_per_s
    return pb.Headspace(
        steps=len(recorded.step_ns),
        own_steps=len(recorded.own_ns),
        step_us=_between(headspace.step_ns, 1e3),
        own_step_us=_between(headspace.own_ns, 1e3),
        times_faster=_between(headspace.times_faster),
        samples_per_s=_between(rate) if rate else None,
        own_samples_per_s=_between(own_rate) if own_rate else None,
        device_idle_share=headspace.device_idle,
        memory_bytes=recorded.memory_bytes,
        clock=recorded.clock,
        sentence=sentence,
    )


def _between(estimate: Estimate, unit: float = 1.0) -> pb.Between:
    return pb.Between(value=estimate.value / unit, low=estimate.low / unit, high=estimate.high / unit)
