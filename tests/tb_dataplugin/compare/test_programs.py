from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.not_judged import not_judged
from tb_dataplugin.compare.own_lines import own_lines
from tb_dataplugin.compare.programs import (
    are_same_program,
    marks_of,
    other_script,
    program_numbers,
    why_not_comparable,
)
from tb_dataplugin.compare.quantity import Quantity
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.report_pb2 import Capture, Loader, Stage

GOLDEN = Path(__file__).parents[2] / "golden" / "traces"
MODEL = ["aten::conv2d", "aten::relu", "aten::linear", "aten::batch_norm", "ReluBackward", "AddmmBackward"]
OTHER = ["aten::embedding", "aten::layer_norm", "aten::softmax", "aten::linear", "aten::gelu", "AddmmBackward"]


def golden(name: str) -> Capture:
    return analyse_file(GOLDEN / f"{name}.pt.trace.json.gz").capture


def why(before: Capture, after: Capture) -> str:
    return why_not_comparable([Run("a", (before,))], [Run("b", (after,))])


def program(operators: list[str] = [], stages: list[str] = [], dataset: str = "") -> Capture:  # noqa: B006
    rows = [Stage(kind="transform", label=label) for label in stages]
    return Capture(operators=operators, stages=rows, loader=Loader(dataset=dataset), mode="train")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("v100_resnet50_workers0", "mi250_minitoy"),
        ("v100_resnet50_workers0", "torch2_4_cpu_workers0"),
        ("sampled_rank0", "v100_resnet50_workers4"),
        ("annotate_workers2", "v100_resnet50_workers0"),
        ("alexnet_no_steps", "v100_resnet50_workers0"),
    ],
)
def test_unlike_programs_are_said_to_be(before: str, after: str) -> None:
    found = compare([golden(before)], [golden(after)])
    assert found.outcome == "not_comparable"
    assert found.sentence.startswith("Not comparable: different programs (") and "operators in common" in found.sentence


SMALL = ["AddmmBackward", "ReluBackward", "aten::cross_entropy_loss", "aten::linear", "aten::relu", "aten::item"]


def with_sample(capture: Capture) -> Capture:
    capture.stages.add(kind="sample", label=capture.loader.dataset)
    return capture


def test_small_models_with_most_operators_in_common_are_told_apart_by_their_data() -> None:
    spectra = with_sample(program([*SMALL, "aten::flatten"], [], "Spectra"))
    photos = with_sample(program([*SMALL, "aten::conv2d"], ["Crop"], "Photos"))
    assert why(spectra, photos) == "different programs (datasets Spectra and Photos, no stage in common)"
    assert not are_same_program(spectra, photos)


def test_a_pipeline_of_transforms_in_both_makes_no_one_program() -> None:
    clips = with_sample(program([*SMALL, "aten::flatten"], ["Compose", "MelBank"], "Clips"))
    photos = with_sample(program([*SMALL, "aten::conv2d"], ["Compose", "Crop"], "Photos"))
    assert why(clips, photos) == "different programs (datasets Clips and Photos, no stage in common)"
    assert not are_same_program(clips, photos)


@pytest.mark.parametrize("name", ["main", "<lambda>", "<module>"])
def test_a_stage_that_is_called_as_in_any_script_makes_no_one_program(name: str) -> None:
    clips = with_sample(program([*SMALL, "aten::flatten"], [name, "MelBank"], "Clips"))
    photos = with_sample(program([*SMALL, "aten::conv2d"], [name, "Crop"], "Photos"))
    assert why(clips, photos) == "different programs (datasets Clips and Photos, no stage in common)"
    assert not are_same_program(clips, photos)
    crops = with_sample(program([*SMALL, "aten::conv2d"], [name, "Crop"], "Crops"))
    assert are_same_program(crops, photos)


def test_a_capture_without_a_dataloader_is_not_suggested_beside_one_with() -> None:
    assert are_same_program(program(MODEL), program(MODEL))
    assert not are_same_program(program(MODEL), program(MODEL, [], "Shards"))
    assert why(program(MODEL), program(MODEL, [], "Shards")) == "", "who chooses it may see it"


def test_a_new_dataset_for_the_same_training_step_is_the_same_program() -> None:
    before = with_sample(program(MODEL, ["Crop"], "Photos"))
    after = with_sample(program(MODEL, ["FastCrop"], "FastPhotos"))
    assert why(before, after) == ""


def test_a_dataset_of_torchs_own_does_not_make_programs_the_same() -> None:
    assert why(program(MODEL, [], "TensorDataset"), program(OTHER, [], "TensorDataset")).startswith(
        "different programs"
    )
    assert why(program(MODEL, [], "Pets"), program(OTHER, [], "Pets")) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("v100_resnet50_workers0", "v100_resnet50_workers4"),
        ("torch1_8_cpu_workers0", "torch2_13_cpu_workers2"),
        ("torch1_12_cpu_workers2", "torch2_4_cpu_workers0_stack"),
    ],
)
def test_one_program_stays_one_with_other_workers_and_releases_of_torch(before: str, after: str) -> None:
    assert compare([golden(before)], [golden(after)]).outcome != "not_comparable"


