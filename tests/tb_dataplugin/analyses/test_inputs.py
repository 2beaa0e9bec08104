"""What a call gets is what the call before it returns, within one sample and one enclosing call."""

from __future__ import annotations

from typing import Any, Final

from tb_dataplugin.analyses.inputs import MOST_EARLIER, find_inputs
from tb_dataplugin.findings.sequence import Step, sequences
from tests.tb_dataplugin.findings.cases import finding_of, results_of, signals_of
from tests.trace_builder import TraceBuilder

BYTES, FLOATS = 12_288, 49_152
"""A crop of 64 x 64 pixels, as a picture and as a tensor."""

Node = tuple[Any, ...]
"""Name and size of the result, with what is inside it."""


def samples(*trees: tuple[Node, ...], length: float = 20.0) -> TraceBuilder:
    """One sample for each, in the training thread; what holds nothing takes `length`, one right after the other."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}])
    at = 1.0

    def add(node: Node, number: int) -> None:
        nonlocal at
        name, size, *inside = node
        begin, place = at, len(builder.events)
        for each in inside:
            add(each, number)
        at = at if inside else at + length
        sized = {"bytes": size} if size else {}
        builder.add("user_annotation", name, begin, at - begin, index=number, batch=number, epoch=0, **sized)
        builder.events.insert(place, builder.events.pop())

    for number, tree in enumerate(trees):
        add(("sample::Pets", 0, *tree), number)
        at += 1
    return builder.step(0, at + 10).wait(0, at, "wait::DataLoader")


def steps_of(builder: TraceBuilder) -> dict[str, Step]:
    steps = [step for sequence in sequences(signals_of(builder).stages) for step in sequence]
    return {step.calls.stage.label: step for step in steps}


def names(step: Step) -> list[str]:
    return [calls.stage.label for calls in step.before]


def compose(*inside: Node) -> Node:
    return ("transform::Compose", inside[-1][1], *inside)


DECODED: Final = ("decode::PIL.Image", BYTES)
TO_TENSOR, NORMALIZE = ("transform::ToTensor", FLOATS), ("transform::Normalize", FLOATS)
FLIP, CROP = ("transform::Flip", BYTES), ("transform::RandomCrop", BYTES)


def test_a_second_views_crop_does_not_get_the_first_views_tensor() -> None:
    """FixMatch: `norm(weak(image)), norm(strong(image))`."""
    norm = compose(TO_TENSOR, NORMALIZE)
    strong = compose(FLIP, CROP, ("transform::Augment", BYTES))
    builder = samples(*[(DECODED, compose(FLIP, CROP), norm, strong, norm)] * 4)
    steps = steps_of(builder)
    assert (steps["RandomCrop"].ratio, steps["Normalize"].ratio, steps["Augment"].ratio) == (1.0, 1.0, 1.0)
    assert steps["ToTensor"].ratio is None  # of the weak view or of the strong one
    assert not any("ToTensor" in names(step) for step in steps.values() if step.calls.stage.label != "Normalize")
    assert finding_of(builder, "shrink_first") is None


def test_many_crops_in_one_transform_are_each_of_the_picture() -> None:
    """DINO: the jitter of a crop gets the flip's result, and not the last crop's normalised one."""
    jitter = compose(FLIP, ("transform::Apply", BYTES, ("transform::Jitter", BYTES)))
    view = compose(CROP, jitter, compose(TO_TENSOR, NORMALIZE))
    steps = steps_of(samples(*[(DECODED, ("transform::MultiCrop", 0, view, view, view))] * 4))
    assert (steps["RandomCrop"].ratio, steps["Flip"].ratio, steps["Jitter"].ratio) == (1.0, 1.0, 1.0)
    assert not any(step.returns_little for step in steps.values())


def test_two_pipelines_of_one_dataset_do_not_mix() -> None:
    """A ConcatDataset: in one part a second Resize is between the crop and ToTensor."""
    plain = compose(("transform::Resize", 40_000), ("transform::RandomCrop", BYTES), TO_TENSOR)
    hard = compose(
        ("transform::Resize", 120_000),
        ("transform::Blur", 120_000),
        ("transform::Perspective", 120_000),
        ("transform::RandomCrop", 110_000),
        ("transform::Resize", BYTES),
        TO_TENSOR,
    )
    builder = samples(*[(DECODED, plain), (DECODED, plain), (DECODED, plain), (DECODED, hard)] * 2)
    steps = steps_of(builder)
    assert steps["ToTensor"].ratio == 4.0
    assert finding_of(builder, "shrink_first") is None or "ToTensor" not in str(finding_of(builder, "shrink_first"))


def test_a_crop_that_keeps_most_after_a_blur_need_not_come_before_it() -> None:
    """Where there is no blur it keeps a quarter."""
    quarter = (DECODED, compose(("transform::Pad", 4 * BYTES), CROP))
    most = (
        DECODED,
        compose(("transform::Pad", 4 * BYTES), ("transform::Blur", 4 * BYTES), ("transform::RandomCrop", 3 * BYTES)),
    )
    crop = steps_of(samples(*[quarter, quarter, quarter, most] * 2))["RandomCrop"]
    assert crop.returns_little and "Blur" not in names(crop)


def test_stages_that_follow_each_other_in_either_order_have_none() -> None:
    big, small = 4 * BYTES, BYTES
    one = (DECODED, compose(("transform::Pad", big), ("transform::Blur", big), ("transform::RandomCrop", small)))
    other = (DECODED, compose(("transform::Pad", big), ("transform::RandomCrop", small), ("transform::Blur", small)))
    crop = steps_of(samples(*[one, other] * 3))["RandomCrop"]
    assert names(crop) == ["Pad"] or names(crop) == ["PIL.Image", "Pad"]


def test_a_crop_after_others_that_only_some_samples_get_still_has_them_before_it() -> None:
    """`RandomApply` is there each time, and what it holds is not."""
    big = 4 * BYTES
    applied = ("transform::Apply", big, ("transform::Jitter", big))
    some = compose(("transform::ToTensor", big), applied, CROP)
    none = compose(("transform::ToTensor", big), ("transform::Apply", big), CROP)
    crop = steps_of(samples(*[(("decode::PIL.Image", big), each) for each in (some, none, some)] * 2))["RandomCrop"]
    assert (crop.ratio, crop.measured) == (0.25, 6)
    assert {"ToTensor", "Jitter"} <= set(names(crop))


def test_each_of_two_views_that_crops_at_its_end_could_do_so_first() -> None:
    view = compose(TO_TENSOR, NORMALIZE, ("transform::RandomCrop", FLOATS // 4))
    crop = steps_of(samples(*[(DECODED, ("transform::TwoViews", 0, view, view))] * 4))["RandomCrop"]
    assert (crop.ratio, crop.shrinks, names(crop)) == (0.25, True, ["ToTensor", "Normalize"])


def test_a_batch_that_one_call_makes_goes_through_the_same_stages_again_and_again() -> None:
    one = (DECODED, TO_TENSOR, ("transform::RandomCrop", FLOATS // 4))
    crop = steps_of(samples(one * 8, one * 8))["RandomCrop"]
    assert crop.ratio == 0.25 and "ToTensor" in names(crop)


def test_of_thousands_of_stages_in_a_row_only_the_last_ones_are_looked_back_at() -> None:
    rows = tuple((f"transform::T{number}", BYTES) for number in range(200))
    results = results_of(samples(rows))
    earlier = [len(each.earlier) for each in find_inputs(results.tree, results.trace.span_facts).values()]
    assert sorted(earlier) == [*range(MOST_EARLIER), *[MOST_EARLIER] * (200 - MOST_EARLIER)]
