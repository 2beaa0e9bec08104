from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.samples_read_again import check
from tb_dataplugin.findings.waste import Again, WasteSignals
from tb_dataplugin.model.trace import LoaderInfo
from tests.tb_dataplugin.findings.cases import input_bound, signals_of


def said(waste: WasteSignals, **settings: object) -> Finding | None:
    found = check(replace(signals_of(input_bound()), waste=waste, loader=LoaderInfo(**settings)))  # type: ignore[arg-type]
    assert found is None or isinstance(found, Finding)
    return found


def test_the_share_that_is_read_again_is_said() -> None:
    found = said(WasteSignals(again=Again(100, 30)), replacement=False)
    assert found is not None and found.title.startswith("30.0% of the samples are read again")
    assert (found.evidence[0].value, found.confidence) == (0.3, "measured")


def test_a_sampler_of_ones_own_may_mean_it() -> None:
    found = said(WasteSignals(again=Again(100, 30)))
    assert found is not None and found.confidence == "likely"


def test_a_few_at_an_epochs_end_are_not_said() -> None:
    assert said(WasteSignals(again=Again(1000, 3))) is None
    assert said(WasteSignals()) is None
