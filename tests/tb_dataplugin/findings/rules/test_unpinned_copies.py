from __future__ import annotations

from tests.tb_dataplugin.findings.cases import abstentions, copying, finding_in
from tests.trace_builder import TraceBuilder


def test_pageable_copies_ask_for_pinned_memory() -> None:
    said = finding_in(copying("Memcpy HtoD (Pageable -> Device)", True), "unpinned_copies")
    assert "pin_memory=True" in said.code
    assert said.gain_us_per_step == 50 + 100 + 50  # in the call until the copy began, the copy, in the call after it


def test_a_loader_that_pins_is_not_told_to_pin() -> None:
    said = finding_in(copying("Memcpy HtoD (Pageable -> Device)", True, pin_memory=True), "unpinned_copies")
    assert "pin_memory()" in said.advice and not said.code


def test_copies_of_unknown_memory_are_not_judged() -> None:
    assert "unpinned_copies" in abstentions(copying("Memcpy HtoD (Host -> Device)", True))


def copies_of(*idle: float) -> TraceBuilder:
    """Steps of 1000 us with one copy of 100 us from pageable memory each, before which the device idles so long."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}])
    for number, us in enumerate(idle):
        start = 1000.0 * number
        builder.step(start, 1000).wait(start, 10).kernel(start + 10, 590 - us)
        builder.call("cudaMemcpyAsync", start + 600 - us, 100 + us, number + 1)
        builder.memcpy(start + 600, 100, name="Memcpy HtoD (Pageable -> Device)", correlation=number + 1, bytes=1000)
        builder.kernel(start + 700, 300)
    return builder


def test_what_one_step_alone_waited_for_copies_is_no_saving_per_step() -> None:
    each = finding_in(copies_of(10, 10, 10, 10), "unpinned_copies").gain_us_per_step
    said = finding_in(copies_of(10, 480, 10, 10), "unpinned_copies")
    assert each > 100 and said.gain_us_per_step < each
    assert any("in step 2 alone, which the bound leaves out" in fact.text for fact in said.evidence)
