"""Which folders are repeated runs of one program."""

from __future__ import annotations

from tb_dataplugin.compare import Listed, RepeatedRuns, marks_of, mixed_runs, place_of, repeated_runs
from tb_dataplugin.report.report_pb2 import Capture, Stage

MODEL = ["aten::conv2d", "aten::relu", "aten::linear", "aten::batch_norm", "ReluBackward", "AddmmBackward"]
OTHER = ["aten::embedding", "aten::layer_norm", "aten::softmax", "aten::bmm", "aten::gelu", "aten::tanh"]


def listed(
    run: str, name: str = "vm_1.5", operators: list[str] = MODEL, rank: int | None = None, mode: str = "train"
) -> Listed:
    return Listed(run, name, rank, marks_of(Capture(operators=operators, mode=mode)).SerializeToString())


def folders(*captures: Listed) -> list[str]:
    """With another run of the program elsewhere."""
    return [found.folder for found in repeated_runs((*captures, listed("elsewhere")))]


def test_a_folder_of_runs_of_one_program() -> None:
    captures = [listed(f"ft-{side}/r{number}") for number in (1, 2, 3) for side in ("before", "after")]
    assert repeated_runs(tuple(captures)) == (
        RepeatedRuns("ft-before", (0, 2, 4), is_numbered=True),
        RepeatedRuns("ft-after", (1, 3, 5), is_numbered=True),
    )


def test_folders_above_runs_that_are_deeper() -> None:
    assert folders(listed("logs/version_0/profile"), listed("logs/version_1/profile")) == ["logs"]


def test_no_folder_of_several_versions_and_not_the_log_directory() -> None:
    versions = [listed(f"v/{side}/r{number}") for number in (1, 2) for side in ("before", "after")]
    assert folders(*versions) == ["v/before", "v/after"]
    assert folders(listed("before"), listed("after"), listed(".")) == []


def test_no_folder_of_a_single_run_or_with_captures_of_its_own() -> None:
    assert folders(listed("a/r1")) == []
    assert folders(listed("a/r1"), listed("a/r2"), listed("a")) == []


def test_no_folder_of_other_programs_or_of_what_is_not_known_yet() -> None:
    assert folders(listed("a/r1"), listed("a/r2", operators=OTHER)) == []
    assert folders(listed("a/r1"), listed("a/r2", mode="replay")) == []
    assert folders(listed("a/r1"), listed("a/r2"), Listed("a/r3", "vm_1.5", None, b"")) == []


def test_windows_and_ranks_of_one_run_are_no_repeated_runs() -> None:
    windows = [listed(f"a/r{number}", f"vm_{number}.{window}") for number in (1, 2) for window in (5, 6)]
    ranks = [listed(f"b/r{number}", f"vm_{number}{rank}.5", rank=rank) for number in (1, 2) for rank in (0, 1)]
    flat = [listed(f"c/{side}", f"vm_{number}.5") for number in (1, 2) for side in ("before", "after")]
    assert folders(*windows, *ranks, *flat) == ["a", "b"]
    assert folders(*(listed(f"d/rank{rank}", rank=rank) for rank in (0, 1))) == []


def test_nothing_outside_to_be_compared_with() -> None:
    """`exp/before` and `exp/after` are sides, "exp" is none."""
    inside = (listed("exp/before"), listed("exp/after"))
    assert repeated_runs(inside) == ()
    assert repeated_runs((*inside, listed("other", operators=OTHER), Listed("new", "vm_1.5", None, b""))) == ()
    assert folders(*inside) == ["exp"]


def test_versions_are_called_by_words_and_repeated_runs_by_numbers() -> None:
    sides = [listed(f"{side}/r{number}") for side in ("a/before", "a/after") for number in (1, 12)]
    tries = [listed(f"try{number}/{side}") for number in (1, 2) for side in ("before", "after")]
    repeated = repeated_runs((*sides, *tries))
    assert {found.folder: found.is_numbered for found in repeated} == {
        "a/before": True,
        "a/after": True,
        "try1": False,
        "try2": False,
    }
    assert [place_of(run, repeated) for run in ("a/before/r1", "a/beforehand", "try1/after", ".")] == [
        "a/before",
        "a/beforehand",
        "try1/after",
        ".",
    ]


def test_versions_with_other_stages_are_no_runs_of_one_thing() -> None:
    """`img/before` has a transform that `img/after` is without."""

    def with_stages(run: str, *labels: str) -> Listed:
        stages = [Stage(kind="transform", label=label) for label in labels]
        marks = marks_of(Capture(operators=MODEL, mode="train", stages=stages))
        return Listed(run, "vm_1.5", None, marks.SerializeToString())

    before, after = with_stages("img/before", "Crop", "Blur", "Flip"), with_stages("img/after", "Crop", "Flip")
    assert folders(before, after) == []
    assert folders(before, with_stages("img/again", "Flip", "Blur", "Crop")) == ["img"]


def test_runs_with_captures_of_several_programs_are_mixed() -> None:
    alike = [listed("alike", "a"), listed("alike", "b"), listed("other", operators=OTHER)]
    mixed = [listed("mixed", "a"), listed("mixed", "b", operators=OTHER)]
    replayed = [listed("replayed", "a"), listed("replayed", "b", mode="replay")]
    plain = [Listed("unknown", "d", None, marks_of(Capture(mode="unannotated")).SerializeToString())]
    unknown = [listed("unknown", "a"), listed("unknown", "b", operators=[]), Listed("unknown", "c", None, b"")]
    assert mixed_runs((*alike, *mixed, *replayed, *unknown, *plain)) == ("mixed", "replayed")
