from __future__ import annotations

from dataclasses import replace

import pytest

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.shrink_first import check
from tb_dataplugin.options import StepRange
from tests.tb_dataplugin.findings.cases import (
    CHAIN,
    abstentions,
    capture_of,
    finding_in,
    finding_of,
    input_bound,
    signals_of,
)
from tests.trace_builder import TraceBuilder


def test_a_crop_after_slow_transforms_should_come_first() -> None:
    said = finding_in(input_bound(stages=CHAIN), "shrink_first")
    assert said.title.startswith("RandomCrop keeps 16.7% of a typical sample, after Blur")
    assert (said.stage, said.title_stage) == ("transform::Blur", "transform::RandomCrop")
    # A batch takes one of two workers 20 ms; 16 of them lie before the crop, and a sixth of those remains. The wait
    # itself, 8 ms, holds only the blur; a batch without the rest would be ready earlier all the same.
    assert said.gain_us_per_step == pytest.approx(16_000 * 5 / 6 / 2, rel=0.1)


def test_sizes_are_of_the_whole_capture_where_some_steps_are_chosen() -> None:
    """Few calls are measured: a stranger's chosen step had 41 samples, of which it said to know 91."""
    whole, some = (capture_of(input_bound(stages=CHAIN), steps) for steps in (None, StepRange(2, 3)))
    texts = [
        next(one.text for finding in capture.findings for one in finding.evidence if one.kind == "bytes_kept")
        for capture in (whole, some)
    ]
    assert texts[1] == f"{texts[0]}, in the whole capture"


def test_it_names_where_the_crop_is_defined_where_lines_are_unknown() -> None:
    builder = input_bound(stages=CHAIN)
    builder.top_level[METADATA_KEY]["stages_at"] = {"transform::RandomCrop": "/home/me/crops.py:12"}
    texts = [one.text for one in finding_in(builder, "shrink_first").evidence if one.kind == "defined_at"]
    assert texts == ["RandomCrop is defined at crops.py:12"]


def test_where_torch_defines_a_stage_helps_nobody() -> None:
    builder = input_bound(stages=CHAIN)
    place = "/venv/lib/python3.11/site-packages/torch/utils/data/dataset.py:333"
    builder.top_level[METADATA_KEY]["stages_at"] = {"transform::RandomCrop": place}
    assert not [one for one in finding_in(builder, "shrink_first").evidence if one.kind == "defined_at"]


def test_it_says_that_the_line_to_change_is_the_list_of_transforms() -> None:
    evidence = finding_in(input_bound(stages=CHAIN), "shrink_first").evidence
    assert [one.text for one in evidence if one.kind == "no_line"] == [
        "the line to change is where your transforms are listed; it does not run in the loop, so none is named here"
    ]


def test_a_replay_promises_no_bound() -> None:
    said = finding_in(input_bound(stages=CHAIN), "shrink_first")
    assert said.HasField("gain_us_per_step") and said.advice.endswith("the bound includes that.")
    replayed = finding_in(
        input_bound(stages=CHAIN).annotated(mode="replay", loaders=[{"num_workers": 2}]), "shrink_first"
    )
    assert not replayed.HasField("gain_us_per_step") and "bound" not in replayed.advice


def test_named_samples_are_no_typical_ones() -> None:
    signals = signals_of(input_bound(stages=CHAIN).annotated(mode="replay", loaders=[{"num_workers": 2}]))
    found = check(replace(signals, replays_named=True))
    assert isinstance(found, Finding)
    assert "of a sample that was named for this replay" in found.title and "typical" not in found.title


def test_a_crop_right_after_decoding_asks_for_a_decoder_that_crops() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "decode::PIL.Image": (0.0, 0.8, 0.8, 1_200_000),
        "transform::RandomCrop": (0.8, 0.1, 0.1, 200_000),
    }
    said = finding_in(input_bound(stages=chain), "shrink_first")
    assert said.title == "RandomCrop keeps 16.7% of a typical decoded sample"
    assert said.advice.startswith("Decode only what RandomCrop keeps")
    chain["transform::Resize"] = chain.pop("transform::RandomCrop")
    whole = finding_in(input_bound(stages=chain), "shrink_first")
    assert whole.advice.startswith("Decode at a smaller scale: Resize returns 16.7% of the data; how much")


def test_a_crop_that_comes_first_is_left_alone() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "transform::RandomCrop": (0.0, 0.1, 0.1, 200_000),
        "transform::Blur": (0.1, 0.9, 0.9, 200_000),
    }
    assert finding_of(input_bound(stages=chain), "shrink_first") is None


def test_without_sizes_the_order_of_transforms_is_not_judged() -> None:
    chain = {name: times[:3] for name, times in CHAIN.items()}
    assert "sizes" in abstentions(input_bound(stages=chain))["shrink_first"]


