"""A window that is faster than the steps before it is doubtful; one that is as fast, or slower, is not."""

from __future__ import annotations

import numpy as np
import pytest

from annotate.trace_format import METADATA_KEY, StepSource
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.report.rows import row_of
from tests.tb_dataplugin.findings.cases import input_bound
from tests.trace_builder import TraceBuilder

STEPS_US = 10_000
"""Each one of `input_bound`."""


def capture(
    before_us: list[float] | None, builder: TraceBuilder | None = None, source: StepSource = "profiler"
) -> Capture:
    builder = builder or input_bound(steps=12)
    if before_us is not None:
        builder.top_level[METADATA_KEY]["steps"] = {"source": source, "before_us": before_us}
    return analyse(builder.trace()).capture


def codes(before_us: list[float] | None) -> list[str]:
    return [doubt.code for doubt in capture(before_us).doubts]


def jerky(mean: float, count: int = 60, seed: int = 0) -> list[float]:
    """Few steps have most of the time."""
    times = np.random.default_rng(seed).lognormal(0, 1, count)
    scaled: list[float] = (times * mean / times.mean()).tolist()
    return scaled


def test_a_calm_stretch_of_a_jerky_loop_is_doubtful_and_says_how_long_steps_took_before() -> None:
    found = capture(jerky(4 * STEPS_US))
    [doubt] = found.doubts
    assert doubt.code == "calm_window"
    assert doubt.sentence == (
        "The 60 steps before the window took 40.0 ms each on average, those in it 10.0 ms: the window shows a fast "
        "stretch of this loop, or the loop has just become faster. Times and gains are those of this stretch. Record "
        "more steps (active=60)."
    )
    assert row_of(found).doubt_text == "faster than the steps before"
    assert found.findings
    assert all(finding.confidence != "measured" for finding in found.findings)


def test_steps_that_no_profiler_numbered_may_be_of_run_and_its_option_is_named() -> None:
    [doubt] = capture(jerky(4 * STEPS_US), source="batch").doubts
    assert "Record more steps (tb-dataplugin run: --active 60; annotate.profile: active=60)." in doubt.sentence


@pytest.mark.parametrize("seed", range(20))
def test_steps_that_took_as_long_or_less_are_no_doubt(seed: int) -> None:
    assert codes(jerky(STEPS_US, seed=seed)) == []
    assert codes(jerky(STEPS_US / 4, seed=seed)) == []


@pytest.mark.parametrize(
    "before_us",
    [
        None,
        [],
        [STEPS_US * 4.0] * 7,
        [STEPS_US * 1.05] * 60,
        [STEPS_US * 1.0] * 59 + [STEPS_US * 500.0],
        [STEPS_US * 9.0] * 20 + [STEPS_US * 1.0] * 30,
        [0.0] * 60,
    ],
    ids=["an old capture", "none", "few", "hardly slower", "one slow step", "a slow beginning", "no time"],
)
def test_what_is_not_sure_is_not_said(before_us: list[float] | None) -> None:
    assert codes(before_us) == []


def test_durations_that_are_damaged_are_no_record() -> None:
    assert "calm_window" not in codes([-1.0] * 60)


def test_a_replay_has_no_loop_before_it() -> None:
    builder = input_bound(steps=12)
    builder.top_level[METADATA_KEY]["mode"] = "replay"
    assert "calm_window" not in [doubt.code for doubt in capture(jerky(4 * STEPS_US), builder).doubts]
