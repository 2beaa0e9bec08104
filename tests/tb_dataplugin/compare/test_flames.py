from __future__ import annotations

import math

import pytest

from tb_dataplugin.compare.build import compare
from tb_dataplugin.report import report_pb2 as pb
from tests.lines_run import lines_run
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import training_run


def flames(before: list[pb.Capture], after: list[pb.Capture]) -> dict[str, pb.FlameChange]:
    return {flame.scope: flame for flame in compare(before, after).flames}


def row_of(flame: pb.FlameChange, label: str) -> int:
    return [flame.names[index] for index in flame.label].index(label)


SLOW, QUICK = capture_of(lines_run(mask_ms=60)), capture_of(lines_run(mask_ms=24))


def test_a_function_that_takes_less_time_is_changed_and_one_that_does_not_is_not() -> None:
    flame = flames([SLOW], [QUICK])["pipeline"]
    mask, load = row_of(flame, "RandomMask.dilate"), row_of(flame, "ImageFile.load")
    assert flame.before[mask] > 1.5 * flame.after[mask] > 0
    assert (flame.changed[mask], flame.changed[load]) == (True, False)
    assert abs(flame.after[mask] - flame.before[mask]) > flame.error[mask] > 0
    assert flame.names[flame.place[mask]] == "train.py:41"
    assert flame.text == ""


def test_the_whole_is_judged_as_its_functions_are() -> None:
    flame, equal = flames([SLOW], [QUICK])["pipeline"], flames([SLOW], [SLOW])["pipeline"]
    assert flame.changed[row_of(flame, "sample::Pets")] and flame.whole_changed
    assert flame.before_us - flame.after_us > flame.whole_error > 0
    assert flame.whole_error == pytest.approx(flame.error[row_of(flame, "sample::Pets")], rel=0.1)
    assert not equal.whole_changed and equal.whole_error > 0


def test_there_is_a_picture_of_the_whole_of_the_training_thread_and_of_each_stage() -> None:
    found = flames([SLOW], [QUICK])
    assert list(found)[:2] == ["pipeline", "training"]
    assert {"transform::RandomMask", "decode::PIL.Image"} < set(found)
    assert row_of(found["transform::RandomMask"], "convolve2d") > 0


def test_what_workers_build_for_later_steps_makes_no_sample_slower() -> None:
    ahead = capture_of(lines_run(mask_ms=60, ahead=2))
    assert ahead.throughput.samples == SLOW.throughput.samples
    assert ahead.stage_summary.samples > 1.8 * SLOW.stage_summary.samples
    found = compare([SLOW], [ahead])
    for flame in found.flames:
        assert not flame.text and not any(flame.changed), flame.scope
    whole = found.flames[0]
    sample, mask = row_of(whole, "sample::Pets"), row_of(whole, "RandomMask.dilate")
    for row in (sample, mask):
        assert whole.after[row] == pytest.approx(whole.before[row], rel=0.05)
    assert whole.after_us == pytest.approx(whole.before_us, rel=0.05)
    calls = next(stage.calls for stage in found.stages if stage.name == "transform::RandomMask")
    assert calls.after == pytest.approx(1, rel=0.05) and abs(calls.change_us) < 0.05 * whole.before_us


def test_how_well_the_samples_are_counted_is_in_the_error() -> None:
    """Of a worker, one is cut at either edge: of five, that may be much."""
    long, short = (flames([one], [one])["pipeline"] for one in (SLOW, capture_of(lines_run(steps=5))))
    mask = [row_of(one, "RandomMask.dilate") for one in (long, short)]
    by_stacks = 1.96 * short.before[mask[1]] * math.sqrt(2 / (0.5 * short.before_samples))
    assert short.error[mask[1]] > 1.5 * by_stacks
    assert short.error[mask[1]] > 3 * long.error[mask[0]]


def test_equal_sides_have_no_change() -> None:
    flame = flames([SLOW], [SLOW])["pipeline"]
    assert list(flame.before) == list(flame.after)
    assert not any(flame.changed)


def test_functions_are_joined_where_their_lines_moved() -> None:
    moved = pb.Capture()
    moved.CopyFrom(SLOW)
    tree = moved.lines.pipeline.tree
    tree.line[:] = [line + 7 for line in tree.line]
    flame = flames([SLOW], [moved])["pipeline"]
    mask = row_of(flame, "RandomMask.dilate")
    assert len(flame.depth) == len(tree.depth)
    assert flame.before[mask] == flame.after[mask]
    assert flame.names[flame.place[mask]] == "train.py"  # without their texts, lines 41 and 48 may be two


