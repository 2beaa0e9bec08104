"""Code to copy for a decoder is of the files that are there."""

from __future__ import annotations

import pytest

from tb_dataplugin.findings.decoder_advice import decode_less, decoder_code, have_no_jpeg, keeps_a_part


@pytest.mark.parametrize(
    "files, shown", [((), True), (("a/1.JPG", "a/1.npy"), True), (("a/1.jpeg",), True), (("4.png", "4.npy"), False)]
)
def test_a_way_to_decode_jpeg_files_is_shown_unless_none_is_read(files: tuple[str, ...], shown: bool) -> None:
    assert bool(decoder_code("PIL.Image", files)) is shown


def test_code_for_every_format_needs_no_known_files() -> None:
    assert decoder_code("numpy.NpzFile", ("4.png",)) and not have_no_jpeg(("without_suffix",))


def test_opencv_decodes_at_a_smaller_scale_by_the_function_that_is_called() -> None:
    """Of JPEG files alone: it decodes others whole."""
    grey = decoder_code("cv2.imdecode", (), "return cv2.imdecode(b, cv2.IMREAD_GRAYSCALE)")
    assert grey.startswith("cv2.imdecode(buffer, cv2.IMREAD_REDUCED_GRAYSCALE_2)  # JPEG: ") and "COLOR" not in grey
    colour = decoder_code("cv2.imread", (), "cv2.imread(path)")
    assert colour.startswith("cv2.imread(path, cv2.IMREAD_REDUCED_COLOR_2)") and "REDUCED_GRAYSCALE_2" in colour
    assert decoder_code("cv2.imread", ("4.png",)) == decoder_code("cv2.VideoCapture.read", ()) == ""


@pytest.mark.parametrize(
    ("label", "called", "less"),
    [
        ("RandomResizedCrop", "", "only that part"),
        ("CenterCrop", "img.crop(box)", "only that part"),
        ("Resize", "", "at a smaller scale"),
        ("Shrink", "", "at a smaller scale"),
        ("Prepare", "img.resize((224, 224))", "at a smaller scale"),
        ("Grayscale", "", "no more than that"),
        ("Prepare", "", "no more than that"),
    ],
)
def test_only_a_crop_needs_a_part(label: str, called: str, less: str) -> None:
    assert decode_less(label, called).startswith(f"decode {less}")


def test_what_keeps_a_part_is_known_by_its_name_or_by_what_its_hottest_line_calls() -> None:
    parts = ("RandomCrop", "Resize", "SmallestMaxSize", "PadOrTrim", "Rescale", "Downsample")
    assert all(keeps_a_part(label, "") for label in parts)
    assert not any(keeps_a_part(label, "") for label in ("LogMel", "MelScale", "Tokenize", "ToTensor"))
    assert keeps_a_part("Smaller", "image.resize((64, 64))") and not keeps_a_part("Smaller", "np.log(s @ self.fb)")
