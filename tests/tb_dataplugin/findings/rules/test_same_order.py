from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.same_order import check
from tb_dataplugin.findings.waste import WasteSignals
from tb_dataplugin.model.trace import LoaderInfo
from tests.tb_dataplugin.findings.cases import input_bound, signals_of


def said(waste: WasteSignals, **settings: object) -> Finding | None:
    found = check(replace(signals_of(input_bound()), waste=waste, loader=LoaderInfo(**settings)))  # type: ignore[arg-type]
    assert found is None or isinstance(found, Finding)
    return found


def test_a_distributed_sampler_needs_set_epoch() -> None:
    found = said(WasteSignals(same_order=1.0), sampler="DistributedSampler")
    assert found is not None and "set_epoch" in found.advice and found.evidence[0].value == 1.0


def test_another_sampler_must_not_be_seeded_again() -> None:
    found = said(WasteSignals(same_order=1.0), sampler="RandomSampler")
    assert found is not None and "seed" in found.advice


def test_another_order_in_each_epoch_is_in_order() -> None:
    assert said(WasteSignals(same_order=0.1)) is None
    assert said(WasteSignals()) is None
