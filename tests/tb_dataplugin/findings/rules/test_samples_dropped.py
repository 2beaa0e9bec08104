from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.samples_dropped import check
from tb_dataplugin.findings.waste import Tail, WasteSignals
from tb_dataplugin.model.trace import LoaderInfo
from tests.tb_dataplugin.findings.cases import input_bound, signals_of


def said(waste: WasteSignals, **settings: object) -> Finding | None:
    found = check(replace(signals_of(input_bound()), waste=waste, loader=LoaderInfo(**settings)))  # type: ignore[arg-type]
    assert found is None or isinstance(found, Finding)
    return found


def test_samples_that_are_never_read_are_said() -> None:
    found = said(WasteSignals(tail=Tail(36, 100, same_ones=True)))
    assert found is not None and found.title.startswith("36.0% of each epoch")
    assert "never read" in found.advice and found.severity == "medium"


def test_other_samples_in_each_epoch_are_less_of_a_loss() -> None:
    found = said(WasteSignals(tail=Tail(36, 100, same_ones=False)))
    assert found is not None and found.severity == "low" and "never read" not in found.advice


def test_a_small_rest_is_what_drop_last_is_for() -> None:
    assert said(WasteSignals(tail=Tail(3, 100, same_ones=True))) is None
