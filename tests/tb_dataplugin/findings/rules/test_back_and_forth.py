from __future__ import annotations

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.tb_dataplugin.findings.step_cases import INSIDE, LINE, Frame
from tests.trace_builder import TraceBuilder

TO_ARRAY: Frame = ("Image.tobytes", "/lib/site-packages/PIL/Image.py", 780)
TO_IMAGE: Frame = ("fromarray", "/lib/site-packages/PIL/Image.py", 3300)
RESIZE: Frame = ("Image.resize", "/lib/site-packages/PIL/Image.py", 2200)


def images(*counts: tuple[Frame, int]) -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, 8000, "wait::DataLoader")
    builder.stage("sample::Pets", 0, 8000)
    stacks = [(*INSIDE, LINE, frame) for frame, count in counts for _ in range(count)]
    return builder.stacks([80 * number + 40.0 for number in range(100)], stacks)


def test_both_ways_together_are_a_finding() -> None:
    finding = finding_in(images((TO_ARRAY, 25), (TO_IMAGE, 25), (RESIZE, 50)), "back_and_forth")
    assert finding.confidence == "possible"
    assert [fact[:9] for fact in evidence_of(finding)] in (["from PIL,", "to PIL, P"], ["to PIL, P", "from PIL,"])
    assert finding.title.startswith("50.0% of the time in all stages")


def test_one_way_is_needed() -> None:
    assert finding_of(images((TO_ARRAY, 50), (RESIZE, 50)), "back_and_forth") is None


def test_a_little_of_both_is_no_finding() -> None:
    assert finding_of(images((TO_ARRAY, 3), (TO_IMAGE, 3), (RESIZE, 94)), "back_and_forth") is None
