"""What the loop could do without its loader, in words."""

from __future__ import annotations

from tb_dataplugin.analyses.headspace import Headspace
from tb_dataplugin.analyses.resampling import Estimate
from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.units import duration, percent, plural, significant


def headspace_evidence(headspace: Headspace) -> Evidence:
    ceiling, own = headspace.samples_per_s, headspace.own_samples_per_s
    if ceiling is None or own is None:
        times = f"{_us(headspace.step_ns.value)} per step; it takes {_us(headspace.own_ns.value)} with its loader"
        return Evidence("headspace", f"measured: the loop alone could do {times}", headspace.step_ns.value / 1e3, "us")
    rates = f"{significant(ceiling.value)} samples/s; it does {significant(own.value)} with its loader"
    return Evidence("headspace", f"measured: the loop alone could do {rates}")


def headspace_sentence(headspace: Headspace) -> str:
    """``"On copies of batches, a step took 4.3 ms (95% interval ...); with the loader ..."``"""
    step, own = _with_interval(headspace.step_ns), _with_interval(headspace.own_ns)
    steps = plural(len(headspace.recorded.step_ns), "step")
    idle = (
        ""
        if headspace.device_idle is None
        else f" The device would be idle for about {percent(headspace.device_idle)}."
    )
    return (
        f"On copies of batches a step took {step}, over {steps}; with the loader, right before, {own}.{idle} Meanwhile "
        "the loader was stopped, so it used no CPU either; no profiler was on."
    )


def _with_interval(time_ns: Estimate) -> str:
    return f"{_us(time_ns.value)} (95% interval {_us(time_ns.low)} to {_us(time_ns.high)})"


def _us(time_ns: float) -> str:
    return duration(time_ns / 1e3)
