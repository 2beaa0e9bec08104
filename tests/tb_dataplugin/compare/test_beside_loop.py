"""An evaluation in one side's windows is no change of the program: its stages are not new, its calls not more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.beside_loop import NOT_COMPARED, only_beside_loop
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.report.report_pb2 import Apart, Capture, Comparison, Loader, OtherLoader, Quantity, Stage
from tests.tb_dataplugin.analyses.test_apart import EVALUATION, TRAIN
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

IN_LOOP = ("transform::Jitter", "collate::pad")
IN_EVALUATION = ("transform::Scale", "collate::default_collate")


def trained(evaluates: int = 0, loop: Sequence[str] = IN_LOOP, evaluation: Sequence[str] = IN_EVALUATION) -> Capture:
    """24 steps of 4 samples; each eighth iterates another loader as well, for so many batches of 16."""
    builder, at = TraceBuilder().annotated(loaders=[EVALUATION, TRAIN], host={"cores": 8}), 0
    for number in range(1, 25):
        begin, at = at, _built(builder, at, 4, loop) + 6_000
        if evaluates and number % 8 == 0:
            for _ in range(evaluates):
                at = _built(builder, at, 16, evaluation) + 1_000
            builder.wait(at, 100, "wait::DataLoader")  # the end of its epoch
            at += 1_000
        builder.step(begin, at - begin)
    return capture_of(builder)


def _built(builder: TraceBuilder, at: int, samples: int, stages: Sequence[str]) -> int:
    """A batch, by the training thread; when it has it. Each sample is 1 ms, and so is the collate after them."""
    end = at + (samples + 1) * 1_000
    builder.wait(at, end - at, "wait::DataLoader")
    for start in range(at, end - 1_000, 1_000):
        builder.stage("sample::Clicks", start, 1_000)
        for name in stages:
            if name.startswith("transform::"):
                builder.stage(name, start + 100, 500)
    for name in stages:
        if name.startswith("collate::"):
            builder.stage(name, end - 900, 800)
    return end


def row(found: Comparison, name: str) -> Quantity:
    return next(stage for stage in found.stages if stage.name == name)


def said(found: Comparison) -> list[str]:
    return [fact.text for fact in found.evidence if fact.kind in ("stage_new", "stage_gone", "calls_change")]


def test_what_only_an_evaluation_calls_is_neither_new_nor_gone() -> None:
    plain, evaluated = trained(), trained(3)
    for when, found in (("after", compare([plain], [evaluated])), ("before", compare([evaluated], [plain]))):
        assert said(found) == []
        collate = row(found, "collate::default_collate")
        assert (collate.outcome, collate.interval_text) == ("unknown", f"{when}, only for another DataLoader")
        assert "default_collate" not in found.sentence


def test_calls_per_sample_are_the_loops() -> None:
    """The loop has four calls of each sample's transform in both, and no more samples: 0.4 of those in the windows."""
    found = compare([trained()], [trained(3)])
    for name in ("sample::Clicks", "transform::Jitter"):
        calls = row(found, name).calls
        assert calls.before == pytest.approx(1.0) and calls.after == pytest.approx(1.0)
        assert calls.change_us == pytest.approx(0.0, abs=1.0)


def test_a_loop_that_changed_beside_an_evaluation_is_told() -> None:
    twice = (*IN_LOOP, "transform::Flip")
    assert said(compare([trained()], [trained(3, twice)])) == ["transform::Flip is new: 500 µs per call"]
    assert said(compare([trained(3, twice)], [trained()])) == ["transform::Flip is gone: 500 µs per call before"]


def test_where_both_sides_evaluate_what_the_evaluation_calls_may_be_new() -> None:
    """However long these are."""
    more = (*IN_EVALUATION, "transform::Crop")
    found = compare([trained(1)], [trained(3, evaluation=more)])
    assert said(found) == ["transform::Crop is new: 500 µs per call"]
    collate = row(found, "collate::default_collate")
    assert (collate.outcome, collate.interval_text) == ("unknown", f"only for another DataLoader; {NOT_COMPARED}")
    assert collate.before_us and collate.after_us
    text = compare_text(found)
    assert "only for another DataLoader\n" in text and text.count("times are means over all calls") == 1