def test_the_share_is_that_of_the_crop_and_not_of_the_compose_around_it() -> None:
    """ImageFolder: the Compose's result is what ToTensor made of the crop, four times the bytes."""
    chain = {
        "sample::ImageFolder": (0.0, 1.0, 1.0),
        "read::file": (0.0, 0.05, 0.05, 100_000),
        "decode::PIL.Image": (0.05, 0.75, 0.75, 1_200_000),
        "transform::Compose": (0.8, 0.2, 0.2, 288_000),
        "transform::RandomResizedCrop": (0.8, 0.1, 0.1, 72_000),
        "transform::ToTensor": (0.9, 0.1, 0.1, 288_000),
    }
    said = finding_in(input_bound(stages=chain), "shrink_first")
    assert said.title == "RandomResizedCrop keeps 6.00% of a typical decoded sample"
    assert said.stage == "decode::PIL.Image"  # where the time is spent that a smaller input would save


def test_a_crop_after_a_resize_is_not_told_to_come_first() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "transform::Load": (0.0, 0.1, 0.1, 1_200_000),
        "transform::Resize": (0.1, 0.8, 0.8, 240_000),
        "transform::CenterCrop": (0.9, 0.1, 0.1, 60_000),
    }
    said = finding_of(input_bound(stages=chain), "shrink_first")
    assert said is None or "CenterCrop" not in said.title


def test_without_the_size_of_its_input_a_crop_is_not_judged() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "read::file": (0.0, 0.1, 0.1, 1_200_000),
        "transform::Load": (0.1, 0.7, 0.7),
        "transform::RandomCrop": (0.8, 0.2, 0.2, 200_000),
    }
    assert finding_of(input_bound(stages=chain), "shrink_first") is None


RESIZED = {
    "sample::Mosaics": (0.0, 1.0, 1.0),
    "decode::PIL.Image": (0.0, 0.5, 0.5, 1_200_000),
    "transform::Flip": (0.8, 0.1, 0.1, 240_000),
    "transform::ToTensor": (0.9, 0.1, 0.1, 240_000),
}


def test_what_the_dataset_itself_scales_down_is_not_said_of_the_flip_after_it() -> None:
    said = finding_in(input_bound(stages=RESIZED), "shrink_first")
    assert said.title == "A sample keeps 20.0% of what is decoded for it"
    assert said.advice.startswith("Decode only what Mosaics.__getitem__ keeps")
    assert (said.stage, said.title_stage) == ("decode::PIL.Image", "sample::Mosaics")
    assert said.evidence[0].text == (
        "Flip returns 20.0% of the bytes that are decoded for a sample: code of Mosaics.__getitem__ is in between"
    )


def test_all_images_of_a_sample_are_counted() -> None:
    builder = input_bound(stages=RESIZED)
    decoded = [event for event in builder.events if event["name"] == "decode::PIL.Image"]
    builder.events += [{**event, "ts": event["ts"] + event["dur"] + 1, "dur": 10.0} for event in decoded]
    said = finding_in(builder, "shrink_first")
    assert said.title == "A sample keeps 10.0% of what is decoded for it (2 images)"


def test_several_images_that_one_transform_puts_together_shrink_in_no_transform() -> None:
    chain = {**RESIZED, "transform::Flip": (0.5, 0.1, 0.1, 600_000)}
    builder = input_bound(stages=chain)
    decoded = [event for event in builder.events if event["name"] == "decode::PIL.Image"]
    builder.events += [{**event, "ts": event["ts"] + event["dur"] / 2} for event in decoded]
    for event in decoded:
        event["dur"] /= 2.1
    said = finding_of(builder, "shrink_first")
    assert said is None or "Flip" not in said.title


def test_a_sample_that_keeps_most_of_what_is_decoded_is_left_alone() -> None:
    chain = {**RESIZED, "transform::Flip": (0.8, 0.1, 0.1, 1_000_000)}
    assert finding_of(input_bound(stages=chain), "shrink_first") is None


def test_a_transform_that_only_waits_would_wait_as_long_on_less_data() -> None:
    """The sleep between blur and crop is in nobody's bound but its own."""
    chain = {
        "sample::Pets": (0.0, 1.0, 0.5),
        "decode::PIL.Image": (0.0, 0.2, 0.2, 1_200_000),
        "transform::Blur": (0.2, 0.2, 0.2, 1_200_000),
        "transform::Retry": (0.4, 0.5, 0.0, 1_200_000),
        "transform::RandomCrop": (0.9, 0.1, 0.1, 200_000),
    }
    builder = input_bound(stages=chain, threads=0.5)
    said = finding_in(builder, "shrink_first")
    assert said.title.endswith("after Blur worked on all of it")
    assert said.advice.startswith("Do RandomCrop before Blur:")
    assert said.gain_us_per_step == pytest.approx(8_000 * 5 / 6 / 2, rel=0.1)  # 8 of the 20 ms that a batch takes
    assert not any("Retry" in fact.text for fact in said.evidence)
    own = finding_in(builder, "leading_stage")
    assert own.stage == "transform::Retry" and "after RandomCrop" not in own.advice
    assert own.gain_us_per_step == pytest.approx(5_000, rel=0.1)


