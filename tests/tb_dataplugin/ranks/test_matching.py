"""Made-up ranks whose collectives are kernels of a device: which belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.ranks import RunOfRanks, summarise
from tests.rank_traces import tables
from tests.trace_builder import TraceBuilder

STEP = 10_000
STEPS = 10
BUCKETS = (4_000, 6_000, 8_000)
"""When the step's all-reduces are launched, from its begin."""

LATE = 1_000
"""By which rank 1 comes to the first of each step."""

LEAVING = 50


def run_of(builders: list[TraceBuilder], folder: Path) -> RunOfRanks:
    return summarise("run", tables(builders, folder))


def captures(behind: int = 0) -> list[TraceBuilder]:
    """Of two ranks on one host. `behind`: microseconds from a launch until the device is there."""
    builders = []
    for rank in range(2):
        info = {"backend": "nccl", "rank": rank, "world_size": 2}
        builder = TraceBuilder(distributedInfo=info, host_name="node", baseTimeNanoseconds=1_700_000_000_000_000_000)
        for step in range(STEPS):
            builder.step(step * STEP, STEP)
            builder.operator(step * STEP, BUCKETS[0] - LATE + rank * LATE)
            for place, launch in enumerate(BUCKETS):
                due = step * STEP + launch + behind
                joins = due if place or rank else due - LATE
                _all_reduce(builder, joins - behind, joins, due + LEAVING, 100 * step + place)
        builders.append(builder)
    return builders


def _all_reduce(builder: TraceBuilder, launch: int, start: int, end: int, correlation: int, stream: int = 9) -> None:
    builder.call("cudaLaunchKernelExC", launch, 5, correlation)
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    builder.kernel(start, end - start, stream=stream, correlation=correlation, name=name)


def without(builder: TraceBuilder, *correlations: int, category: str = "kernel") -> None:
    builder.events = [
        event
        for event in builder.events
        if not (event.get("cat") == category and event["args"].get("correlation") in correlations)
    ]


def owned(run: RunOfRanks) -> dict[tuple[int, str], float]:
    return {(owner.rank, owner.cause): owner.lost_us for owner in run.owners}


@pytest.mark.parametrize("behind", [10, 7_000, 25_000])
def test_a_kernel_belongs_to_the_step_that_launched_it(tmp_path: Path, behind: int) -> None:
    """Also where it runs in a later step, or after the last one."""
    run = run_of(captures(behind), tmp_path)
    assert (run.joined_by, run.notes) == ("step", ())
    assert run.collectives == STEPS * len(BUCKETS) - 1
    assert [row.steps for row in run.rows] == [STEPS, STEPS]
    assert sum(owned(run).values()) == pytest.approx(LATE * (STEPS - 1))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_kernel_that_one_capture_lacks_spoils_its_step_alone(tmp_path: Path, place: int) -> None:
    builders = captures(behind=10)
    without(builders[1], 400 + place)
    run = run_of(builders, tmp_path)
    assert run.collectives == (STEPS - 1) * len(BUCKETS) - 1
    assert {rank for rank, _ in owned(run)} == {1}
    assert sum(owned(run).values()) == pytest.approx(LATE * (STEPS - 2))
    assert run.notes == ("Ranks have different numbers of collectives in step 5: time lost there is not counted.",)


def test_where_a_rank_lacks_one_in_most_steps_that_is_said(tmp_path: Path) -> None:
    builders = captures(behind=10)
    without(builders[1], *(100 * step + 2 for step in range(1, STEPS)))
    run = run_of(builders, tmp_path)
    assert run.joined_by == "step" and run.collectives
    assert run.notes[-1].startswith("Ranks have different numbers of collectives in half of the steps or more: where ")


def test_kernels_without_launches_are_matched_by_their_order(tmp_path: Path) -> None:
    builders = captures(behind=10)
    without(builders[0], *(100 * step + place for step in range(STEPS) for place in range(3)), category="cuda_runtime")
    run = run_of(builders, tmp_path)
    assert run.joined_by == "order"
    assert any(note.startswith("Collectives are matched by their order alone, as neither") for note in run.notes)


def test_the_place_in_a_step_is_that_of_the_launch(tmp_path: Path) -> None:
    """Two streams, that one rank's device gets to the other way round: each waits for the other in one of them."""
    builders = captures(behind=10)
    for step in range(STEPS):
        at = step * STEP
        for rank, starts in enumerate(((8_600, 8_500), (8_500, 8_600))):
            for place, end in enumerate((8_900, 9_500)):
                launch, correlation = at + 8_300 + 20 * place, 100 * step + 10 + place
                _all_reduce(builders[rank], launch, at + starts[place], at + end, correlation, stream=20 + place)
    run = run_of(builders, tmp_path)
    assert [row.inherited_us for row in run.rows] == pytest.approx([(STEPS - 1) * LATE + STEPS * 100, STEPS * 100])
