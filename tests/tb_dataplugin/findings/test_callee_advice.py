"""A transform whose time is in a library's compiled code is not told to use array operations."""

from __future__ import annotations

from typing import Final

import pytest

from tb_dataplugin.findings.callee_advice import callee_advice
from tests.tb_dataplugin.findings.cases import finding_in
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


def test_a_transform_of_python_is_advised_to_use_arrays() -> None:
    builder = staged("transform::Mask", "total += pixel", samples=200)
    assert "array operations" in finding_in(builder, "leading_stage").advice
