from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import finding_in, finding_of
from tests.tb_dataplugin.findings.step_cases import Frame, staged

COMPILE: Frame = ("compile", "/lib/python3.11/re/_compiler.py", 743)
SUB: Frame = ("sub", "/lib/python3.11/re/__init__.py", 185)
IMPORT: Frame = ("_find_and_load", "<frozen importlib._bootstrap>", 1176)
LOAD: Frame = ("load", "/lib/python3.11/json/__init__.py", 274)
TRANSFORM, SAMPLE = "transform::Tokenise", "sample::Reviews"


@pytest.mark.parametrize(
    ("stage", "source", "calls", "title", "code"),
    (
        (TRANSFORM, "re.sub(pattern, ' ', text)", (SUB, COMPILE), "compiling a regular", "PATTERN = re.compile(...)"),
        (SAMPLE, "from scipy import signal", (IMPORT,), "is importing", "from scipy import signal  # once, at the top"),
        (TRANSFORM, "k = cv2.getGaussianKernel(31, 5)", (), "building a kernel", "# once, in __init__: now words.py:7"),
        (TRANSFORM, "table = json.load(file)", (LOAD,), "loading a file", "table = json.load(file)  # once, in __init"),
    ),
)
def test_constant_work_is_named_with_its_line(
    stage: str, source: str, calls: tuple[Frame, ...], title: str, code: str
) -> None:
    finding = finding_in(staged(stage, source, *calls), "repeated_work")
    assert title in finding.title
    assert code in finding.code
    assert finding.severity == "high"
    assert "words.py:7" in finding.evidence[0].text
    assert "95% interval" in finding.evidence[0].text


@pytest.mark.parametrize(
    ("source", "calls"),
    (
        ("text = PATTERN.sub(' ', text)", ()),  # matching is work of the sample's own
        ("text = re.sub(pattern, ' ', text)", (SUB,)),
        ("row = json.loads(line)", (("loads", "/lib/python3.11/json/__init__.py", 299),)),
    ),
)
def test_work_on_the_sample_itself_is_no_finding(source: str, calls: tuple[Frame, ...]) -> None:
    assert finding_of(staged(TRANSFORM, source, *calls), "repeated_work") is None


def test_a_dataset_may_load_a_file_for_each_sample() -> None:
    assert finding_of(staged(SAMPLE, "row = json.load(file)", LOAD), "repeated_work") is None


def test_little_time_or_few_samples_or_no_data_wait_are_no_finding() -> None:
    def compiling(**changed: float) -> object:
        builder = staged(TRANSFORM, "re.compile(pattern)", COMPILE, **changed)  # type: ignore[arg-type]
        return finding_of(builder, "repeated_work")

    assert compiling() is not None
    assert compiling(of_hundred=10) is None
    assert compiling(samples=20) is None
    assert compiling(wait=300) is None
