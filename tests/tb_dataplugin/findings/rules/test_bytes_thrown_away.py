from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.bytes_thrown_away import check
from tests.tb_dataplugin.findings.cases import CHAIN, input_bound, signals_of


def said(*, waits: bool) -> Finding | None:
    signals = signals_of(input_bound(stages=CHAIN))
    found = check(signals if waits else replace(signals, wait_cost_us=0.0))
    assert found is None or isinstance(found, Finding)
    return found


def test_a_crop_in_a_loop_that_does_not_wait_is_said_in_passing() -> None:
    found = said(waits=False)
    assert found is not None and found.title.startswith("RandomCrop keeps 16.7% of what was read")
    assert found.severity == "low" and found.gain_us_per_step is None


def test_where_the_data_wait_is_unknown_it_is_not_said_that_the_loop_does_not_wait() -> None:
    found = check(replace(signals_of(input_bound(stages=CHAIN)), wait_cost_us=None))
    assert isinstance(found, Finding) and found.advice.startswith("Whether the loop waits for it is unknown.")


def test_in_a_loop_that_waits_it_is_left_to_the_finding_with_a_gain() -> None:
    assert said(waits=True) is None


def test_of_what_may_be_no_part_of_its_input_the_size_alone_is_said() -> None:
    stages = {"transform::LogMel" if "Crop" in name else name: times for name, times in CHAIN.items()}
    found = check(replace(signals_of(input_bound(stages=stages)), wait_cost_us=0.0))
    assert isinstance(found, Finding) and found.title == "LogMel returns 16.7% of the bytes it gets"
    assert found.confidence == "possible" and "If LogMel only keeps a part" in found.advice
