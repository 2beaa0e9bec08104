from __future__ import annotations

from tests.tb_dataplugin.findings.cases import abstentions, copying, finding_in


def test_pageable_copies_ask_for_pinned_memory() -> None:
    said = finding_in(copying("Memcpy HtoD (Pageable -> Device)", True), "unpinned_copies")
    assert "pin_memory=True" in said.code
    assert said.gain_us_per_step == 50 + 100 + 50  # in the call until the copy began, the copy, in the call after it


def test_a_loader_that_pins_is_not_told_to_pin() -> None:
    said = finding_in(copying("Memcpy HtoD (Pageable -> Device)", True, pin_memory=True), "unpinned_copies")
    assert "pin_memory()" in said.advice and not said.code


def test_copies_of_unknown_memory_are_not_judged() -> None:
    assert "unpinned_copies" in abstentions(copying("Memcpy HtoD (Host -> Device)", True))
