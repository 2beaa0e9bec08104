"""Whose is the way of a finished batch while DataLoader workers hold the CPUs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.planted import crowded
from tests.tb_dataplugin.findings.cases import results_of


def waits(cores: int, **changed: Any) -> dict[str, int]:
    builder = crowded(cores)
    builder.top_level["dataPipeline"].update(changed)
    found = results_of(builder).attribution.wait_by_stage_ns
    assert found is not None
    assert sum(found.values()) == 600_000
    return found


def test_stages_that_hold_all_cpus_have_what_a_thread_waits_for_one() -> None:
    assert waits(2) == {"transform::Crop": 287_500, "transform::Blur": 187_500, "transfer": 125_000}


@pytest.mark.parametrize("changed", [{"training_thread": {"cpu_us": 25, "run_delay_us": 0}}, {"training_thread": None}])
def test_a_training_thread_that_had_its_cpu_shows_no_shortage(changed: dict[str, Any]) -> None:
    assert waits(2, **changed) == {"transform::Crop": 100_000, "transfer": 500_000}


def test_the_quota_of_a_container_counts_as_its_cpus() -> None:
    assert waits(64) == {"transform::Crop": 100_000, "transfer": 500_000}
    assert waits(64, host={"cores": 64, "cpu_quota": 1.5}) == waits(2)


@pytest.mark.parametrize(("state", "found"), [(1, {"transform::Crop": 100_000, "transfer": 500_000}), (0, None)])
def test_a_stage_that_samples_show_asleep_holds_no_cpu(state: int, found: dict[str, int] | None) -> None:
    """The way of the batch stays its own, however many DataLoader workers sleep meanwhile."""
    builder, times = crowded(2), [float(20 * number) for number in range(1, 40)]
    for pid in (100, 101):
        builder.sampled(times, [state] * len(times), pid)
    shares = results_of(builder).attribution.wait_by_stage_ns
    assert shares == (waits(2) if found is None else found)
