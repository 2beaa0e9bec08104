from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import finding_in, finding_of, launching
from tests.trace_builder import TraceBuilder


def test_long_pauses_in_python_are_told_apart_from_short_ones() -> None:
    builder = TraceBuilder().step(0, 10_000).wait(0, 1).operator(1, 1)
    builder.call("cudaLaunchKernel", 5000, 0, 7).kernel(5000, 5000, correlation=7)
    assert finding_in(builder, "python_pauses").gain_us_per_step == pytest.approx(4998)
    assert finding_of(launching(), "python_pauses") is None
