from __future__ import annotations

from typing import Any

import pytest

from annotate.trace_format import TAKEN_ELSEWHERE
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of
from tests.tb_dataplugin.findings.step_cases import MAIN, MODEL, Frame
from tests.trace_builder import TraceBuilder

GET: Frame = ("Queue.get", "/lib/python3.12/queue.py", 171)
BLOCKED: Frame = ("Condition.wait", "/lib/python3.12/threading.py", 355)
WAITING = (MAIN, GET, BLOCKED)


def fed(of_hundred: int = 70, *, workers: int = 2, **more: Any) -> TraceBuilder:
    """Ten steps of 10 ms by the optimizer; the thread that trains is in `queue.get` in so many of 100 samples."""
    steps = {"source": "optimizer", "boundaries_us": [10_000.0 * step for step in range(11)]}
    builder = TraceBuilder().annotated(loaders=[{"num_workers": workers, "batch_size": 4}], steps=steps, **more)
    for step in range(10):
        builder.operator(10_000 * step + 9_000, 900)
    if workers:
        builder.worker(0).worker(1)
        for number in range(10):
            start = 10_000.0 * number - 10_000
            spans = {"sample::Pets": (start, 18_000.0, 100.0), "transform::Blur": (start, 17_000.0, 100.0)}
            builder.batch(number, number % 2, start - 100, start, start + 18_000, start + 18_100, spans)
    else:
        for number in range(10):
            builder.stage("sample::Pets", 10_000 * number, 9_000, tid=7)
            builder.stage("transform::Blur", 10_000 * number, 8_000, tid=7)
    times = [500 + 1000 * number for number in range(100)]
    stacks = [WAITING if 37 * number % 100 < of_hundred else MODEL for number in range(100)]
    return builder.stacks(times, stacks)


@pytest.mark.parametrize("workers", [2, 0])
def test_the_stage_that_fills_the_queue_is_named_where_the_training_thread_waits_for_it(workers: int) -> None:
    finding = finding_in(fed(workers=workers), "slow_feeding_thread")
    assert finding.stage == "transform::Blur" and finding.severity == "high"
    assert "waits for a queue at train.py:90 for 69.7% of the window" in finding.title
    assert not finding.HasField("gain_us_per_step")
    where = "in DataLoader workers" if workers else "in the thread that fills the queue"
    assert any(line.startswith("transform::Blur: self time") and where in line for line in evidence_of(finding))


RUN: Frame = ("Prefetcher.run", "/home/me/train.py", 40)
CONVERT: Frame = ("Prefetcher.convert", "/home/me/train.py", 55)
NEXT: Frame = ("_BaseDataLoaderIter.__next__", "/lib/python3.12/site-packages/torch/utils/data/dataloader.py", 733)


@pytest.mark.parametrize(("own", "names_thread"), [(90, True), (52, False), (5, False)])
def test_a_thread_that_works_on_its_batches_itself_is_named_and_no_stage(own: int, names_thread: bool) -> None:
    """A stranger's own prefetcher converted for 30 ms what it waited 5 ms for: a stage of the workers was blamed."""
    times = [500 + 1000 * number for number in range(100)]
    filling = [(RUN, CONVERT) if 53 * number % 100 < own else (RUN, NEXT) for number in range(100)]
    builder = fed().stacks(times, filling, tid=7)
    finding = finding_in(builder, "slow_feeding_thread")
    assert ("the thread that fills it works itself for" in finding.title) is names_thread
    assert finding.stage == ("" if names_thread else "transform::Blur")
    assert ("Begin with Prefetcher.convert at train.py:55" in finding.advice) is names_thread
    assert any("in code of its own, not in the DataLoader's" in line for line in evidence_of(finding))
    sentence = capture_of(builder).verdict.sentence
    assert ("that thread works itself" in sentence, "transform::Blur" in sentence) == (names_thread, not names_thread)


def test_the_data_wait_stays_unknown_and_one_reason_is_said() -> None:
    capture = capture_of(fed(notes=[f"{TAKEN_ELSEWHERE}: loop over prof.steps(...)"]))
    assert not capture.HasField("loader") or not capture.loader.wait_us
    sentence = capture.verdict.sentence
    assert capture.verdict.bound == "unknown"
    assert "Another thread takes the batches from the DataLoader, so the data wait is unknown." in sentence
    assert "at train.py:90 for 69.7% of the window" in sentence and "transform::Blur" in sentence
    reasons = {note.code: note.message for note in capture.diagnostics}
    assert reasons["fed_by_thread"].startswith("Another thread than the one that trains takes the batches")
    assert not any(message.startswith(TAKEN_ELSEWHERE) for message in reasons.values())
    assert not {"no_training_thread", "no_loader_spans", "few_thread_samples"} & reasons.keys()


def test_a_training_thread_that_rarely_waits_for_its_queue_has_no_finding() -> None:
    assert finding_of(fed(3), "slow_feeding_thread") is None
    assert "transform::Blur" not in capture_of(fed(3)).verdict.sentence


def test_a_training_thread_that_was_never_seen_to_wait_has_its_batches_from_another_all_the_same() -> None:
    sentence = capture_of(fed(0)).verdict.sentence
    assert sentence == "Another thread takes the batches from the DataLoader, so the data wait is unknown."


def test_a_queue_is_no_matter_where_the_training_thread_takes_the_batches_itself() -> None:
    builder = fed()
    for step in range(10):
        builder.step(10_000 * step, 10_000).wait(10_000 * step, 400, "wait::DataLoader")
    assert finding_of(builder, "slow_feeding_thread") is None
    assert "Another thread" not in capture_of(builder).verdict.sentence


def test_measuring_the_wait_needs_the_mark_of_the_dataloader_too() -> None:
    """Steps around the queue alone know neither its stages nor its DataLoader workers."""
    finding = finding_in(fed(), "slow_feeding_thread")
    reason = finding.confidence_reason
    assert "annotate.loader(...)" in reason and reason.index("annotate.loader") < reason.index("prof.steps(...)")
    capture = capture_of(fed())
    missing = next(note.message for note in capture.diagnostics if note.code == "fed_by_thread")
    assert "pass the DataLoader to annotate.loader, and loop over prof.steps(...)" in missing
