"""What a search ends in: for the terminal, and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tb_dataplugin.export.terminal import PLAIN, Style
from tb_dataplugin.report.report_pb2 import Capture, HotPlace, Lines, PartLines, Stage
from tb_dataplugin.tune.as_json import as_json
from tb_dataplugin.tune.as_text import as_text
from tb_dataplugin.tune.pairs import Ratio
from tb_dataplugin.tune.remainder import Remainder, remainder_of
from tb_dataplugin.tune.running import Forecast, Limits
from tb_dataplugin.tune.search import CROWDED, NOTHING_LEFT
from tb_dataplugin.tune.server import Program
from tb_dataplugin.tune.setting import Changes
from tb_dataplugin.tune.tuning import Tuned
from tb_dataplugin.units import duration
from tests.tb_dataplugin.tune.made_up_loops import MadeUpRunner, by_workers


@pytest.fixture(scope="module")
def tuned() -> Tuned:
    outcome = MadeUpRunner(by_workers).search()
    return Tuned(
        Program("train:make_loader", step_ms=1.0), outcome, "", remainder_of(outcome, None, None), ("A note.",)
    )


def test_the_text_has_every_setting_and_what_became_of_it(tuned: Tuned) -> None:
    text = as_text(tuned, PLAIN)
    for row in tuned.outcome.rows:
        assert row.changes.text[:36] in text
    for words in (
        "takes 1.00 ms",
        "computes nothing",
        "95% interval",
        "Best: num_workers=4",
        "A note.",
        "  num_workers=4",
    ):
        assert words in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_change_in_percent_stands_beside_the_step_time_that_it_is_of(tuned: Tuned) -> None:
    """Windows at another time of the same loop may be slower by more than the change."""
    text = " ".join(as_text(tuned, PLAIN).split())
    lost = [row for row in tuned.outcome.rows if row.ratio is not None and not row.kept]
    assert lost
    for row in lost:
        assert row.beside_step_s is not None
        assert f"(beside {row.beside.text}: {duration(row.beside_step_s * 1e6)} per step in turn with it)" in text
    rows = json.loads(as_json(tuned))["runs"]
    assert [row.get("beside_step_us") for row in rows if "measured" in row] == [
        pytest.approx(row.beside_step_s * 1e6) for row in tuned.outcome.rows if row.beside_step_s is not None
    ]


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_the_table_keeps_to_the_terminal(tuned: Tuned, columns: int) -> None:
    lines = as_text(tuned, Style(width=columns)).splitlines()
    assert max(len(line) for line in lines) <= columns
    assert any({"measured", "kept"} <= {*line.split()} for line in lines)


def test_a_loop_without_a_step_says_that_it_is_throughput_alone(tuned: Tuned) -> None:
    text = as_text(Tuned(Program("a:b"), tuned.outcome, "+x\n", None, ()), PLAIN)
    assert "the loader's own throughput" in text
    assert "Apply:" in text


def test_json_has_the_ledger_and_no_nulls(tuned: Tuned) -> None:
    answer = json.loads(as_json(tuned))
    assert answer["schema_version"] == 1
    assert answer["best"]["change"] == tuned.outcome.best.as_dict()
    assert answer["best"]["settings"]["num_workers"] == 4
    assert answer["gain"]["low"] <= answer["gain"]["value"] <= answer["gain"]["high"]
    assert len(answer["runs"]) == len(tuned.outcome.rows)
    assert all(run["measured"]["pairs"] >= 3 for run in answer["runs"] if "measured" in run)
    assert "null" not in as_json(tuned)


def test_a_search_that_kept_nothing_gives_no_advice() -> None:
    outcome = MadeUpRunner(lambda settings: 0.01).search(Limits(runs=3))
    text = as_text(Tuned(Program("a:b"), outcome, "", None, ()), PLAIN)
    assert "Leave the loader as it is" in text
    assert "keywords" not in text


def test_what_the_noise_left_open_is_said() -> None:
    outcome = MadeUpRunner(lambda settings: 0.01, scatter=0.5).search(Limits(runs=2, pairs=3))
    rest = remainder_of(outcome, None, None)
    assert rest is not None
    assert rest.undecided == outcome.rows[0].changes.text
    text = as_text(Tuned(Program("a:b"), outcome, "", rest, ()), PLAIN)
    assert "may still be faster" in " ".join(text.split())
    assert "Leave the loader as it is" not in text


def test_a_search_that_was_broken_off_at_once_claims_nothing() -> None:
    outcome = MadeUpRunner(by_workers, interrupted_at=3).search()
    rest = remainder_of(outcome, None, None)
    assert rest is None
    text = as_text(Tuned(Program("a:b"), outcome, "", rest, ()), PLAIN)
    assert "Nothing is known of other settings" in text
    assert "code" not in text


def untried(stopped: str) -> str:
    outcome = MadeUpRunner(by_workers).search(Limits(minutes=0.0))
    outcome.rows, outcome.best, outcome.stopped = [], Changes(), stopped
    tuned = Tuned(Program("a:b"), outcome, "", remainder_of(outcome, OneStage(), None), ())  # type: ignore[arg-type]
    return " ".join(as_text(tuned, PLAIN).split())


def test_settings_that_a_busy_machine_kept_from_being_tried_may_still_help() -> None:
    text = untried(CROWDED)
    assert "Nothing is known of other settings." in text
    assert "if other programs use the CPUs, measure again when they are done" in text
    assert "once CPUs are free, may still reduce it; in code, transform::Blur would bring most" in text
    assert "num_workers=" not in text


def crowded(value: float, kept: bool) -> str:
    """The text of a search whose one try had no free CPU, and took `value` of the step."""
    outcome = MadeUpRunner(by_workers).search(Limits(runs=2))
    ratio = Ratio(value, value - 0.05, value + 0.05, 5)
    none_free = Forecast(1.0, 0.4, 1.5, crowded=True)
    outcome.rows = [replace(outcome.rows[0], forecast=none_free, ratio=ratio, kept=kept)]
    outcome.best = outcome.rows[0].changes if kept else Changes()
    outcome.total, outcome.stopped = ratio if kept else None, NOTHING_LEFT
    tuned = Tuned(Program("a:b"), outcome, "", None, ())
    assert "predicted" not in json.loads(as_json(tuned))["runs"][0]
    return " ".join(as_text(tuned, PLAIN).split())


def test_what_was_measured_where_no_cpu_was_free_says_so() -> None:
    gained, lost = crowded(0.5, kept=True), crowded(1.0, kept=False)
    assert "No CPU was free for more DataLoader workers, so programs beside it may lose what it gains." in gained
    assert "No CPU was free for more DataLoader workers: if other programs use the CPUs, measure again" in lost
    assert "Leave the loader as it is" not in lost


def test_where_nothing_is_promising_that_is_what_is_known() -> None:
    text = untried(NOTHING_LEFT)
    assert "none is predicted to gain as much as such windows show" in text and "Nothing is known" not in text
    assert "Nothing is known of other settings." in untried("0 min are over (--minutes)")


class Prediction:
    limited_by = "transform::Blur"


class OneStage:
    def prediction(self, changes: object) -> Prediction:
        return Prediction()


def test_what_is_left_names_the_stage_and_its_line(tuned: Tuned) -> None:
    line = Lines(stages=[PartLines(name="transform::Blur", hottest=[HotPlace(place="train.py:41")])])
    stage = Stage(kind="transform", label="Blur", defined_at="train.py:30")
    for capture, place in ((Capture(lines=line), "train.py:41"), (Capture(stages=[stage]), "train.py:30")):
        rest = remainder_of(tuned.outcome, OneStage(), capture)  # type: ignore[arg-type]
        assert rest is not None
        assert f"first in transform::Blur ({place})" in rest.sentence


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        (Remainder(0.0, 0.001, "transform::Blur", ""), "no code of the pipeline has to change"),
        (Remainder(0.01, 0.5, "read::file", "", "num_workers=8"), "num_workers=8 may still reduce it; in code"),
        (Remainder(0.01, 0.5, "", ""), "no setting tried here helps"),
        (Remainder(0.01, 0.5, "transfer", ""), "sending batches to the training process"),
    ],
)
def test_what_is_left_is_one_sentence(rest: Remainder, words: str) -> None:
    assert words in rest.sentence
