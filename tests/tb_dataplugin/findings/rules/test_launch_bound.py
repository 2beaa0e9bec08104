from __future__ import annotations

from tests.tb_dataplugin.findings.cases import finding_in, launching
from tests.trace_builder import TraceBuilder


def test_a_launch_bound_run_is_told_to_leave_the_loader_alone() -> None:
    said = finding_in(launching(), "launch_bound")
    assert "not for data" in said.title and "CUDA graphs" in said.advice
    assert said.gain_us_per_step <= 900


def test_one_long_launch_is_a_first_use_and_no_habit() -> None:
    builder = TraceBuilder().step(0, 1000).wait(0, 1).call("cudaLaunchKernel", 5, 900, 7).kernel(905, 95, correlation=7)
    said = finding_in(builder, "launch_bound")
    assert said.severity == "low" and not said.HasField("gain_us_per_step")
