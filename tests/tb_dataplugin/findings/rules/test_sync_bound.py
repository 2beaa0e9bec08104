from __future__ import annotations

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in
from tests.trace_builder import TraceBuilder


def test_a_synchronising_call_is_named_with_its_price() -> None:
    builder = TraceBuilder().step(0, 1000).kernel(0, 300).operator(100, 300, "aten::item")
    builder.call("cudaStreamSynchronize", 110, 280).operator(420, 80).call("cudaLaunchKernel", 480, 10, 7)
    said = finding_in(builder.kernel(500, 500, correlation=7), "sync_bound")
    assert said.gain_us_per_step == 200
    assert any("aten::item (1)" in line for line in evidence_of(said))


def test_what_the_host_does_besides_is_not_the_price_of_a_call() -> None:
    """It comes back from a call of 60 us, and sleeps for 400."""
    builder = TraceBuilder().step(0, 1000).kernel(0, 200).operator(145, 65, "aten::item")
    builder.call("cudaStreamSynchronize", 150, 60).operator(610, 60).call("cudaLaunchKernel", 660, 10, 7)
    said = finding_in(builder.kernel(700, 300, correlation=7), "sync_bound")
    assert said.gain_us_per_step == 60
    assert said.title.startswith("1 synchronising call keeps the host for 6.00% of the window")
    assert any("the device is idle for 500 µs after them" in line for line in evidence_of(said))
