from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.rules.workers_read_the_same import check
from tb_dataplugin.findings.waste import Twins, WasteSignals
from tb_dataplugin.model.trace import LoaderInfo
from tests.tb_dataplugin.findings.cases import abstentions, input_bound, signals_of


def said(waste: WasteSignals, **settings: object) -> Finding | None:
    found = check(replace(signals_of(input_bound()), waste=waste, loader=LoaderInfo(**settings)))  # type: ignore[arg-type]
    assert found is None or isinstance(found, Finding)
    return found


def test_workers_that_read_all_of_an_iterable_get_their_own_part() -> None:
    found = said(WasteSignals(twins=Twins(3, 2 / 3)))
    assert found is not None and "3 DataLoader workers read the same items" in found.title
    assert "get_worker_info" in found.code and found.evidence[0].value == 2 / 3


def test_items_that_cannot_be_compared_are_an_inconclusive_check() -> None:
    found = check(replace(signals_of(input_bound()), waste=WasteSignals(twins_unknown="All items are of one size")))
    assert isinstance(found, Abstention)
    assert found.reason.startswith("All items are of one size, so it is not known")
    assert "get_worker_info" in found.reason
    alike = input_bound(loader={"iterable": True}, stages={"sample::Stream": (0.0, 1.0, 1.0, 4096)})
    assert "workers_read_the_same" in abstentions(alike)
    assert "workers_read_the_same" not in abstentions(input_bound(stages={"sample::Stream": (0.0, 1.0, 1.0, 4096)}))


def test_code_that_divides_nothing_says_so_where_items_cannot_be_compared() -> None:
    alike = WasteSignals(twins_unknown="All items are of one size")
    found = said(alike, dataset="Clicks", iterable=True, divided=False, drawn=False, num_workers=2)
    assert (
        found is not None
        and found.confidence == "likely"
        and "each read all of Clicks: every item comes" in found.title
    )
    assert found.severity == "high" and "get_worker_info" in found.code
    unknown = said(alike, dataset="Clicks", iterable=True, divided=False, num_workers=2)
    assert unknown is not None and unknown.confidence == "possible" and "at random" in unknown.confidence_reason
    assert said(alike, dataset="Clicks", iterable=True, divided=False, drawn=True, num_workers=2) is None
    assert said(alike, dataset="Clicks", iterable=True, divided=True, num_workers=2) is None
    assert said(WasteSignals(), dataset="Clicks", iterable=True, divided=False, num_workers=2) is None


def test_workers_with_parts_of_their_own_are_in_order() -> None:
    assert said(WasteSignals()) is None
