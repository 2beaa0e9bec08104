"""The order of the stages of a sample is the order of their starts, whatever the samples' lengths."""

from __future__ import annotations

from tb_dataplugin.findings.sequence import sequences
from tests.tb_dataplugin.findings.cases import signals_of
from tests.trace_builder import TraceBuilder


def order(builder: TraceBuilder) -> list[list[str]]:
    signals = signals_of(builder)
    return [[step.calls.stage.label for step in sequence] for sequence in sequences(signals.stages)]


def sample(builder: TraceBuilder, start: float, *lengths: tuple[str, float]) -> None:
    builder.stage("sample::Pets", start, sum(length for _, length in lengths) + 1)
    for name, length in lengths:
        builder.stage(f"transform::{name}", start, length)
        start += length


def test_a_transform_that_only_quick_samples_get_keeps_its_place() -> None:
    builder = TraceBuilder().annotated().step(0, 1000).wait(0, 900)
    sample(builder, 1, ("Decode", 300), ("Crop", 10))
    sample(builder, 401, ("Decode", 300), ("Crop", 10))
    sample(builder, 801, ("Decode", 10), ("Crop", 10), ("Flip", 10))
    assert order(builder) == [["Decode", "Crop", "Flip"]]


def test_a_container_gives_its_place_to_what_it_holds() -> None:
    builder = TraceBuilder().annotated().step(0, 1000).wait(0, 900).stage("sample::Pets", 1, 90)
    builder.stage("transform::Compose", 10, 60).stage("transform::Crop", 11, 20).stage("transform::ToTensor", 40, 20)
    assert order(builder.stage("transform::Last", 75, 5)) == [["Crop", "ToTensor", "Last"]]


def test_a_container_outside_all_stages_is_a_sequence() -> None:
    builder = TraceBuilder().annotated().step(0, 1000).wait(0, 900).stage("transform::Compose", 10, 60)
    assert order(builder.stage("transform::Crop", 11, 20).stage("transform::Flip", 40, 20)) == [["Crop", "Flip"]]


