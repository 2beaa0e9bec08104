from __future__ import annotations

import pytest

from tb_dataplugin.errors import BadRequest, NothingToReport
from tb_dataplugin.export.terminal import PLAIN
from tb_dataplugin.report.report_pb2 import Capture, Finding
from tb_dataplugin.tune.alternating import Beside
from tb_dataplugin.tune.pairs import Ratio
from tb_dataplugin.tune.running import Window
from tb_dataplugin.tune.server import Program
from tb_dataplugin.tune.setting import Changes
from tb_dataplugin.tune.training_step import WITHOUT
from tb_dataplugin.tune.verified_text import as_text
from tb_dataplugin.tune.verifying import Verified, advised, both_sides, find
from tests.tb_dataplugin.tune.made_up_loops import MADE

CAPTURE = Capture(name="run", findings=[Finding(rule="leading_stage"), Finding(rule="too_few_workers")])


def test_a_finding_has_a_number_and_a_rule() -> None:
    assert find(CAPTURE, "2").rule == find(CAPTURE, "too_few_workers").rule == "too_few_workers"
    with pytest.raises(BadRequest, match=r"it has 1 \(leading_stage\), 2 \(too_few_workers\)"):
        find(CAPTURE, "3")
    with pytest.raises(NothingToReport):
        find(Capture(), "1")


def test_settings_are_read_from_the_code_of_the_advice() -> None:
    workers = Finding(rule="single_process_loading", code="DataLoader(..., num_workers=3, persistent_workers=True)")
    assert advised(workers).as_dict() == {"num_workers": 3, "persistent_workers": True}
    pinned = Finding(rule="a", code="loader = DataLoader(..., pin_memory=True)\nx = x.to(device, non_blocking=True)")
    assert advised(pinned).as_dict() == {"pin_memory": True}
    assert advised(Finding(rule="oversubscribed", code="def f(i):\n    pass")).as_dict() == {"threads_per_worker": 1}


@pytest.mark.parametrize("code", ["", "dataset = cached(dataset)", "not python ("])
def test_advice_about_code_says_to_compare(code: str) -> None:
    with pytest.raises(NothingToReport, match=r"gives a DataLoader a setting .*tb-dataplugin compare"):
        advised(Finding(rule="leading_stage", code=code))


def test_both_sides_begin_with_the_settings_of_the_capture() -> None:
    base, changed = both_sides(MADE, {"num_workers": 2, "in_order": True}, Changes.of({"prefetch_factor": 4}))
    assert base.as_dict() == {"num_workers": 2}
    assert changed.as_dict() == {"num_workers": 2, "prefetch_factor": 4}
    with pytest.raises(NothingToReport, match="has num_workers=2 already"):
        both_sides(MADE, {"num_workers": 2}, Changes.of({"num_workers": 2}))


@pytest.mark.parametrize(
    ("ratio", "bound", "words"),
    [
        (Ratio(0.5, 0.45, 0.55, 3), 10_000.0, "50.0% of the finding's bound"),
        (Ratio(0.5, 0.45, 0.55, 3), 1_000.0, "more than the finding's bound allows"),
        (Ratio(0.5, 0.45, 0.55, 3), None, "no bound to compare it with"),
        (Ratio(1.0, 0.9, 1.1, 8), 10_000.0, "No gain beyond the noise"),
        (Ratio(1.5, 1.4, 1.6, 3), 10_000.0, "slower here"),
    ],
)
def test_the_measured_gain_stands_beside_the_bound(ratio: Ratio, bound: float | None, words: str) -> None:
    windows = (Window(100, 1.0, 0.9),)
    finding = Finding(rule="too_few_workers", title="Too few", gain_text="saves up to 10 ms per step")
    verified = Verified(finding, Changes(), Changes.of({"num_workers": 4}), Beside(windows, windows, ratio), bound)
    text = as_text(verified, Program("train:make_loader", step_ms=5.0, step_cpu=0.5, step_without=WITHOUT), PLAIN)
    assert words in text
    assert "it takes 5.00 ms (that of the capture without its data wait and its waits for a CPU)" in " ".join(
        text.split()
    )
    assert "was simulated: it takes nothing, and" in Program("train:make_loader", step_cpu=0.5).step_text
    assert "saves up to 10 ms per step" in text
