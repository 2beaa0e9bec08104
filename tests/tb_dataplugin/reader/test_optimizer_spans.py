"""Spans around an optimizer's step: filed with operators up to torch 1.11, and the thread is in Python in them."""

from __future__ import annotations

import pytest

from tb_dataplugin.model.events import Category
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder


@pytest.mark.parametrize("name", ["Optimizer.zero_grad#SGD.zero_grad", "Optimizer.step#SGD.step"])
def test_they_are_no_operators(name: str) -> None:
    """From 100 us on the device waits for a launch at 900, and no operator runs in between."""
    builder = TraceBuilder().step(0, 1_000).operator(50, 850, name)
    builder.kernel(0, 100, 900, correlation=1).call("cudaLaunchKernel", 900, 5, correlation=1)
    trace = builder.trace()
    assert not (trace.events.is_category(Category.CPU_OP)).any()
    assert capture_of(builder).devices[0].idle_by_cause_us.host > 0
