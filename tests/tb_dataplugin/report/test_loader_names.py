"""Of several DataLoaders, whose numbers they are."""

from __future__ import annotations

import pytest

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import as_report
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

OWN = "Photos (batches of 4, num_workers=1)"


def with_evaluation(is_evaluated: bool = True, training_workers: int = 1) -> TraceBuilder:
    """Twelve steps of 10 ms, which wait 2 ms; an epoch has six. Its last step is also for an evaluation of two batches,
    each of which is waited for for 1 ms.
    """
    own = {"num_workers": training_workers, "batch_size": 4, "dataset": "Photos", "sampler_length": 24}
    other = {"num_workers": 1, "batch_size": 8, "dataset": "Photos", "sampler_length": 16}
    builder = TraceBuilder().annotated(loaders=[own, other] if is_evaluated else [own])
    builder.worker(0, pid=50).worker(0, loader=1, pid=60)
    for step in range(12):
        begin = 10_000 * step
        builder.step(begin, 10_000).wait(begin, 2_000, "wait::DataLoader")
        builder.pids[0] = 50
        if not training_workers:
            builder.stage("sample::Photos", begin + 10, 1_900)
        else:
            builder.batch(step % 6, 0, begin, begin + 10, begin + 1_900, begin + 1_950)
        builder.pids[0] = 60
        for number in range(2 if is_evaluated and step % 6 == 5 else 0):
            at = begin + 4_000 + 2_000 * number
            builder.wait(at, 1_000, "wait::DataLoader")
            builder.batch(number, 0, at, at + 10, at + 900, at + 950).of_loader(1)
        if step == 5:
            builder.next_epoch()
    return builder


def test_workers_are_of_a_loader_with_a_name_and_an_evaluation_is_said_to_be_one() -> None:
    names = [summary.name for summary in capture_of(with_evaluation()).worker_summaries]
    assert names == [OWN, "Photos (batches of 8, num_workers=1), an evaluation?"]
    assert not capture_of(with_evaluation(is_evaluated=False)).worker_summaries[0].name


def test_waits_for_first_batches_are_those_of_the_training_loop_and_say_so() -> None:
    capture = capture_of(with_evaluation())
    assert capture.loader.first_batch_wait_us == pytest.approx(4_000)
    assert f"first batch 2.00 ms on average of 2 epochs, without iter(loader), of the DataLoader of {OWN}" in " ".join(
        as_text(as_report([capture])).split()
    )
    alone = capture_of(with_evaluation(is_evaluated=False)).loader
    assert alone.first_batch_wait_us == pytest.approx(4_000) and alone.first_batch_of == ""


def test_waits_for_an_evaluations_first_batches_are_no_substitute() -> None:
    assert not capture_of(with_evaluation(training_workers=0)).loader.HasField("first_batch_wait_us")
