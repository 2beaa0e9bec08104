"""The part of the report about what limits threads: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from tb_dataplugin.analyses.thread_limits import Limits, ThreadLimits
from tb_dataplugin.findings.limit_texts import limit_text
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_units import maybe_us, us


def limited_by(limits: Limits) -> pb.LimitedBy:
    return pb.LimitedBy(
        gil=maybe_us(limits.gil_ns),
        gc=us(limits.gc_ns),
        no_cpu=us(limits.no_cpu_ns),
        blocked=maybe_us(limits.blocked_ns),
        gil_error=us(limits.gil_error_ns),
        samples=limits.training.samples,
        text=limit_text(limits),
        awaited=us(limits.awaited_ns),
    )


def thread_samples_report(found: ThreadLimits) -> pb.ThreadSamples:
    return pb.ThreadSamples(
        samples=found.samples,
        interval_us=us(found.interval_ns),
        cost_us=maybe_us(found.cost_ns),
        lock_holders_us={name: us(time) for name, time in found.holders_ns.items()},
        host_limited_by_us=limited_by(found.outside) if found.outside else None,
    )
