from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.garbage_signals import Collections, GarbageSignals
from tb_dataplugin.findings.line_texts import collected_sentence
from tb_dataplugin.findings.rules.collector_in_step import check
from tb_dataplugin.findings.signals import Signals
from tests.tb_dataplugin.findings.cases import finding_of, signals_of
from tests.tb_dataplugin.findings.step_cases import LOGGING, MODEL, TRAIN, run


def collecting(spent_us: float | None, count: int, *, are_few: bool) -> Signals:
    signals = signals_of(run([(MODEL, 100)]))
    return replace(signals, garbage=GarbageSignals(step_us=spent_us, full=Collections(count, spent_us or 0.0, are_few)))


def test_a_collector_that_has_the_step_again_and_again_is_a_finding_with_its_gain() -> None:
    found = check(collecting(23_000.0, 12, are_few=False))
    assert isinstance(found, Finding) and found.gain_us_per_step == pytest.approx(2_300)
    assert found.title == "Python's garbage collector takes 23.0% of the window (23.0 ms), outside the data wait"
    assert found.evidence[0].text == "23.0 ms in the training thread, in 12 full collections"


def test_where_the_data_wait_is_unknown_nothing_is_said_to_be_outside_of_it() -> None:
    found = check(replace(collecting(23_000.0, 12, are_few=False), data_wait_us=None))
    assert isinstance(found, Finding)
    assert found.title == "Python's garbage collector takes 23.0% of the window (23.0 ms)"


@pytest.mark.parametrize(("count", "are_few"), [(1, True), (0, False)])
def test_of_few_or_unknown_collections_no_gain_per_step_follows(count: int, are_few: bool) -> None:
    found = check(collecting(23_000.0, count, are_few=are_few))
    assert isinstance(found, Finding) and found.gain_us_per_step is None and found.confidence == "possible"


@pytest.mark.parametrize("spent_us", (None, 3_000.0))
def test_little_or_unknown_time_is_no_finding(spent_us: float | None) -> None:
    assert check(collecting(spent_us, 1, are_few=True)) is None


def test_a_line_that_collects_is_named_by_its_own_finding() -> None:
    builder = run([(LOGGING, 60), (MODEL, 40)], sources={(TRAIN, 40): "gc.collect()"})
    assert finding_of(builder, "slow_step_line") is not None
    assert check(replace(signals_of(builder), garbage=GarbageSignals(step_us=60_000.0))) is None


def test_stacks_have_no_frame_of_it_so_it_is_said_beside_the_lines() -> None:
    """A tenth of the part's time or more."""
    said = " Python's garbage collector took 20.0 ms of it: in stacks that time is the functions' that it interrupted."
    assert collected_sentence(20_000, 200_000) == said
    assert collected_sentence(19_000, 200_000) == ""
