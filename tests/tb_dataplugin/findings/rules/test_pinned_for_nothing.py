from __future__ import annotations

from tests.tb_dataplugin.findings.cases import finding_in, finding_of
from tests.trace_builder import TraceBuilder


def test_pinning_without_a_device_has_no_effect() -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "pin_memory": True}])
    builder.step(0, 10_000).wait(0, 1_000).operator(1_000, 8_000)
    found = finding_in(builder, "pinned_for_nothing")
    assert found.severity == "low" and found.confidence == "likely"


def test_pinning_with_a_device_is_in_order() -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "pin_memory": True}])
    builder.step(0, 10_000).wait(0, 1_000).kernel(1_000, 8_000)
    assert finding_of(builder, "pinned_for_nothing") is None