def test_a_replay_is_not_compared_with_training() -> None:
    found = compare([golden("annotate_replay")], [golden("annotate_workers2")])
    assert found.outcome == "not_comparable" and "one side is a replay" in found.sentence


def test_what_speaks_for_one_program_outweighs_what_speaks_against_it() -> None:
    assert why(program(MODEL), program(OTHER)) == "different programs (2 of 10 operators in common)"
    assert why(program(MODEL, dataset="Photos"), program(OTHER, dataset="Photos")) == ""
    stages = ["Crop", "Flip", "Blur"]
    assert why(program(MODEL, stages), program(OTHER, [*stages, "New"])) == ""
    assert "no stage in common" in why(program([], stages), program([], ["Resize", "Pad", "Normalise"]))


def test_what_is_not_known_or_compiled_says_nothing() -> None:
    assert why(program(MODEL), program([])) == why(program(), program()) == ""
    assert why(program(MODEL), program(["Torch-Compiled Region", *OTHER])) == ""


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (program(operators=MODEL), program(operators=MODEL[:5]), True),
        (program(operators=MODEL), program(operators=OTHER), False),
        # Operators say more than the dataset does: two models may read the same files.
        (program(operators=MODEL, dataset="Photos"), program(operators=OTHER, dataset="Photos"), False),
        (program(stages=["A", "B", "C"]), program(stages=["A", "B", "C", "D"]), True),
        (program(dataset="Photos"), program(dataset="Photos"), True),
        # One small model, trained by programs that prepare its data in other ways.
        (program(MODEL, ["A", "B", "C", "D"], "Photos"), program(MODEL, ["A", "B", "E", "F"], "Photos"), False),
        (program(MODEL, ["A", "B", "C", "D"], "Photos"), program(MODEL, ["A", "B", "C", "F"], "Photos"), True),
        (program(), program(), False),
        (program(operators=MODEL), Capture(operators=MODEL, mode="replay"), False),
    ],
)
def test_captures_are_of_one_program_only_where_the_strongest_evidence_says_so(
    one: Capture, other: Capture, same: bool
) -> None:
    assert are_same_program(one, other) is same


def test_captures_of_one_run_are_numbered_by_their_program_which_is_known_by_its_marks_alone() -> None:
    names = [
        "v100_resnet50_workers0",
        "mi250_minitoy",
        "v100_resnet50_workers4",
        "annotate_workers2",
        "annotate_replay",
    ]
    captures = [golden(name) for name in names]
    marks = [marks_of(capture) for capture in captures]
    assert program_numbers(("gpu", mark) for mark in marks) == [1, 2, 1, 3, 4]
    assert program_numbers(("gpu", capture) for capture in captures) == [1, 2, 1, 3, 4]
    assert program_numbers([("one", marks[0]), ("two", marks[0])]) == [1, 2], "of each run by itself"
    assert sum(mark.ByteSize() for mark in marks) < 0.1 * sum(capture.ByteSize() for capture in captures)


def test_a_setting_that_one_side_did_not_record_is_no_change_but_may_be_one() -> None:
    after = pb.Capture()
    after.CopyFrom(golden("v100_resnet50_workers4"))
    after.loader.in_workers = False  # as if its waits had no marks of torch's
    found = compare([golden("v100_resnet50_workers0")], [after])
    assert "num_workers" not in {setting.name for setting in found.settings}
    texts = [one.text for one in found.evidence if one.kind == "setting"]
    assert "DataLoader workers: 0 before, not recorded after; it may have changed" in texts


def in_script(*modules: tuple[str, float]) -> Run:
    """A run whose training thread was sampled in these modules."""
    files, times = zip(*modules, strict=True)
    tree = pb.LineTree(
        names=["<module>", *files],
        function=[0] * len(files),
        file=range(1, len(files) + 1),
        total_us=times,
        origin=["user"] * len(files),
    )
    line = pb.Line(function="<module>", file=files[0], line=5, time_us=9e5, share=0.9)
    part = pb.PartLines(samples=500, time_us=1e6, tree=tree, lines=[line])
    return Run("run", (pb.Capture(steps=pb.Steps(count=10), lines=pb.Lines(training_thread=part)),))


def test_a_loop_in_another_script_is_said_and_its_lines_are_not_compared() -> None:
    first, second = in_script(("/a/train.py", 9e5), ("/a/model.py", 1e4)), in_script(("/a/new.py", 9e5))
    assert other_script([first], [second]) == ("train.py", "new.py")
    assert other_script([first], [in_script(("/b/train.py", 5e5))]) is None
    assert other_script([first, second], [second]) is None
    assert other_script([first], [Run("plain", (pb.Capture(),))]) is None
    assert why_not_comparable([first], [second]) == ""
    time = Quantity("time", "time", "time", 1e5, 1e5, 0.0, None, "", "not_significant")
    assert not own_lines([first], [second], "step", time)
    said = [each.text for each in not_judged([first], [second], "step", (), ())]
    assert said == ["the training loop is in train.py before, in new.py after: its lines are not compared"]
