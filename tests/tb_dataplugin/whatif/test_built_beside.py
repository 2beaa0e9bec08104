"""Another thread of the program iterates a DataLoader without workers, and builds the batches that the loop takes."""

from __future__ import annotations

import pytest

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.whatif import fit_loop
from tb_dataplugin.whatif.predictable import AGAIN
from tests.tb_dataplugin.findings.cases import results_of
from tests.tb_dataplugin.findings.rules.test_slow_feeding_thread import fed
from tests.trace_builder import TraceBuilder


def captured(builds: int, transforms: int = 1) -> TraceBuilder:
    """Ten steps of 10 ms that wait for 5 ms each. `builds`, `transforms`: by which threads; the first one trains."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 4}])
    for number in range(10):
        start = 10_000 * number
        builder.step(start, 10_000).wait(start + 10, 5_000, "wait::Prefetcher")
        builder.stage("sample::Pets", start + 20, 3_000, tid=builds)
        builder.stage("transform::Late", start + 3_500, 1_000, tid=transforms)
    return builder


@pytest.mark.parametrize("transforms", [1, 2])
def test_what_a_thread_builds_is_not_simulated_as_the_training_thread_s(transforms: int) -> None:
    """It had no stage but that of the wait: changes of others were refused, and rows about the iterator shown."""
    found = fit_loop(results_of(captured(2, transforms)))
    assert isinstance(found, Unavailable) and "another thread of the program builds the loop's batches" in found.message


@pytest.mark.parametrize("transforms", [1, 2])
def test_what_the_training_thread_builds_is_simulated(transforms: int) -> None:
    assert not isinstance(fit_loop(results_of(captured(1, transforms))), Unavailable)


@pytest.mark.parametrize(("workers", "why"), [(0, "builds the loop's batches"), (2, "loop over prof.steps(...)")])
def test_where_another_thread_takes_batches_what_is_missing_is_not_the_mark_of_the_loader(
    workers: int, why: str
) -> None:
    found = fit_loop(results_of(fed(workers=workers)))
    assert isinstance(found, Unavailable) and why in found.message and AGAIN not in found.message
