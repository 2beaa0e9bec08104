from __future__ import annotations

import pytest

from tb_dataplugin.units import percent
from tests.tb_dataplugin.findings.cases import capture_of, finding_in, finding_of
from tests.tb_dataplugin.findings.step_cases import staged


@pytest.mark.parametrize(
    ("source", "over"),
    (
        ("out[y, x] = table[image[y, x]]", "pixels"),
        ("value = image.getpixel((x, y))", "pixels"),
        ("total += image[y, x]", "pixels"),
        ("bank[m, k] = max(0.0, min((f - lo) / (mid - lo), (hi - f) / (hi - mid)))", "single elements"),
        ("ids = [sum(t.encode()) % size for t in words]", "the elements of a list"),
    ),
)
def test_a_python_loop_over_pixels_or_tokens_is_named(source: str, over: str) -> None:
    finding = finding_in(staged("transform::Tokenise", source), "python_per_element")
    assert finding.title.endswith(f"% of Tokenise is a loop in Python over {over}")
    assert "instead of words.py:7" in finding.code or over == "single elements"
    assert source in finding.evidence[0].text


@pytest.mark.parametrize(
    ("source", "example"),
    (
        ("window = [[float(r[c]) for c in COLS] for r in self.rows[i:mid]]", "self.values = torch.tensor("),
        ("ids = [self.vocab.get(w, 1) for w in words]", "ids = [vocabulary[t] for t in tokens]"),
        ("kept = [row for row in rows if row.valid]", ""),
        ("bank[m, k] = max(0.0, min((f - lo) / (mid - lo), (hi - f) / (hi - mid)))", ""),
    ),
)
def test_the_example_is_about_what_the_line_loops_over(source: str, example: str) -> None:
    finding = finding_in(staged("sample::Windows", source), "python_per_element")
    assert finding.code.startswith(example) if example else not finding.code


def test_one_line_of_several_has_its_own_share_as_in_the_table_of_lines() -> None:
    capture = capture_of(staged("transform::Tokenise", "x = [float(v) for v in a]", other="y = [float(v) for v in b]"))
    (finding,) = [finding for finding in capture.findings if finding.rule == "python_per_element"]
    (stage,) = [part for part in capture.lines.stages if part.name == "transform::Tokenise"]
    shares = {place.place: percent(place.share) for place in stage.hottest}
    assert finding.title == "100% of Tokenise is loops in Python over the elements of a list"
    assert f"words.py:7: {shares['words.py:7']} of Tokenise; with 1 further line 100%" in finding.evidence[0].text


@pytest.mark.parametrize(
    "source",
    (
        "out = table[image]",
        "out[mask] = 0",
        "rows = [np.resize(row, 8) for row in rows]",  # numpy's work, whatever drives it
        "image = image[:, top:bottom]",
        "return self.items[index]",
        # a stranger's bilinear gather of whole images, by arrays of indices
        "return ((1-fy)*((1-fx)*x[y0,x0]+fx*x[y0,x0+1])+fy*((1-fx)*x[y0+1,x0])).astype(np.float32)",
        "top=(1-fx)*x[y0,x0]+fx*x[y0,x0+1]",
        "a00=x[y0,x0]; a01=x[y0,x0+1]",
    ),
)
def test_array_operations_and_loops_over_arrays_are_no_finding(source: str) -> None:
    assert finding_of(staged("transform::Tokenise", source), "python_per_element") is None


def test_a_line_that_calls_python_code_is_judged_by_that() -> None:
    calls = ("resize", "/lib/site-packages/PIL/Image.py", 2200)
    builder = staged("transform::Tokenise", "rows = [row.resize(size) for row in rows]", calls)
    assert finding_of(builder, "python_per_element") is None


SLEEPS, LOADS = "parts = [time.sleep(0.01) or one(v) for v in ids]", "parts = [one(v) for v in ids]"
RUNS, BLOCKED, UNKNOWN = 0, 1, -1


@pytest.mark.parametrize(
    ("source", "states", "is_loop"),
    (
        (SLEEPS, [BLOCKED], False),
        (SLEEPS, [RUNS, RUNS, RUNS, RUNS, BLOCKED], False),  # it waits for a CPU afterwards
        (SLEEPS, [UNKNOWN], False),
        (SLEEPS.replace("0.01", "0"), [RUNS], True),
        (LOADS, [BLOCKED, BLOCKED, RUNS], False),  # whatever it calls in C
        (LOADS, [RUNS], True),
        (LOADS, [UNKNOWN], True),
    ),
)
def test_a_line_that_waits_is_no_loop(source: str, states: list[int], is_loop: bool) -> None:
    finding = finding_of(staged("transform::Tokenise", source, of_hundred=100, states=states), "python_per_element")
    assert (finding is not None) is is_loop


def test_of_a_loop_only_what_is_not_spent_blocked_counts() -> None:
    builder = staged("transform::Tokenise", LOADS, of_hundred=100, states=[RUNS, RUNS, RUNS, BLOCKED])
    finding = finding_in(builder, "python_per_element")
    assert finding.title.startswith("75.3% of Tokenise is a loop") and "75.3% of Tokenise" in finding.evidence[0].text


def test_a_transform_that_waits_is_not_told_to_use_array_operations() -> None:
    for states, is_told in (([BLOCKED], False), ([RUNS], True)):
        found = finding_in(staged("transform::Tokenise", SLEEPS, of_hundred=100, states=states), "leading_stage")
        assert ("array operations" in found.advice, "begin there" in found.advice) == (is_told, True)
