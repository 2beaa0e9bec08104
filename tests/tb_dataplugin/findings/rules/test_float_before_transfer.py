from __future__ import annotations

from tests.tb_dataplugin.findings.cases import finding_in, finding_of, handed_over


def test_floats_made_before_the_way_are_told() -> None:
    found = finding_in(handed_over(4000).kernel(15_000, 4000), "float_before_transfer")
    assert found.gain_us_per_step == 4000 * 0.75
    assert "What follows" not in found.advice


def test_what_needs_floats_moves_to_the_device_as_well() -> None:
    builder = handed_over(4000).kernel(15_000, 4000)
    builder.batch(1, 0, 5000, 5000, 9000, None, {
        "sample::Pets": (5000, 4000.0, 100.0), "transform::Crop": (5000.0, 1000.0, 100.0, 100),
        "transform::ToFloat": (6000.0, 1000.0, 100.0, 400), "transform::Normalize": (7000.0, 1000.0, 100.0, 400),
    })  # fmt: skip
    found = finding_in(builder, "float_before_transfer")
    assert "What follows it (Normalize) then gets the original dtype" in found.advice
    assert "x = normalize(x)  # on the device" in found.code


def test_without_a_device_the_conversion_would_only_move_into_the_training_thread() -> None:
    assert finding_of(handed_over(4000), "float_before_transfer") is None
