"""The headspace in the report: ns to us."""

from __future__ import annotations

from tb_dataplugin.analyses.headspace import Headspace
from tb_dataplugin.analyses.resampling import Estimate
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_units import us


def headspace_report(headspace: Headspace, sentence: str) -> pb.Headspace:
    recorded = headspace.recorded
    rate, own_rate = headspace.samples_per_s, headspace.own_samples_per_s
    return pb.Headspace(
        steps=len(recorded.step_ns),
        own_steps=len(recorded.own_ns),
        step_us=_between_us(headspace.step_ns),
        own_step_us=_between_us(headspace.own_ns),
        times_faster=_between(headspace.times_faster),
        samples_per_s=_between(rate) if rate else None,
        own_samples_per_s=_between(own_rate) if own_rate else None,
        device_idle_share=headspace.device_idle,
        memory_bytes=recorded.memory_bytes,
        clock=recorded.clock,
        sentence=sentence,
    )


def _between_us(estimate: Estimate) -> pb.Between:
    return pb.Between(value=us(estimate.value), low=us(estimate.low), high=us(estimate.high))


def _between(estimate: Estimate) -> pb.Between:
    return pb.Between(value=estimate.value, low=estimate.low, high=estimate.high)