def test_only_waiting_before_a_crop_is_no_reason_to_crop_first() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 0.2),
        "transform::Load": (0.0, 0.05, 0.05, 1_200_000),
        "transform::Retry": (0.05, 0.8, 0.0, 1_200_000),
        "transform::RandomCrop": (0.85, 0.1, 0.1, 200_000),
    }
    builder = input_bound(stages=chain, threads=0.2)
    assert finding_of(builder, "shrink_first") is None
    assert finding_in(builder, "leading_stage").stage == "transform::Retry"


def test_of_a_transform_that_waits_for_a_part_of_its_time_the_rest_counts() -> None:
    chain = CHAIN | {"sample::Pets": (0.0, 1.0, 0.75), "transform::Blur": (0.3, 0.5, 0.25, 1_200_000)}
    said = finding_in(input_bound(stages=chain, threads=0.75), "shrink_first")
    assert said.gain_us_per_step == pytest.approx((6_000 + 5_000) * 5 / 6 / 2, rel=0.1)
    texts = [fact.text for fact in said.evidence if fact.kind == "self_time" and "Blur" in fact.text]
    assert len(texts) == 1 and texts[0].endswith("blocked for 50.0% of it, which smaller data would not shorten")


SOUND = {
    "sample::Clips": (0.0, 1.0, 1.0),
    "read::file": (0.0, 0.05, 0.05, 32_000),
    "transform::SpeedPerturb": (0.05, 0.65, 0.65, 64_000),
    "transform::LogMel": (0.7, 0.3, 0.3, 16_000),
}


def test_a_spectrogram_with_fewer_bytes_than_its_sound_is_no_part_of_it() -> None:
    builder = input_bound(stages=SOUND)
    said = finding_in(builder, "shrink_first")
    assert said.title == "LogMel returns 25.0% of the bytes it gets"
    assert (said.severity, said.confidence) == ("low", "possible") and not said.HasField("gain_us_per_step")
    assert said.advice.startswith("If LogMel only keeps a part of its input, do it before SpeedPerturb")
    assert "decode" not in said.advice
    first = next(finding for finding in capture_of(builder).findings if finding.stage)
    assert (first.rule, first.stage) == ("leading_stage", "transform::SpeedPerturb")
    assert "LogMel" not in first.advice


def test_a_crop_with_no_decoder_before_it_says_nothing_of_decoders() -> None:
    chain = {"transform::RandomCrop" if name == "transform::LogMel" else name: times for name, times in SOUND.items()}
    said = finding_in(input_bound(stages=chain), "shrink_first")
    assert said.advice.startswith("As far as RandomCrop only cuts data away, do it before SpeedPerturb: there is less")
    assert "decode" not in said.advice


def test_fewer_bytes_of_what_is_no_picture_may_be_a_smaller_dtype_and_save_that_at_most() -> None:
    """A crop of 70% that makes float32 of float64 returns 35% of the bytes: Spec (8 ms) takes 30% to 65% less.
    Nothing is said of decoding, which stays as it is.
    """
    chain = {
        "sample::Audio": (0.0, 1.0, 1.0),
        "decode::numpy.load": (0.0, 0.1, 0.1, 192_000),
        "transform::Spec": (0.1, 0.8, 0.8, 1_500_000),
        "transform::Crop": (0.9, 0.1, 0.1, 525_000),
    }
    builder = input_bound(stages=chain)
    said = finding_in(builder, "shrink_first")
    assert said.title == "Crop returns 35.0% of the bytes of a typical sample, after Spec worked on all of them"
    assert "A smaller dtype (float32 for float64)" in said.advice and said.confidence == "possible"
    assert said.gain_us_per_step == pytest.approx(0.65 * 8_000, rel=0.05) and said.severity == "medium"
    assert "numpy.load" not in str(said.evidence)
    assert "Apply it after Crop" not in finding_in(builder, "leading_stage").advice


