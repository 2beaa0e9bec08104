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


def verified(ratio: Ratio, bound: float | None = None) -> str:
    """The text of a finding whose advice changed steps of 10 ms so, on one line."""
    windows = (Window(100, 1.0, 0.9),)
    finding = Finding(rule="too_few_workers", title="Too few", gain_text="saves up to 10 ms per step")
    found = Verified(finding, Changes(), Changes.of({"num_workers": 4}), Beside(windows, windows, ratio), bound)
    program = Program("train:make_loader", step_ms=5.0, step_cpu=0.5, step_without=WITHOUT)
    return " ".join(as_text(found, program, PLAIN).split())


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (Ratio(0.5, 0.4, 0.6, 3), "saves 5.00 ms per batch (95% interval 4.00 ms to 6.00 ms, 3 pairs"),
        (Ratio(0.9, 0.7, 1.2, 3), "saves 1.00 ms per batch (95% interval 3.00 ms less to 2.00 ms more, 3 pairs"),
        (Ratio(1.1, 0.8, 1.5, 3), "takes 1.00 ms more per batch (95% interval 2.00 ms less to 5.00 ms more, 3 pairs"),
        (Ratio(1.5, 1.4, 1.6, 3), "takes 5.00 ms more per batch (95% interval 4.00 ms more to 6.00 ms more, 3 pairs"),
    ],
)
def test_no_saving_is_negative(ratio: Ratio, words: str) -> None:
    assert f"Measured: {words}" in verified(ratio)


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
    text = verified(ratio, bound)
    assert words in text
    assert "it takes 5.00 ms (that of the capture without its data wait and its waits for a CPU)" in text
    assert "was simulated: it takes nothing, and" in Program("train:make_loader", step_cpu=0.5).step_text
    assert "saves up to 10 ms per step" in text
