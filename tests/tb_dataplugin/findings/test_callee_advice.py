"""A transform whose time is in a library's compiled code is not told to use array operations."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from tb_dataplugin.findings.callee_advice import callee_advice
from tb_dataplugin.findings.line_signals import HotLine
from tb_dataplugin.findings.stage_finding import line_advice
from tests.tb_dataplugin.findings.cases import finding_in, signals_of
from tests.tb_dataplugin.findings.step_cases import Frame, staged

CONVOLVE: Final[Frame] = ("convolve2d", "/lib/site-packages/scipy/signal/_signaltools.py", 1700)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scipy.signal.convolve2d", "separable"),
        ("scipy.ndimage.gaussian_filter", "library's own code"),
        ("scipy.ndimage.convolve", "one dimension"),
        ("cv2.resize", "smaller image"),
        ("PIL.Image.resize", "smaller image"),
        ("re.sub", "one pattern"),
        ("numpy.lib.pad", "less data"),
    ],
)
def test_the_advice_fits_what_is_called(name: str, said: str) -> None:
    assert said in callee_advice(name)
    assert name in callee_advice(name)
    assert "array operations" not in callee_advice(name)


@pytest.mark.parametrize("name", ["", "hotpackage.hot", "refine.sub", "npz.load"])
def test_of_other_functions_nothing_is_said(name: str) -> None:
    assert callee_advice(name) == ""


def test_a_transform_that_convolves_is_advised_about_the_kernel() -> None:
    builder = staged("transform::Mask", "mask = convolve2d(mask, kernel)", CONVOLVE, samples=200)
    assert "separable" in finding_in(builder, "leading_stage").advice


@pytest.mark.parametrize(("of_hundred", "is_told"), [(60, True), (90, False)])
def test_the_users_line_that_has_much_as_well_is_named_beside_the_librarys(of_hundred: int, is_told: bool) -> None:
    source = "mask = convolve2d(mask, kernel)"
    builder = staged("transform::Mask", source, CONVOLVE, samples=200, of_hundred=of_hundred, other="bank = mel(rate)")
    said = finding_in(builder, "leading_stage")
    texts = [one.text for one in said.evidence if one.kind == "second_line"]
    assert bool(texts) is is_told
    assert all("`bank = mel(rate)`" in text for text in texts)


def test_where_neither_has_most_the_advice_has_both() -> None:
    signals = signals_of(staged("transform::Mask", "mask = convolve2d(mask, kernel)", CONVOLVE, samples=200))
    (stage,) = (row.stage for row in signals.stages if row.stage.name == "transform::Mask")
    line = HotLine("t", "t.py:1", 0.43, calls="scipy.signal.stft", second="mel at train.py:36, 36.0%")
    said = line_advice(replace(signals, stage_lines={stage.name: line}), stage)
    assert said.endswith("Then see mel at train.py:36, 36.0% of it.")


def test_a_transform_of_python_is_advised_to_use_arrays() -> None:
    builder = staged("transform::Mask", "total += pixel", samples=200)
    assert "array operations" in finding_in(builder, "leading_stage").advice
