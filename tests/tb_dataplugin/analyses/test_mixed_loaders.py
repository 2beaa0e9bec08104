"""Plain captures with one DataLoader that has workers and one that has none: what torch's marks show of them."""

from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import WAIT, TraceBuilder

OF_WORKERS = WAIT.replace("_SingleProcess", "_MultiProcessing")


def plain(loop: str, evaluation: str, each: int = 5) -> TraceBuilder:
    """20 steps of 100 us that wait for 50 us; each 5th asks another loader for a batch, too."""
    builder = TraceBuilder()
    for number in range(20):
        builder.step(100 * number, 100).wait(100 * number, 50, loop)
        if number % each == each - 1:
            builder.wait(100 * number + 60, 20, evaluation)
    return builder


@pytest.mark.parametrize(
    ("loop", "evaluation", "workers", "in_workers", "note"),
    [
        (WAIT, OF_WORKERS, 0, False, ". Most steps ask one without: num_workers=0 is said of that one"),
        (OF_WORKERS, WAIT, None, True, ". Most steps ask one with workers"),
        (WAIT, WAIT, 0, False, None),
        (OF_WORKERS, OF_WORKERS, None, True, None),
    ],
)
def test_the_loop_s_loader_is_that_of_most_steps(
    loop: str, evaluation: str, workers: int | None, in_workers: bool, note: str | None
) -> None:
    results, capture = results_of(plain(loop, evaluation)), capture_of(plain(loop, evaluation))
    assert (results.settings.num_workers if results.settings else None) == workers
    assert capture.loader.in_workers == in_workers
    assert any(one.rule == "single_process_loading" for one in capture.findings) == (workers == 0)
    said = [one.message for one in results.diagnostics if one.code == "mixed_loaders"]
    assert said == ([f"Some DataLoaders have workers, and some have none, by torch's marks{note}"] if note else [])


def test_where_all_steps_ask_both_nothing_is_said_of_the_loop_s() -> None:
    results = results_of(plain(WAIT, OF_WORKERS, each=1))
    assert results.settings is None
    assert "Some DataLoaders have workers, and some have none, by torch's marks" in [
        one.message for one in results.diagnostics
    ]
    assert not any(one.rule == "single_process_loading" for one in capture_of(plain(WAIT, OF_WORKERS, 1)).findings)