def test_torchvisions_crops_return_the_type_that_they_get() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "decode::PIL.Image": (0.0, 0.1, 0.1, 300_000),
        "transform::ToTensor": (0.1, 0.1, 0.1, 1_200_000),
        "transform::Normalize": (0.2, 0.6, 0.6, 1_200_000),
        "transform::RandomCrop": (0.8, 0.1, 0.1, 300_000),
    }
    builder = input_bound(stages=chain)
    own = finding_in(builder, "shrink_first")
    assert own.title.startswith("RandomCrop returns 25.0% of the bytes") and "PIL.Image" not in str(own.evidence)
    place = "/v/lib/python3.11/site-packages/torchvision/transforms/transforms.py:650"
    builder.top_level[METADATA_KEY]["stages_at"] = {"transform::RandomCrop": place}
    said = finding_in(builder, "shrink_first")
    assert said.title.startswith("RandomCrop keeps 25.0%") and "PIL.Image" in str(said.evidence)
    assert said.gain_us_per_step > own.gain_us_per_step > 0


def test_the_decoded_array_in_a_smaller_dtype_is_no_part_of_it() -> None:
    """Sound as float64 that the dataset converts to float32."""
    chain = {
        "sample::Sounds": (0.0, 1.0, 1.0),
        "decode::soundfile": (0.0, 0.5, 0.5, 1_200_000),
        "transform::Gain": (0.8, 0.1, 0.1, 600_000),
    }
    said = finding_in(input_bound(stages=chain), "shrink_first")
    assert said.title == "A sample has 50.0% of the bytes that are decoded for it"
    assert "smaller dtype" in said.advice and not said.HasField("gain_us_per_step")


def test_halving_the_sides_of_a_picture_may_leave_less_than_is_kept() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "decode::PIL.Image": (0.0, 0.8, 0.8, 1_000_000),
        "transform::Resize": (0.8, 0.1, 0.1, 320_000),
    }
    halves = "leaves a quarter or less: not as much as Resize returns"
    assert halves in finding_in(input_bound(stages=chain), "shrink_first").advice
    chain["transform::Resize"] = (0.8, 0.1, 0.1, 240_000)
    assert halves not in finding_in(input_bound(stages=chain), "shrink_first").advice


def cropped(last_us: float, last_cpu_us: float) -> TraceBuilder:
    """Ten pictures that are decoded in 20 us each, but for the last one, and cropped, by one DataLoader worker."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 1000).wait(0, 950, "wait::DataLoader")
    start = 0.0
    for number in range(10):
        took, ran = (20.0, 20.0) if number < 9 else (last_us, last_cpu_us)
        stages = {
            "sample::Pets": (start, took + 5, ran + 5),
            "decode::PIL.Image": (start, took, ran, 1_200_000),
            "transform::RandomCrop": (start + took, 5.0, 5.0, 200_000),
        }
        builder.batch(number, 0, start, start, start + took + 5, start + took + 5, stages)
        start += took + 5
    return builder


def test_one_file_that_takes_as_long_as_many_is_no_typical_sample() -> None:
    """It may be of a format that cannot be decoded at a smaller scale."""
    said = finding_in(cropped(700, 700), "shrink_first")
    assert said.gain_us_per_step == pytest.approx(9 * 20 * 5 / 6, rel=0.1)
    texts = [fact.text for fact in said.evidence if fact.kind == "self_time"]
    assert (
        texts[0].startswith("decode::PIL.Image before it: 880 µs self time")
        and "79.5% of it in exceptional" in texts[0]
    )


def test_a_call_that_waited_for_a_cpu_is_no_exception() -> None:
    said = finding_in(cropped(700, 25), "shrink_first")
    assert "exceptional" not in str(said.evidence)


def test_a_stage_that_a_crop_is_before_goes_before_one_of_an_unknown_kind() -> None:
    chain = {
        "sample::Clips": (0.0, 1.0, 1.0),
        "transform::Load": (0.0, 0.2, 0.2, 640_000),
        "transform::RandomCrop": (0.2, 0.05, 0.05, 64_000),
        "transform::SpeedPerturb": (0.25, 0.6, 0.6, 64_000),
        "transform::LogMel": (0.85, 0.15, 0.15, 16_000),
    }
    assert finding_in(input_bound(stages=chain), "shrink_first").title.startswith("RandomCrop returns 10.0%")


@pytest.mark.parametrize(("collated", "is_kept"), [(1_200_000, False), (8, True)])
def test_a_stage_that_makes_something_beside_the_picture_keeps_no_part_of_it(collated: float, is_kept: bool) -> None:
    """A label's or index' own result, of 8 bytes, behind a transform of the picture, which the batch has in the end."""
    chain = {
        "sample::Pets": (0.0, 0.9, 0.9),
        "decode::PIL.Image": (0.0, 0.4, 0.4, 1_200_000),
        "transform::Jitter": (0.4, 0.4, 0.4, 1_200_000),
        "transform::Meta": (0.8, 0.1, 0.1, 8),
        "collate::default_collate": (0.9, 0.1, 0.1, collated),
    }
    found = finding_of(input_bound(stages=chain), "shrink_first")
    assert (found is not None and "Meta returns <0.01%" in found.title) == is_kept
