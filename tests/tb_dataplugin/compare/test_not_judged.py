"""How often stages ran, and how long an epoch took to start, stand beside a comparison."""

from __future__ import annotations

from tb_dataplugin.compare.not_judged import MUCH, left_out, not_judged
from tb_dataplugin.compare.quantity import Quantity, StageCalls
from tb_dataplugin.compare.settings import SettingChange
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.compare.stages import compare_stages
from tb_dataplugin.report import report_pb2 as pb

PERSISTENT = SettingChange("persistent_workers", "no", "yes")
BATCH = SettingChange("batch_size", "16", "32")


def stage(before: float, after: float, name: str = "transform::Tokenizer", error: float = 0.0) -> Quantity:
    calls = StageCalls(before, after, 100.0, "cpu", speed_adjusted=False, error=error)
    return Quantity("stage", name, name, 1_800.0, 1_700.0, -0.06, None, "", "not_significant", calls=calls)


def run(starts_us: float, epochs: int = 1) -> Run:
    return Run("run", (pb.Capture(loader=pb.Loader(apart=pb.Apart(starts_us=starts_us, epochs=epochs))),))


def said(*stages: Quantity, setting: SettingChange = BATCH, epochs: int = 1) -> list[str]:
    facts = not_judged([run(95_000)], [run(32_000 * epochs, epochs)], "sample", stages, [setting])
    return [fact.text for fact in facts]


def test_a_stage_that_runs_less_often_is_named_though_a_call_takes_as_long() -> None:
    assert said(stage(1.0, 0.647)) == ["transform::Tokenizer: 1.00 → 0.647 calls per sample"]
    assert said(stage(1.0, 0.97)) == []


def test_one_sample_with_many_calls_is_no_change_of_calls() -> None:
    """106 pieces of one large file beside 82 files of one piece: the mean of eleven batches has an error of half."""
    few = [pb.Stage(kind="read", label="file", count=82, self_us=1, block_count=[8] * 10)]
    many = [pb.Stage(kind="read", label="file", count=188, self_us=1, block_count=[8] * 10 + [114])]
    runs = [[Run("run", (pb.Capture(stages=stages),))] for stages in (few, many)]
    (file,) = compare_stages(runs[0], runs[1], "sample", 0.0)
    assert file.calls is not None and 0.5 < file.calls.error < 0.6
    assert said(stage(1.0, 2.29, error=file.calls.error)) == []
    assert said(stage(1.0, 2.29, error=0.1)) != []


def test_a_stage_that_runs_once_per_batch_is_cut_by_windows_and_not_counted_per_sample() -> None:
    """Nine whole batches of 156 samples, and one of 14: a copy per step, and a collate per batch."""
    runs = []
    for samples, batches in ((156, 9), (14, 1)):
        rows = [("sample", "Pets", samples), ("collate", "default_collate", batches), ("h2d", "h2d", 10)]
        stages = [
            pb.Stage(kind=kind, label=label, path=[f"{kind}::{label}"], count=count, self_us=1)
            for kind, label, count in rows
        ]
        runs.append([Run("run", (pb.Capture(stages=stages, throughput=pb.Throughput(samples=100)),))])
    compared = compare_stages(runs[0], runs[1], "sample", 0.0)
    assert not [fact for fact in not_judged(runs[0], runs[1], "sample", compared, ()) if fact.kind == "calls_change"]


def test_batches_from_before_a_window_are_no_change_of_calls() -> None:
    """Three of ten batches had been built before the first window: that is its queue, not the program."""
    samples, decode = stage(0.7, 1.0, "sample::Pets"), stage(0.7, 1.0, "decode::PIL.Image")
    assert said(samples, decode, stage(0.7, 0.5)) == ["transform::Tokenizer: 1.00 → 0.500 calls per sample built"]


def test_an_epochs_start_is_compared_where_a_setting_changed_that_it_depends_on() -> None:
    expected = "an epoch's start: 95.0 → 32.0 ms of data wait (not judged: 1 start before, 2 after)"
    assert said(setting=PERSISTENT, epochs=2) == [expected]
    assert said(setting=BATCH) == []
    assert said(setting=PERSISTENT, epochs=0) == []


def test_data_wait_that_no_time_has_is_said_below_the_sentence_where_it_is_much() -> None:
    def of(wait_us: float) -> Run:
        apart = pb.Apart(wait_us=300, starts_us=300, epochs=1)
        return Run("run", (pb.Capture(loader=pb.Loader(wait_us=wait_us, apart=apart)),))

    assert not left_out([Run("run", (pb.Capture(),))], [Run("run", (pb.Capture(),))]).text
    left = left_out([of(1000)], [of(1000)])
    assert (
        left.in_graph
        == "Only this graph has starts of epochs, 300 µs of the windows before and 300 µs of the windows after."
    )
    assert left._replace(begun=True).in_graph.endswith(", with the imports of DataLoader workers that begin then.")
    assert not left_out([of(10_000)], [of(10_000)]).in_graph
    assert not left_out([Run("run", (pb.Capture(),))], [Run("run", (pb.Capture(),))]).in_graph
    assert left.share > MUCH > left_out([of(10_000)], [of(10_000)]).share


def test_what_lies_between_epochs_is_in_no_time_and_said_where_it_is_known() -> None:
    remade = run(1_000.0)
    finding = remade.captures[0].findings.add(rule="loader_made_anew")
    finding.evidence.add(kind="between_epochs", value=151_000.0, text="151 ms between two epochs (4 times)")
    facts = [fact.text for fact in not_judged([remade], [run(1_000.0)], "sample", (), ())]
    text = (
        "no time here has what lies between epochs, and the DataLoader was made anew before: 151 ms between two epochs"
    )
    assert any(fact.startswith(text) for fact in facts)
    assert not [fact for fact in not_judged([run(1_000.0)], [run(1_000.0)], "sample", (), ()) if "between" in fact.text]


def test_other_numbers_of_workers_may_bring_the_same_samples_again() -> None:
    finding = pb.Finding(rule="workers_read_the_same", title="2 DataLoader workers each read all of Clicks")
    unknown = pb.Abstention(rule="workers_read_the_same", reason="All items are of one size.")
    workers, before = SettingChange("num_workers", "0", "2"), [Run("run", (pb.Capture(),))]
    for capture, words in (
        (pb.Capture(findings=[finding]), "and are no gain: 2 DataLoader workers each read all of Clicks"),
        (pb.Capture(abstained=[unknown]), "and are no gain. All items are of one size."),
    ):
        after = [Run("run", (capture,))]
        (fact,) = not_judged(before, after, "sample", (), [workers])
        assert fact.text.endswith(words)
        assert not not_judged(before, after, "sample", (), [BATCH])
    assert not not_judged(before, before, "sample", (), [workers])