def test_functions_are_joined_where_their_files_lie_in_another_checkout() -> None:
    moved = pb.Capture()
    moved.CopyFrom(SLOW)
    tree = moved.lines.pipeline.tree
    tree.names[:] = [f"/ci/checkout{name}" if name.endswith(".py") else name for name in tree.names]
    flame = flames([SLOW], [moved])["pipeline"]
    assert len(flame.depth) == len(tree.depth)
    assert list(flame.before) == list(flame.after) and not any(flame.changed)


def test_what_one_side_lacks_is_there_with_nothing_on_it() -> None:
    before = pb.Capture()
    before.CopyFrom(SLOW)
    tree = before.lines.pipeline.tree
    tree.names[tree.label[[tree.names[index] for index in tree.label].index("convolve2d")]] = "old_convolve"
    flame = flames([before], [SLOW])["pipeline"]
    new, gone = row_of(flame, "convolve2d"), row_of(flame, "old_convolve")
    assert (flame.before[new], flame.after[gone]) == (0, 0)
    assert flame.changed[new] and flame.changed[gone]


def test_runs_of_a_side_are_added_up_per_step() -> None:
    again = pb.Capture()
    again.CopyFrom(SLOW)
    again.name, again.file = "again_2", "again_2"
    one, two = flames([SLOW], [QUICK])["pipeline"], flames([SLOW, again], [QUICK])["pipeline"]
    assert two.before_samples == 2 * one.before_samples
    assert two.before_us == pytest.approx(one.before_us)


def test_a_run_with_too_few_samples_for_a_picture_does_not_halve_what_the_others_take() -> None:
    """A stranger's training thread took 52% less, which was that of one run after, per step of all three."""
    few = pb.Capture()
    few.CopyFrom(SLOW)
    few.name, few.file = "few", "few.json"
    few.lines.training_thread.ClearField("tree")
    one, some = flames([SLOW], [SLOW])["training"], flames([SLOW], [SLOW, few])["training"]
    assert some.after_us == pytest.approx(one.after_us) and some.after_samples == one.after_samples
    assert not any(some.changed)
    assert some.note == "Of 1 of 2 runs after: the others have too few stack samples for it."


def test_too_few_samples_are_said_and_not_drawn() -> None:
    few = capture_of(lines_run(steps=2, mask_ms=6))
    flame = flames([few], [QUICK])["transform::RandomMask"]
    assert flame.text.startswith("Before: too few stack samples")
    assert not flame.depth


def test_a_side_without_stacks_says_so() -> None:
    plain = capture_of(training_run())
    assert flames([plain], [QUICK])["pipeline"].text.startswith("No stacks were sampled before:")
    assert flames([QUICK], [plain])["pipeline"].text.startswith("No stacks were sampled after:")
    assert not flames([plain], [plain])


def test_a_deep_recursion_is_compared() -> None:
    deep = pb.Capture()
    deep.CopyFrom(SLOW)
    tree = deep.lines.pipeline.tree
    count = 3000
    del tree.names[:]
    tree.names.extend(["dive", "/home/me/dive.py"])
    for column, value in (("label", 0), ("function", 0), ("file", 1), ("line", 5), ("samples", 500), ("place", 0)):
        getattr(tree, column)[:] = [value] * count
    for column in ("total_us", "self_us", "waited_us", "idle_us"):
        getattr(tree, column)[:] = [deep.lines.pipeline.time_us] * count
    tree.origin[:] = ["user"] * count
    tree.source[:] = [-1] * count
    tree.depth[:] = range(count)
    assert len(flames([deep], [deep])["pipeline"].depth) == 600


def test_an_evaluation_of_another_dataset_in_one_window_makes_no_sample_of_the_loops_quicker() -> None:
    """A stranger's unchanged transforms took 27% less: what they took was per sample of both datasets."""
    evaluated = pb.Capture()
    evaluated.CopyFrom(SLOW)
    evaluated.loader.apart.others.add(dataset="Views", wait_us=1.0)
    evaluated.stages.add(kind="sample", label="Views", path=["sample::Views"], count=40, total_us=1.0, self_us=1.0)
    found = flames([SLOW], [evaluated])
    for scope in ("pipeline", "transform::RandomMask"):
        assert not any(found[scope].changed), scope
    whole = found["pipeline"]
    row = row_of(whole, "sample::Pets")
    assert whole.after[row] == pytest.approx(whole.before[row])
