"""An evaluation of a plain capture: starting its DataLoader workers is not in the trace, and that is said."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.iter_unseen import MESSAGE
from tb_dataplugin.analyses.waits_of_others import IN_PROCESS, OF_WORKERS
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder


def plain(waits: list[int], mark: str = OF_WORKERS) -> TraceBuilder:
    """Steps of 10 ms with so many waits each."""
    builder = TraceBuilder()
    for step, count in enumerate(waits):
        builder.step(10_000 * step, 10_000)
        for number in range(count):
            builder.wait(10_000 * step + 1_000 * number + 100, 500, f"enumerate(DataLoader){mark}")
    return builder


@pytest.mark.parametrize(
    ("waits", "mark", "is_said"),
    [
        ([0, 0, 3, 0], OF_WORKERS, True),
        ([1, 2, 1, 1], OF_WORKERS, True),
        ([1, 1, 1, 1], OF_WORKERS, False),
        ([4, 4, 4, 4], OF_WORKERS, False),
        ([0, 0, 3, 0], IN_PROCESS, False),
    ],
)
def test_what_iter_takes_is_said_to_be_missing_where_one_may_have_been_made(
    waits: list[int], mark: str, is_said: bool
) -> None:
    assert any(note.message == MESSAGE for note in capture_of(plain(waits, mark)).diagnostics) is is_said


def test_captures_of_annotate_know_of_it() -> None:
    builder = plain([0, 0, 3, 0]).annotated(loaders=[{"num_workers": 2}])
    assert not any(note.message == MESSAGE for note in capture_of(builder).diagnostics)
