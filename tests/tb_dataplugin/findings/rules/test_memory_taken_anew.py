"""Memory that DataLoader workers give back to the system, and take anew, page by page."""

from __future__ import annotations

import pytest

from tb_dataplugin.findings.rules.memory_taken_anew import PAGE
from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of, input_bound
from tests.trace_builder import TraceBuilder

BUILD_US = 20_000


def taking(system_us: float, faults: int, *, read: int = 0, made: int = 0) -> TraceBuilder:
    """Two DataLoader workers whose batches of 20 ms are so long in the kernel; `made`: bytes of a batch."""
    collate = {"collate::pad": (0.9, 0.1, 1.0, made)} if made else {}
    return input_bound(
        steps=8,
        stages={"sample::Pets": (0.0, 0.9, 1.0), **collate},
        costs={"system_cpu_us": system_us, "minor_faults": faults, "read_chars": read, "read_bytes": 0},
    )


def test_page_faults_that_take_a_third_of_the_build_time() -> None:
    said = finding_in(taking(0.32 * BUILD_US, 13_000), "memory_taken_anew")
    assert "in 32.0% of the build time" in said.title and said.severity == "high"
    assert not said.HasField("gain_us_per_step")
    assert "MALLOC_TRIM_THRESHOLD_=" in said.code
    assert "13,000 page faults for each batch: 53.2 MB of memory taken" in evidence_of(said)


@pytest.mark.parametrize(
    ("system_us", "faults", "read"),
    [
        (0.05 * BUILD_US, 13_000, 0),  # little
        (0.32 * BUILD_US, 100, 0),  # the kernel does something else
        (0.32 * BUILD_US, 13_000, 12_000_000),  # most of it copies what is read
        (0.32 * BUILD_US, 0, 0),
    ],
)
def test_other_time_in_the_kernel_is_not_called_that(system_us: float, faults: int, read: int) -> None:
    assert finding_of(taking(system_us, faults, read=read), "memory_taken_anew") is None


def test_the_pages_of_the_batch_itself_are_not_taken_anew() -> None:
    said = finding_in(taking(0.32 * BUILD_US, 13_000, made=1000 * PAGE), "memory_taken_anew")
    assert "12,000 page faults for each batch: 49.2 MB of memory taken, to make 4.10 MB" in evidence_of(said)
    assert finding_of(taking(0.32 * BUILD_US, 1001, made=1000 * PAGE), "memory_taken_anew") is None


def test_the_first_batch_of_a_worker_copies_what_it_shares_with_the_training_process() -> None:
    """Only these two are measured."""
    builder = taking(0.32 * BUILD_US, 13_000)
    assert builder.costs["minor_faults"]
    for column in ("system_cpu_us", "minor_faults"):
        builder.costs[column][2:] = [None] * (len(builder.costs[column]) - 2)
    assert finding_of(builder, "memory_taken_anew") is None


@pytest.mark.parametrize(
    ("collecting", "made", "is_said"),
    [
        (0.1, 0, True),  # the collector has less time than the page faults
        (0.5, 0, False),  # it may have copied those pages
        (0.5, 40_000_000, True),  # but arrays as large as that are given back
    ],
)
def test_where_the_collector_may_be_why_only_large_results_say_that_it_is_not(
    collecting: float, made: int, is_said: bool
) -> None:
    stages = {"sample::Pets": (0.0, 0.9, 1.0), "transform::Blur": (0.0, 0.5, 0.5, made)}
    costs = {"system_cpu_us": 0.32 * BUILD_US, "minor_faults": 13_000, "gc_us": collecting * BUILD_US}
    found = finding_of(input_bound(steps=8, stages=stages, costs=costs), "memory_taken_anew")
    assert (found is not None) == is_said
