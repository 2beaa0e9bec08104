from __future__ import annotations

import pytest

from tb_dataplugin.checks.budgets import check_data_wait, check_rate, data_wait_share, samples_per_s
from tb_dataplugin.errors import NothingToReport
from tb_dataplugin.report import report_pb2 as pb


def captured(waits: list[float], step_us: float = 100.0, samples: float = 2.0) -> pb.Capture:
    """A step of `step_us` for each wait."""
    window = step_us * len(waits)
    steps = pb.Steps(
        count=len(waits), items=[pb.Step(number=i, duration_us=step_us, data_wait_us=w) for i, w in enumerate(waits)]
    )
    loader = pb.Loader(wait_us=sum(waits))
    throughput = pb.Throughput(samples=samples * len(waits))
    return pb.Capture(window_us=window, steps=steps, loader=loader, throughput=throughput)


def test_a_budget_is_missed_only_when_the_whole_interval_is_beyond_it() -> None:
    capture = captured([18, 22, 19, 21, 20, 20, 18, 22])
    assert check_data_wait([capture], 0.10).outcome == "exceeded"
    assert check_data_wait([capture], 0.20).outcome == "inconclusive"
    assert check_data_wait([capture], 0.30).outcome == "within"


def test_samples_per_s_are_judged_the_other_way_round() -> None:
    capture = captured([20.0] * 8)  # 2 samples in 100 us
    assert samples_per_s([capture]).value == pytest.approx(20_000)
    assert check_rate([capture], 19_000).outcome == "within"
    assert check_rate([capture], 21_000).outcome == "exceeded"


def test_several_windows_are_judged_together() -> None:
    measured = data_wait_share([captured([10.0] * 8), captured([30.0] * 8)])
    assert measured.value == pytest.approx(0.2)
    assert measured.low is not None and measured.low < 0.2


def test_too_few_steps_leave_the_value_to_decide_and_say_so() -> None:
    checked = check_data_wait([captured([20.0, 20.0])], 0.1)
    assert checked.outcome == "exceeded"
    assert "too few steps for an interval" in checked.sentence


def test_what_is_not_known_is_no_zero() -> None:
    why = pb.Diagnostic(topic="loader", message="No loader was seen.")
    with pytest.raises(NothingToReport, match="No loader was seen"):
        check_data_wait([pb.Capture(window_us=1, diagnostics=[why])], 0.1)
    with pytest.raises(NothingToReport, match="samples/s"):
        check_rate([pb.Capture(window_us=1)], 1)