def test_a_stage_that_left_the_loop_and_stayed_in_the_evaluation_is_told_by_its_calls() -> None:
    without = tuple(name for name in IN_LOOP if name != "transform::Jitter")
    found = compare([trained()], [trained(3, without, (*IN_EVALUATION, "transform::Jitter"))])
    assert said(found) == ["transform::Jitter: 1.00 → 0 calls per sample built"]
    assert row(found, "transform::Jitter").interval_text == "after, only for another DataLoader"
    (back,) = said(compare([trained(3, without, (*IN_EVALUATION, "transform::Jitter"))], [trained()]))
    assert back == "transform::Jitter: 0 → 1.00 calls per sample built"


def test_calls_that_cannot_be_told_from_those_for_another_loader_are_not_compared() -> None:
    """Without spans of samples nothing shows whose batches are built; a plain window has all of them for the loop."""
    sides = [trained(), trained(3)]
    for side in sides:
        kept = [stage for stage in side.stages if not any(name.startswith("sample::") for name in stage.path)]
        del side.stages[:]
        side.stages.extend(kept)
    after = sides[1].stages.add(kind="read", label="open", path=["read::open"], count=400, self_us=1, block_count=[99])
    sides[0].stages.add(kind="read", label="open", path=["read::open"], count=96, self_us=1, block_count=[96])
    found = compare([sides[0]], [sides[1]])
    assert after.count and not row(found, "read::open").calls.HasField("after")
    assert said(found) == []


OPENS = Stage(kind="read", label="lmdb.open", path=["read::lmdb.open"], count=2)


def run(*stages: Stage, starts: int = 0, others: Sequence[OtherLoader] = (), told: bool = True) -> list[Run]:
    apart = Apart(epochs=starts * told, others=others)
    return [Run("run", (Capture(stages=stages, loader=Loader(epochs=starts, apart=apart)),))]


def test_nor_is_what_only_the_start_of_an_epoch_calls_where_one_side_has_none() -> None:
    where = {"read::lmdb.open": "after, only at an epoch's start"}
    assert only_beside_loop(run(), run(OPENS, starts=1)) == where
    assert only_beside_loop(run(OPENS, starts=1), run(OPENS, starts=2)) == {
        "read::lmdb.open": f"only at an epoch's start; {NOT_COMPARED}"
    }
    assert not only_beside_loop(run(starts=1), run(OPENS, starts=1))
    assert not only_beside_loop(run(starts=1, told=False), run(OPENS, starts=1))
    assert not only_beside_loop(run(), run(OPENS))


def test_an_evaluation_with_other_settings_is_the_same_and_one_of_another_dataset_is_not() -> None:
    small, large = (OtherLoader(dataset="Photos", batch_size=size, num_workers=size // 8) for size in (8, 16))
    assert not only_beside_loop(run(others=[small]), run(OPENS, others=[large]))
    where = {"read::lmdb.open": "before, only for another DataLoader"}
    assert only_beside_loop(run(OPENS, others=[small]), run(others=[OtherLoader(dataset="Texts")])) == where
    assert only_beside_loop(run(OPENS, others=[small, large]), run(others=[small])) == where
    both = {"read::lmdb.open": "before, only for another DataLoader or at an epoch's start"}
    assert only_beside_loop(run(OPENS, others=[small], starts=1), run(others=[small])) == both


def test_what_is_for_another_loader_alone_is_of_no_epochs_start() -> None:
    """The report counts its calls: where all are for the other DataLoader, a start beside it says nothing."""
    photos = OtherLoader(dataset="Photos")
    opens = Stage(kind=OPENS.kind, label=OPENS.label, path=OPENS.path, count=2, for_others=2)
    side = run(opens, others=[photos], starts=1)
    assert only_beside_loop(side, side) == {"read::lmdb.open": f"only for another DataLoader; {NOT_COMPARED}"}
    assert only_beside_loop(side, run()) == {"read::lmdb.open": "before, only for another DataLoader"}
    assert not only_beside_loop(side, run(others=[photos]))
