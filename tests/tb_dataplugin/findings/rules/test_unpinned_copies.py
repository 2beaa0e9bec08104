from __future__ import annotations

from tests.tb_dataplugin.findings.cases import abstentions, copying, evidence_of, finding_in
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


def test_what_one_step_alone_has_is_no_cost_of_each() -> None:
    """Six steps; in the first the host copies for 600 us while the device idles, in the others for next to nothing."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}])
    for step in range(6):
        begin, long = 1000 * step, 600 if step == 0 else 5
        builder.step(begin, 1000).wait(begin, 5).call("cudaMemcpyAsync", begin + 10, long, step)
        builder.memcpy(begin + long, 20, correlation=step, bytes=1000, name="Memcpy HtoD (Pageable -> Device)")
        builder.kernel(begin + long + 20, 980 - long)
    said = finding_in(builder, "unpinned_copies")
    assert any(line.endswith("of it in step 1 alone, which is not counted") for line in evidence_of(said))
    assert said.gain_us_per_step < 40
