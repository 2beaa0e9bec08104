from __future__ import annotations

import math
from typing import Any

import pytest

from tb_dataplugin.compare.build import compare
from tb_dataplugin.export.as_stacks import by_thread
from tb_dataplugin.report import report_pb2 as pb
from tests.lines_run import Sampled, lines_run
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder, training_run


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


def test_what_met_the_recorders_own_code_may_be_of_any_function() -> None:
    """A tenth of one side's time was in the recorder: a stranger's untouched transform took 20% more after."""
    met = pb.Capture()
    met.CopyFrom(SLOW)
    met.lines.pipeline.recorder_us = 0.1 * met.lines.pipeline.time_us
    plain, wider = flames([SLOW], [SLOW])["pipeline"], flames([SLOW], [met])["pipeline"]
    row = row_of(plain, "RandomMask.dilate")
    assert wider.error[row] == pytest.approx(plain.error[row] + 0.1 * plain.after[row])


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


LOADER: dict[str, Any] = {"name": "DataLoader", "dataset": "Clicks", "num_workers": 0, "batch_size": 4, "iterated": 1}
OF_DATASET = (("<module>", "/home/me/train.py", 9), ("Clicks.__getitem__", "/home/me/train.py", 3))
OF_EVALUATION = (OF_DATASET[0], ("Clicks.resize", "/home/me/train.py", 4))
OF_TRANSFORM = (*OF_DATASET, ("Jitter.__call__", "/home/me/train.py", 5))


def evaluated(every: int, steps: int = 48) -> TraceBuilder:
    """The training thread builds 4 samples a step, each read for 1 ms and jittered for 1 ms; after one step in `every`
    30 of the same dataset for another DataLoader, which are only read.
    """
    builder = TraceBuilder().annotated(loaders=[{**LOADER, "batch_size": 30}, LOADER], host={"cores": 8})
    training, now = Sampled(), 0

    def batch(samples: int, each: int) -> None:
        nonlocal now
        builder.wait(1000 * now, 1000 * samples * each, "wait::DataLoader")
        for start in range(now, now + samples * each, each):
            builder.stage("sample::Clicks", 1000 * start, 1000 * each)
            training.during(start, start + 1, OF_DATASET if each > 1 else OF_EVALUATION)
            if each > 1:
                builder.stage("transform::Jitter", 1000 * (start + 1), 1000)
                training.during(start + 1, start + each, OF_TRANSFORM)
        now += samples * each

    for number in range(1, steps + 1):
        begin = now
        batch(4, each=2)
        training.during(now, now + 6, OF_DATASET[:1])
        now += 6
        if number % every == 0:
            batch(30, each=1)
            builder.wait(1000 * now, 100, "wait::DataLoader")  # the end of its epoch
            training.during(now, now + 1, OF_DATASET[:1])
            now += 1
        builder.step(1000 * begin, 1000 * (now - begin))
    return builder.stacks(training.times, training.stacks)


def test_an_evaluation_of_the_same_dataset_in_one_window_makes_no_stage_of_the_loops_quicker() -> None:
    """A stranger's unchanged transform took 40% less: what it took was per sample of both DataLoaders. What another one
    has built stands apart, per sample that the training loop takes.
    """
    with_it = capture_of(evaluated(every=8))
    assert [other.batch_size for other in with_it.loader.apart.others] == [30]
    assert [stage.for_others for stage in with_it.stages if stage.label == "Clicks"] == [180]
    found = flames([capture_of(evaluated(every=100))], [with_it])
    whole, apart = found["pipeline"], row_of(found["pipeline"], "for another DataLoader")
    for label, time_us in (("sample::Clicks", 2_000), ("transform::Jitter", 1_000)):
        row = row_of(whole, label)
        assert [whole.before[row], whole.after[row]] == pytest.approx([time_us, time_us], rel=0.03)
        assert not whole.changed[row]
    assert (whole.before[apart], whole.depth[apart]) == (0, 0) and whole.changed[apart]
    assert whole.after[apart] == pytest.approx(1_000 * 180 / 192, rel=0.03)
    assert not any(found["transform::Jitter"].changed)
    part = found["sample::Clicks"]
    assert part.after[row_of(part, "for another DataLoader")] == whole.after[apart]


def test_lines_of_an_evaluation_in_one_window_are_no_change_of_the_loops_stage() -> None:
    """A stranger's evaluation had a line of its own in the dataset of both: "0% to 13.0%, new", and others less."""
    found = compare([capture_of(evaluated(every=100))], [capture_of(evaluated(every=8))])
    (stage,) = [part for part in found.lines if part.name == "sample::Clicks"]
    assert stage.functions and not any("resize" in one.name for one in stage.functions)
    assert {one.outcome for one in (*stage.functions, *stage.lines)} <= {"not_significant", "identical"}


def test_stacks_for_another_dataloader_are_no_thread_of_that_name() -> None:
    assert [name for name, _ in by_thread(capture_of(evaluated(every=8)))] == ["training thread", "stages"]
