from __future__ import annotations

from dataclasses import replace

import numpy as np

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.samples_read_again import check
from tb_dataplugin.findings.waste import Again, WasteSignals, find_again
from tb_dataplugin.model.intervals import int64
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.ranks.indices import Indices
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


def test_an_epoch_that_began_before_the_recording_may_have_read_more_of_them() -> None:
    def read(first: int) -> Indices:
        index, batch = np.arange(32) % 24, np.arange(32) // 8 + first
        return Indices("Pets", int64(index), int64(np.zeros(32)), int64(batch))

    found = said(WasteSignals(again=find_again(read(5))))
    assert found is not None and found.title.startswith("At least 25.0% of the samples")
    assert found.evidence[0].text.endswith("; what it read before the first recorded batch is not known")
    found = said(WasteSignals(again=find_again(read(0))))
    assert found is not None and found.title.startswith("25.0% of the samples")
