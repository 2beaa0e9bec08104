"""How often stages ran, and how long an epoch took to start, stand beside a comparison."""

from __future__ import annotations

from tb_dataplugin.compare.not_judged import not_judged
from tb_dataplugin.compare.quantity import Quantity, StageCalls
from tb_dataplugin.compare.settings import SettingChange
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb

PERSISTENT = SettingChange("persistent_workers", "no", "yes")
BATCH = SettingChange("batch_size", "16", "32")


def stage(before: float, after: float) -> Quantity:
    calls = StageCalls(before, after, 100.0, "cpu", speed_adjusted=False)
    name = "transform::Tokenizer"
    return Quantity("stage", name, name, 1_800.0, 1_700.0, -0.06, None, "", "not_significant", calls=calls)


def run(starts_us: float, epochs: int = 1) -> Run:
    return Run("run", (pb.Capture(loader=pb.Loader(apart=pb.Apart(starts_us=starts_us, epochs=epochs))),))


def said(*stages: Quantity, setting: SettingChange = BATCH, epochs: int = 1) -> list[str]:
    facts = not_judged([run(95_000)], [run(32_000 * epochs, epochs)], "sample", stages, [setting])
    return [fact.text for fact in facts]


def test_a_stage_that_runs_less_often_is_named_though_a_call_takes_as_long() -> None:
    assert said(stage(1.0, 0.647)) == ["transform::Tokenizer: 1.00 → 0.647 calls per sample"]
    assert said(stage(1.0, 0.97)) == []


def test_an_epochs_start_is_compared_where_a_setting_changed_that_it_depends_on() -> None:
    expected = "an epoch's start: 95.0 → 32.0 ms of data wait (not judged: 1 start before, 2 after)"
    assert said(setting=PERSISTENT, epochs=2) == [expected]
    assert said(setting=BATCH) == []
    assert said(setting=PERSISTENT, epochs=0) == []
