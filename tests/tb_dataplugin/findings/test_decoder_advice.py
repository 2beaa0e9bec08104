"""Code to copy for a decoder is of the files that are there."""

from __future__ import annotations

import pytest

from tb_dataplugin.findings.decoder_advice import decoder_code, have_no_jpeg


@pytest.mark.parametrize(
    "files, shown", [((), True), (("a/1.JPG", "a/1.npy"), True), (("a/1.jpeg",), True), (("4.png", "4.npy"), False)]
)
def test_a_way_to_decode_jpeg_files_is_shown_unless_none_is_read(files: tuple[str, ...], shown: bool) -> None:
    assert bool(decoder_code("PIL.Image", files)) is shown


def test_code_for_every_format_needs_no_known_files() -> None:
    assert decoder_code("cv2.imread", ("4.png",)) and not have_no_jpeg(("without_suffix",))