def crops(*sizes: tuple[int, int]) -> TraceBuilder:
    """One sample for each pair of sizes: decoded, and cropped."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 1000).wait(0, 900)
    for number, (decoded, cropped) in enumerate(sizes):
        start = 100.0 * number
        stages = {
            "sample::Pets": (start, 90.0, 90.0),
            "decode::PIL.Image": (start, 50.0, 50.0, decoded),
            "transform::Crop": (start + 50, 20.0, 20.0, cropped),
        }
        builder.batch(number, 0, start, start, start + 90, start + 95, stages)
    return builder


def kept(builder: TraceBuilder) -> tuple[float | None, int]:
    (sequence,) = sequences(signals_of(builder).stages)
    return sequence[1].ratio, sequence[1].measured


def test_what_a_transform_keeps_is_the_median_of_the_samples_quotients() -> None:
    # Quotients of 50%, 10% and 20%; that of the median sizes would be 40%.
    assert kept(crops((1000, 500), (4000, 400), (1000, 200))) == (0.2, 3)


def test_of_two_samples_it_is_the_one_that_promises_less_and_no_mean_that_no_sample_has() -> None:
    assert kept(crops((1000, 100), (9000, 90))) == (0.1, 2)


def test_samples_without_one_of_the_sizes_have_no_quotient() -> None:
    assert kept(crops((1000, -1), (4000, 400), (-1, 900))) == (0.1, 1)


def test_sizes_of_different_samples_are_compared_as_typical_ones() -> None:
    assert kept(crops((1000, -1), (-1, 300))) == (0.3, 0)


def test_a_flip_after_a_resize_without_a_stage_keeps_an_unknown_part() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    stages = {
        "sample::Pets": (0.0, 9000.0, 9000.0),
        "decode::PIL.Image": (0.0, 5000.0, 5000.0, 1_200_000),
        "transform::Flip": (8000.0, 20.0, 20.0, 200_000),
    }
    builder.step(0, 10_000).wait(0, 9000).batch(0, 0, 0, 0, 9000, 9500, stages)
    assert kept(builder) == (None, 0)


def test_a_copy_in_between_leaves_the_size_of_the_input_known() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    stages = {
        "sample::Pets": (0.0, 9000.0, 9000.0),
        "decode::PIL.Image": (0.0, 5000.0, 5000.0, 1_200_000),
        "transform::Compose": (5300.0, 3000.0, 3000.0, 200_000),
        "transform::Crop": (5350.0, 20.0, 20.0, 200_000),
    }
    builder.step(0, 10_000).wait(0, 9000).batch(0, 0, 0, 0, 9000, 9500, stages)
    assert kept(builder) == (1 / 6, 1)


def test_an_image_and_its_mask_are_both_what_a_transform_gets() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    stages = {
        "sample::Pets": (0.0, 9000.0, 9000.0),
        "decode::PIL.Image": (0.0, 5000.0, 5000.0, 1_200_000),
        "decode::cv2.imread": (5000.0, 1000.0, 1000.0, 400_000),
        "transform::Flip": (6000.0, 20.0, 20.0, 1_600_000),
    }
    builder.step(0, 10_000).wait(0, 9000).batch(0, 0, 0, 0, 9000, 9500, stages)
    (sequence,) = sequences(signals_of(builder).stages)
    assert [step.ratio for step in sequence] == [None, None, None]
    assert sequence[2].decoded is not None and sequence[2].decoded.ratio == 1.0
    assert sequence[1].decoded is None  # the mask is no part of the image


def test_another_decoder_for_some_samples_makes_no_sample_of_two_images() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 10_000).wait(0, 9000)
    for number, decoder in enumerate(("PIL.Image", "cv2.imread", "cv2.imread")):
        start = 3000.0 * number
        stages = {
            "sample::Pets": (start, 2900.0, 2900.0),
            f"decode::{decoder}": (start, 1000.0, 1000.0, 1000),
            "transform::Crop": (start + 1000, 20.0, 20.0, 300),
        }
        builder.batch(number, 0, start, start, start + 2900, start + 2950, stages)
    (sequence,) = sequences(signals_of(builder).stages)
    assert sequence[-1].ratio == 0.3


def test_two_crops_of_one_picture_keep_parts_that_may_differ() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}]).step(0, 1000).wait(0, 900)
    for name, start, length, size in (
        ("sample::Pairs", 0, 800, 0),
        ("decode::PIL.Image", 1, 100, 1000),
        ("transform::Crop", 102, 100, 300),
        ("transform::Scale", 203, 100, 100),
        ("transform::Crop", 304, 100, 300),
        ("transform::Scale", 405, 100, 100),
    ):
        builder.add(
            "user_annotation", name, start, length, index=0, batch=0, epoch=0, **({"bytes": size} if size else {})
        )
    (sequence,) = sequences(signals_of(builder).stages)
    decode, crop, scale = sequence
    assert crop.ratio == 0.3 and not crop.shrinks and not decode.shrinks
    assert scale.shrinks and scale.before == ()  # the decoder works on more than what it gets


def of_pictures(decoder: str, *sizes: int) -> list[bool]:
    """A decoder, a transform inside of which it runs, and two transforms after it: what each of these returns."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    names = ("ToTensor", "Blur", "Crop")
    stages = {"sample::Pets": (0.0, 300.0, 300.0), f"decode::{decoder}": (10.0, 50.0, 50.0, sizes[0])}
    for place, (name, size) in enumerate(zip(names, sizes[1:], strict=True)):
        stages[f"transform::{name}"] = (100.0 * place, 100.0, 100.0, size)
    builder.step(0, 1000).wait(0, 900).batch(0, 0, 0, 0, 300, 310, stages)
    steps = [step for sequence in sequences(signals_of(builder).stages) for step in sequence]
    return [step.of_pictures for step in steps if step.calls.stage.label in names[1:]]


def test_what_a_transform_that_decodes_returns_is_a_picture_unless_it_has_larger_values() -> None:
    assert of_pictures("PIL.Image", 1000, 1000, 1000, 300) == [True, True]
    assert of_pictures("PIL.Image", 1000, 1000, 4000, 300) == [True, False]
    assert of_pictures("PIL.Image", 1000, 4000, 4000, 300) == [False, False]
    assert of_pictures("numpy.load", 1000, 1000, 1000, 300) == [False, False]
