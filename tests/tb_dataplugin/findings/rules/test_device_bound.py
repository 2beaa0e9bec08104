from __future__ import annotations

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.trace_builder import TraceBuilder


def test_a_busy_device_is_the_finding() -> None:
    said = finding_in(TraceBuilder().step(0, 100).wait(0, 40).kernel(0, 99), "device_bound")
    assert said.title == "The device is busy for 99.0% of the window: leave the DataLoader alone"
    assert said.gain_us_per_step == 1 and "the device is idle for 1.00 µs in total" in evidence_of(said)


def test_an_idle_device_is_not_busy() -> None:
    assert finding_of(TraceBuilder().step(0, 100).wait(0, 40).kernel(0, 60), "device_bound") is None
