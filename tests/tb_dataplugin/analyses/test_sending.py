"""Waits in which a worker's stage holds up its own way out, and waits for a transfer that slows its worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder


def shares(builder: TraceBuilder) -> dict[str, int]:
    """The data wait by stage, in microseconds."""
    found = results_of(builder).attribution.wait_by_stage_ns
    assert found is not None
    return {name: round(time / 1e3) for name, time in found.items()}


def one_worker(wait: tuple[float, float], wait_cpu: float | None) -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 1, "batch_size": 1}]).worker(0)
    told: dict[str, Any] = {} if wait_cpu is None else {"cpu_us": wait_cpu}
    return builder.step(0, 20_000).add("user_annotation", "wait::DataLoader", *wait, **told)


def held_up(stage_cpu: float, wait_cpu: float | None = 1_000, seen: Sequence[int] = ()) -> dict[str, int]:
    """A finished batch is deserialised for 8 ms, ending with 7 ms of the next one's stage. `seen`: the training thread,
    every 0.4 ms of the wait: 0 running, 1 blocked.
    """
    builder = one_worker((10_000, 8_000), wait_cpu)
    if seen:
        builder.sampled([10_200 + 400 * number for number in range(len(seen))], seen)
    builder.batch(1, 0, 0, 0, 5_000, 18_000, {"sample::Pets": (0, 5_000, 5_000)})
    builder.moments(serialise_us=5_000, serialised_us=5_100, deserialise_us=10_000, arrived_us=18_000)
    builder.batch(2, 0, 8_000, 8_000, 17_000, None, {"transform::Crop": (8_000, 9_000, stage_cpu)})
    return shares(builder)


def test_the_stage_that_holds_the_lock_has_the_deserialising_that_it_holds_up() -> None:
    assert held_up(stage_cpu=9_000) == {"transform::Crop": 7_000, "transfer::deserialise": 1_000}


@pytest.mark.parametrize(("stage_cpu", "has"), [(4_500, 3_500), (0, None)])
def test_a_stage_holds_the_lock_for_no_longer_than_it_is_on_a_cpu(stage_cpu: float, has: int | None) -> None:
    assert held_up(stage_cpu).get("transform::Crop") == has


@pytest.mark.parametrize(("wait_cpu", "has"), [(6_000, 2_000), (8_000, None), (None, None)])
def test_deserialising_that_takes_the_training_threads_cpu_is_its_own(wait_cpu: float | None, has: int | None) -> None:
    assert held_up(9_000, wait_cpu).get("transform::Crop") == has


@pytest.mark.parametrize(("running", "has"), [(20, None), (15, 2_000), (0, 7_000)])
def test_samples_tell_of_cpu_time_that_the_wait_has_not_recorded(running: int, has: int | None) -> None:
    seen = [0] * running + [1] * (20 - running)
    assert held_up(9_000, None, seen).get("transform::Crop") == (has and pytest.approx(has, abs=200))
    assert "transform::Crop" not in held_up(9_000, None, seen[:9])  # too few to tell


def slowed(wait_cpu: float | None, stage: tuple[float, float], away: tuple[float, float]) -> dict[str, int]:
    """A worker with its next index at hand: 2 ms of a stage away from sending, 8 ms beside it, and a wait of 5 ms.

    `stage`, `away`: CPU time of the stage in its two calls beside sending, in its two calls away from it.
    """
    builder = one_worker((10_000, 5_000), wait_cpu)
    builder.batch(0, 0, 0, 0, 4_000, 9_000, {"transform::Crop": (3_000, 1_000, away[0])})
    builder.moments(serialise_us=5_000, serialised_us=9_000, deserialise_us=13_000, arrived_us=13_000)
    builder.batch(1, 0, 3_900, 4_000, 14_000, 15_000, {"transform::Crop": (4_000, 1_000, away[1])})
    for begin, cpu in ((5_000, stage[0]), (9_000, stage[1])):
        builder.add("user_annotation", "transform::Crop", begin, 4_000, pid=100, tid=100, cpu_us=cpu)
    builder.moments(serialise_us=14_000, serialised_us=14_100, deserialise_us=14_200, arrived_us=14_900)
    builder.batch(2, 0, 13_900, 14_100, 19_000, None)
    return shares(builder)


def test_a_worker_that_sending_slows_leaves_the_transfer_what_it_loses() -> None:
    """Building brings at most the 2 ms that the training thread is not receiving, sending 4 ms: a third, two thirds."""
    found = slowed(3_000, (2_000, 2_000), (1_000, 1_000))
    assert found["transfer::serialise"] == pytest.approx(5_000 * 4 / 6, abs=1)


@pytest.mark.parametrize(
    ("beside", "away"), [((4_000, 4_000), (1_000, 1_000)), ((0, 0), (0, 0)), ((2_000, 2_000), (500, 500))]
)
def test_a_stage_that_is_as_fast_beside_sending_has_the_wait(
    beside: tuple[float, float], away: tuple[float, float]
) -> None:
    assert "transfer::serialise" not in slowed(3_000, beside, away)


def test_without_the_cpu_time_of_waits_the_cycle_alone_counts() -> None:
    assert "transfer::serialise" not in slowed(None, (2_000, 2_000), (1_000, 1_000))
