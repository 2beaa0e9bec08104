"""One line per capture, the worst first."""

from __future__ import annotations

import re
from pathlib import Path

from tb_dataplugin.analyses import doubts
from tb_dataplugin.findings.gain import UNKNOWN_IN_REPLAY
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.rows import DOUBTS, as_rows, row_of
from tests.trace_builder import TraceBuilder, training_run


def row(name: str, lost: float | None, state: str = "ready", mode: str = "train") -> pb.CaptureRow:
    return pb.CaptureRow(id=name, name=name, state=state, mode=mode, lost_share=lost, idle_share=lost)


def test_a_row_has_the_reports_numbers() -> None:
    capture = analyse(training_run(4).trace()).capture
    made = row_of(capture)
    assert made.idle_share == capture.devices[0].idle_us / capture.window_us == made.lost_share
    assert made.data_wait_share == capture.loader.wait_us / capture.window_us
    assert (made.bound, made.verdict) == (capture.verdict.bound, capture.verdict.sentence)
    assert made.finding == capture.findings[0].title
    assert made.doubt_text == "few steps"
    assert made.doubtful and made.step_us == capture.steps.mean_us


def test_without_a_device_the_data_wait_counts() -> None:
    made = row_of(analyse(TraceBuilder().annotated().step(0, 100).wait(0, 40).trace()).capture)
    assert not made.HasField("idle_share")
    assert made.lost_share == made.data_wait_share == 0.4


def test_the_worst_is_first_and_what_is_not_analysed_last() -> None:
    rows = [row("b", 0.2), row("new", None, "queued"), row("a", 0.9), row("bad", None, "error"), row("c", 0.5)]
    listed = as_rows(rows)
    assert [one.id for one in listed.rows] == ["a", "c", "b", "new", "bad"]
    assert listed.waiting == 1
    assert listed.sentence == (
        "Device idle in 3 captures: most a, 90.0% of the window, least b, 20.0% "
        "(not counted: 1 not analysed yet and 1 that cannot be read)."
    )


def test_a_single_row_that_does_not_count_is_named() -> None:
    def left_out(one: pb.CaptureRow) -> str:
        return as_rows([row("b", 0.2), row("a", 0.9), one]).sentence.rpartition("20.0%")[2]

    assert left_out(row("again", 0.5, mode="replay")) == " (again not counted: a replay)."
    assert left_out(row("new", None, "queued")) == " (new not counted: not analysed yet)."
    assert left_out(row("bad", None, "error")) == " (bad not counted: cannot be read)."


def test_the_sentence_is_about_all_rows_where_each_has_a_number() -> None:
    assert as_rows([row("b", 0.2), row("a", 0.9)]).sentence.startswith("Device idle in 2 captures: most a,")


def test_replays_come_after_what_trains() -> None:
    listed = as_rows([row("replay", 0.99, mode="replay"), row("train", 0.1)])
    assert [one.id for one in listed.rows] == ["train", "replay"]
    assert listed.sentence == ""


def test_a_time_of_capture_is_named_only_where_it_tells_captures_apart() -> None:
    stamps = [f"vm_7.{1_700_000_000_000_000_000 + number}" for number in range(2)]
    sentence = as_rows([row(stamps[0], 0.9), row("other.1700000000000000009", 0.2)]).sentence
    assert "most vm_7, 90.0%" in sentence and "least other, 20.0%" in sentence
    assert stamps[0] in as_rows([row(stamps[0], 0.9), row(stamps[1], 0.2)]).sentence


def test_a_run_of_one_capture_is_its_name() -> None:
    rows = [row("b.17", 0.2), row("a.18", 0.9), row("c.19", 0.5)]
    for one, run in zip(rows, ("exp/small", "exp/large", "exp/large"), strict=True):
        one.run = run
    assert as_rows(rows).sentence.startswith("Device idle in 3 captures: most exp/large/a.18, 90.0%")
    assert "least exp/small, 20.0%" in as_rows(rows).sentence


def test_each_run_has_a_sentence_of_its_own() -> None:
    rows = [row("x.1", 0.9), row("x.2", 0.2), row("y.1", 0.5), row("bad", None, "error")]
    for one, run in zip(rows, ("a", "a", "b", "c"), strict=True):
        one.run = run
    said = as_rows(rows).run_sentences
    assert set(said) == {"a", "b"}
    assert said["a"].startswith("Device idle in 2 captures: most a/x.1, 90.0% of the window, least")
    assert said["b"] == "Device idle in 1 capture: b, 50.0% of the window."


def test_the_sentence_compares_what_is_of_one_kind() -> None:
    waits = pb.CaptureRow(id="w", name="w", state="ready", mode="train", lost_share=0.957)
    listed = as_rows([row("gpu", 0.44), waits, row("other", 0.276)])
    assert [one.id for one in listed.rows] == ["w", "gpu", "other"]
    assert listed.sentence == (
        "Device idle in 2 captures: most gpu, 44.0% of the window, least other, 27.6%; "
        "data wait in 1 capture without a device: w, 95.7% of the window."
    )


def test_every_doubt_has_words_for_a_row() -> None:
    codes = re.findall(r'Doubt\(\s*"(\w+)"', Path(doubts.__file__).read_text(encoding="utf-8"))
    assert codes and set(codes) == set(DOUBTS)


def test_a_row_has_the_gain_of_its_leading_finding_in_numbers() -> None:
    leading = pb.Finding(title="a", gain_us_per_step=26_700, gain_step_share=0.784)
    row = row_of(pb.Capture(findings=[leading, pb.Finding(gain_us_per_step=1)]))
    assert (row.gain_us_per_step, row.gain_step_share) == (26_700, 0.784)
    assert not row_of(pb.Capture(findings=[pb.Finding(title="b")])).HasField("gain_us_per_step")


def test_a_row_does_not_repeat_why_a_replay_has_no_gain() -> None:
    finding = pb.Finding(title="sample::Pets has the highest self time", gain_text=UNKNOWN_IN_REPLAY)
    assert row_of(pb.Capture(mode="replay", findings=[finding])).gain_text == "gain unknown"
