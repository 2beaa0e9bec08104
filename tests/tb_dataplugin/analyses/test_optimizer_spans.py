"""Spans around an optimizer's step: filed with operators up to torch 1.11, and the thread is in Python in them."""

from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder


@pytest.mark.parametrize(
    ("name", "cause"),
    [("Optimizer.zero_grad#SGD.zero_grad", "host"), ("Optimizer.step#SGD.step", "host"), ("aten::zero_", "launch")],
)
def test_they_are_no_operators(name: str, cause: str) -> None:
    """From 100 us on the device waits for a launch at 900."""
    builder = TraceBuilder().add("cpu_op", "ProfilerStep#1", 0, 1_000).operator(50, 849, name)
    for at in (0, 900):
        builder.kernel(at, 100, correlation=1 + at).call("cudaLaunchKernel", at, 5, correlation=1 + at)
    causes = capture_of(builder).devices[0].idle_by_cause_us
    assert getattr(causes, cause) == pytest.approx(790, abs=20)
