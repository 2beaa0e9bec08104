"""An evaluation with several DataLoader workers counts each item of an undivided dataset as often."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.other_loader_reads_the_same import check
from tests.tb_dataplugin.findings.rules.test_other_loader_waits import other_of

UNDIVIDED: dict[str, Any] = {"num_workers": 2, "iterable": True, "divided": False, "drawn": False}


def found_by(**settings: Any) -> tuple[Finding, ...]:
    made = check(other_of(**settings))
    assert isinstance(made, tuple)
    return made


def test_each_worker_of_another_loader_reads_all_of_its_dataset() -> None:
    (found,) = found_by(**UNDIVIDED)
    assert found.title.endswith("each read all of Val: every item comes 2 times in a pass over it")
    assert found.confidence == "likely" and "num_workers=1" in found.advice and "get_worker_info" in found.code
    (unsure,) = found_by(**UNDIVIDED | {"drawn": None})
    assert unsure.confidence == "possible" and "at random" in unsure.confidence_reason


@pytest.mark.parametrize(
    "other", [{"num_workers": 1}, {"divided": True}, {"divided": None}, {"drawn": True}, {"iterable": None}]
)
def test_what_may_be_divided_or_has_nothing_to_divide(other: dict[str, Any]) -> None:
    assert not found_by(**UNDIVIDED | other)


def test_loaders_of_the_same_settings_are_one_and_looks_are_none() -> None:
    signals = other_of(**UNDIVIDED)
    assert signals.apart is not None
    (other,) = signals.apart.others
    made = [check(replace(signals, apart=replace(signals.apart, others=others))) for others in ((other, other), ())]
    assert [len(found) for found in made if isinstance(found, tuple)] == [1, 0]
    look = replace(signals.apart, others=(replace(other, is_look=True),))
    assert check(replace(signals, apart=look)) == ()
