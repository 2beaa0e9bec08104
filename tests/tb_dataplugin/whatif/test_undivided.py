"""More DataLoader workers for an iterable dataset that nothing divides among them."""

from __future__ import annotations

import json

import pytest

from tb_dataplugin.export.whatif_text import as_json
from tb_dataplugin.whatif import Change, predict
from tb_dataplugin.whatif.fitting import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import input_bound, results_of


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"divided": False}, "nothing in the code of Clicks does that, so each reads all of it."),
        ({}, "by get_worker_info() in __iter__: if Clicks does not, each reads all of it."),
        ({"divided": True}, ""),
        ({"iterable": False}, ""),
    ],
)
def test_predictions_of_several_workers_are_for_divided_data(settings: dict[str, bool], words: str) -> None:
    loop = fit_loop(results_of(input_bound(loader={"dataset": "Clicks", "iterable": True, **settings})))
    assert isinstance(loop, Loop)
    sentence = json.loads(as_json(loop, [predict(loop, Change(workers=4))]))["sentence"]
    assert sentence.endswith(words) and ("get_worker_info" in sentence) is bool(words)
