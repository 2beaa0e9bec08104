from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import finding_in, finding_of
from tests.tb_dataplugin.findings.step_cases import staged


@pytest.mark.parametrize(
    ("source", "over"),
    (
        ("out[y, x] = table[image[y, x]]", "pixels"),
        ("value = image.getpixel((x, y))", "pixels"),
        ("ids = [sum(t.encode()) % size for t in words]", "the elements of a list"),
    ),
)
def test_a_python_loop_over_pixels_or_tokens_is_named(source: str, over: str) -> None:
    finding = finding_in(staged("transform::Tokenise", source), "python_per_element")
    assert finding.title.endswith(f"% of Tokenise is a loop in Python over {over}")
    assert "instead of words.py:7" in finding.code
    assert source in finding.evidence[0].text


@pytest.mark.parametrize(
    "source",
    (
        "out = table[image]",
        "out[mask] = 0",
        "rows = [np.resize(row, 8) for row in rows]",  # numpy's work, whatever drives it
        "image = image[:, top:bottom]",
        "return self.items[index]",
    ),
)
def test_array_operations_and_loops_over_arrays_are_no_finding(source: str) -> None:
    assert finding_of(staged("transform::Tokenise", source), "python_per_element") is None


def test_a_line_that_calls_python_code_is_judged_by_that() -> None:
    calls = ("resize", "/lib/site-packages/PIL/Image.py", 2200)
    builder = staged("transform::Tokenise", "rows = [row.resize(size) for row in rows]", calls)
    assert finding_of(builder, "python_per_element") is None
