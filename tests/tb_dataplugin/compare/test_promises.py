"""What findings said before a change stands beside what it brought."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.promises import promises
from tb_dataplugin.compare.sides import group_runs
from tb_dataplugin.compare.stages import compare_stages
from tb_dataplugin.compare.total import compare_time
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.findings.at_starts import AT_STARTS
from tb_dataplugin.report.report_pb2 import Capture, Comparison
from tests.simulated_run import Simulation, runs

BASE = Simulation(steps=96, batch_size=2)
BLUR = "transform::Blur"


def sides(factor: float, batch_size: int = 2) -> tuple[Capture, Capture]:
    (before,) = runs(BASE, np.random.default_rng(1), 1)
    changed = Simulation(steps=96, batch_size=batch_size).with_stage(BLUR, factor)
    (after,) = runs(changed, np.random.default_rng(2), 1)
    for finding in (before.findings.add(rule="a", stage="transform::Gamma"), before.findings.add(rule="b", stage=BLUR)):
        finding.gain_us_per_step = 5000
    return before, after


def promised(comparison: Comparison) -> list[str]:
    return [fact.text for fact in comparison.evidence if fact.kind == "promise"]


def test_the_bound_of_a_stage_that_is_faster_now_stands_beside_the_saving() -> None:
    before, after = sides(0.1)
    saved = before.steps.mean_us - after.steps.mean_us
    found = compare([before], [after])
    (text,) = promised(found)
    number, title = next((place, one.title) for place, one in enumerate(before.findings, 1) if one.stage == BLUR)
    assert text.startswith(f"before, finding {number} ({title or BLUR}): saves up to ")
    number, unit = re.findall(r"now take ([\d.]+) (µs|ms) less", text)[0]
    assert float(number) * {"µs": 1, "ms": 1000}[unit] == pytest.approx(saved, rel=0.01)
    assert text in " ".join(compare_text(found).split())


def test_no_saving_is_stated_where_the_time_is_not_known_to_have_changed() -> None:
    before, after = sides(0.1)
    first, second = group_runs([before])[0], group_runs([after])[0]
    stages = compare_stages(first, second, "sample", 0.0)
    time = compare_time(first, second, "sample", 0.0)
    assert time is not None and promises(first, second, "sample", time, stages)
    assert not promises(first, second, "sample", replace(time, outcome="not_significant"), stages)


def test_of_several_runs_the_one_in_the_middle_is_quoted_in_whatever_order_they_come() -> None:
    before = [sides(0.1)[0] for _ in range(3)]
    for place, one in enumerate(before):
        one.name, one.steps.mean_us = f"vm_{place}.1", one.steps.mean_us + place
        one.window_us += (2, 0, 1)[place] * 1_000
        one.findings[-1].gain_us_per_step = 1_000 * (place + 1)
    after = runs(Simulation(steps=96, batch_size=2).with_stage(BLUR, 0.1), np.random.default_rng(2), 3)
    found, other = (promised(compare(order, after)) for order in (before, before[::-1]))
    assert found == other and all(text.startswith("before (vm_2), finding") for text in found)


@pytest.mark.parametrize(
    ("left_out_us", "bound"), [(0.0, "5.00 ms per step;"), (100.0, "3.00 ms per step within an epoch;")]
)
def test_a_bound_has_its_part_of_the_starts_of_epochs_only_where_they_are_compared(
    left_out_us: float, bound: str
) -> None:
    before, after = sides(0.1)
    finding = next(finding for finding in before.findings if finding.stage == BLUR)
    finding.gain_us_per_step = 5000
    finding.evidence.add(kind=AT_STARTS, value=2000)
    if left_out_us:
        before.loader.apart.starts_us = left_out_us
    (text,) = promised(compare([before], [after]))
    assert f"saves up to {bound}" in text


@pytest.mark.parametrize(("factor", "batch_size"), [(1.0, 2), (0.1, 4)])
def test_nothing_is_said_of_a_stage_as_it_was_or_of_other_steps(factor: float, batch_size: int) -> None:
    before, after = sides(factor, batch_size)
    assert promised(compare([before], [after])) == []


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("DataLoader(..., num_workers=5)", "; with num_workers=4 and all else that changed, steps now take "),
        ("DataLoader(..., num_workers=5, in_order=False)", "; with num_workers=4 and all else that changed, steps"),
        ("DataLoader(..., persistent_workers=True)", "; with persistent_workers=True and all else that changed, steps"),
        ("DataLoader(..., in_order=False)", None),
        ("DataLoader(..., num_workers=0)", None),
        ("DataLoader(..., num_workers=3)", "; with num_workers=4 and all else that changed, steps now take "),
        ("DataLoader(..., prefetch_factor=4)", "; after, it is gone; whether its advice was followed is not recorded."),
        (
            "gc.freeze()",
            "; after, it is gone; whether its advice was followed is not recorded. With all that changed, ",
        ),
    ],
)
def test_what_a_finding_promised_is_said_where_settings_do_not_show_that_it_was_not_followed(
    code: str, ending: str | None
) -> None:
    before, after = sides(0.1)
    for capture, workers, persists in ((before, 2, False), (after, 4, True)):
        loader = capture.loader
        loader.num_workers, loader.in_order, loader.persistent_workers = workers, True, persists
        del capture.findings[:]
        loader.ClearField("prefetch_factor")
    before.findings.add(rule="r", title="A setting", code=code, gain_us_per_step=5000)
    texts = promised(compare([before], [after]))
    assert [ending in text for text in texts] == [True] if ending else texts == []
    after.findings.add(rule="r", gain_us_per_step=100)
    assert promised(compare([before], [after]))[0].endswith("; after, it is still there, up to 100 µs")
