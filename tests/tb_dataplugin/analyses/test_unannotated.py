from __future__ import annotations

import pytest

from tb_dataplugin.analyses.unannotated import find_unannotated
from tb_dataplugin.analyses.waits_of_others import OF_WORKERS
from tb_dataplugin.model.intervals import Intervals
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder

TORCHS = f"enumerate(DataLoader){OF_WORKERS}"
STEPS, STEP, WAIT, OTHER = 8, 10_000.0, 4000.0, 3000.0


def with_second_wait(mark: str = TORCHS, missing: int = -1) -> TraceBuilder:
    """Each step waits for a batch of the recorded loader, and then once more. `missing`: a batch without a record."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 8}], host={"cores": 8}).worker(0)
    for number in range(STEPS):
        begin, done = number * STEP, number * STEP + WAIT - 10
        builder.step(begin, STEP).wait(begin, WAIT, TORCHS).wait(begin + WAIT + 1000, OTHER, mark)
        spans = {"sample::Pets": (done - 3000, 3000.0)}
        if number != missing:
            builder.batch(number, 0, done - 3000, done - 3000, done, done + 5, spans)
    return builder


def test_waits_between_two_batches_that_follow_each_other_are_for_another_dataloader() -> None:
    builder = with_second_wait()
    found = find_unannotated(results_of(builder))
    assert found.total_ns == pytest.approx(1000 * OTHER * (STEPS - 1), rel=1e-3)  # what follows the last is not known
    (note,) = (note for note in capture_of(builder).diagnostics if note.code == "unannotated_loader")
    assert "21.0 ms of the data wait in 7 waits" in note.message and "annotate.auto()" in note.message
    (said,) = (fact.text for fact in capture_of(builder).verdict.evidence if fact.stage == "other_loader")
    assert said.startswith("another DataLoader, which is not annotated: 21.0 ms")


def test_where_a_batch_may_be_missing_nothing_is_said_of_another_dataloader() -> None:
    found = find_unannotated(results_of(with_second_wait(missing=3)))
    assert found.total_ns == pytest.approx(1000 * OTHER * (STEPS - 3), rel=1e-3)
    missing = Intervals.union([round(1000 * (2 * STEP + WAIT))], [round(1000 * 4 * STEP)])
    assert not found.intersect(missing).total_ns


def test_waits_for_an_iterator_of_the_users_are_no_dataloaders() -> None:
    """One that hands a batch out in halves waits for nobody at every second."""
    builder = with_second_wait(mark="wait::Halves")
    assert not len(find_unannotated(results_of(builder)))
    assert not [note for note in capture_of(builder).diagnostics if note.code == "unannotated_loader"]
