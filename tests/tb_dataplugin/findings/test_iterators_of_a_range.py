"""What is said of iterators and epochs where some steps of a capture are looked at."""

from __future__ import annotations

import pytest

from tb_dataplugin.options import StepRange
from tb_dataplugin.report.report_pb2 import Capture, Finding
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, results_of
from tests.tb_dataplugin.findings.rules.test_iterator_every_step import restarted, without_workers
from tests.tb_dataplugin.findings.rules.test_iterator_for_a_look import looking
from tests.trace_builder import TraceBuilder

STEP = 50_000


def evaluating(steps: int = 56, every: int = 8, length: int = 4) -> TraceBuilder:
    """Every eighth step iterates over all of another DataLoader, in the training process; torch asks once more for a
    batch that does not come.
    """
    loaders = [
        {"dataset": "Shards", "num_workers": 1, "batch_size": 8, "iterable": True},
        {"dataset": "Held", "num_workers": 0, "batch_size": 16, "sampler_length": 16 * length, "shuffle": False,
         "iterated_in_window": steps // every},
    ]  # fmt: skip
    builder, at = TraceBuilder().annotated(loaders=loaders, host={"cores": 8}).worker(0, started=-1_000), 0
    for step in range(steps):
        builder.batch(step, 0, at - 40_000, at - 30_000, at + 8_000, at + 10_000).of_loader(0)
        builder.wait(at, 10_000)
        lasts = STEP
        if step % every == every - 1:
            for batch in range(length):
                wait = at + STEP + 20_000 * batch
                builder.wait(wait, 12_000)
                for sample in range(16):
                    builder.stage("sample::Held", wait + 700 * sample, 600)
            builder.wait(at + STEP + 20_000 * length, 100)
            lasts += 20_000 * length + 1_000
        builder.step(at, lasts)
        at += lasts
    return builder


def of_iterators(capture: Capture) -> list[Finding]:
    return [each for each in capture.findings if each.rule in ("iterator_every_step", "iterator_for_a_look")]


@pytest.mark.parametrize("steps", [(8, 10), (8, 14), (7, 16), (8, 8), (9, 15), (1, 56)])
def test_a_whole_evaluation_is_one_in_any_steps(steps: tuple[int, int]) -> None:
    capture = capture_of(evaluating(), StepRange(*steps))
    assert of_iterators(capture) == []
    assert "new iterator" not in capture.verdict.sentence
    has_one = any(steps[0] <= step <= steps[1] for step in range(8, 57, 8))
    assert ("an evaluation?" in capture.verdict.sentence) == has_one


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(("steps", "count"), [((2, 3), 2), ((4, 8), 5), ((12, 12), 1)])
def test_iterators_of_every_step_are_counted_in_the_chosen_ones(
    steps: tuple[int, int], count: int, workers: int
) -> None:
    """Also where these are too few to be a habit by themselves: that is the whole capture's."""
    builder = restarted() if workers else without_workers(12, 15_000)
    (found,) = of_iterators(capture_of(builder, StepRange(*steps)))
    one = count == 1
    assert evidence_of(found)[0].startswith(f"{count} iterator{'' if one else 's'} of the DataLoader of Pets")
    assert f"in {count} step{'' if one else 's'}, of each 1 batch taken of the 40" in evidence_of(found)[0]


def test_of_iterators_with_several_batches_nothing_is_said_where_their_number_is_not_known() -> None:
    """Two batches of each, in the training process, where nothing but their number in the whole capture is recorded."""
    builder = without_workers(7, 15_000)
    assert len(of_iterators(capture_of(builder))) == 1
    assert of_iterators(capture_of(builder, StepRange(2, 6))) == []


@pytest.mark.parametrize(("steps", "looks"), [((4, 11), 2), ((6, 14), 1)])
def test_looks_are_counted_in_the_chosen_steps(steps: tuple[int, int], looks: int) -> None:
    (found,) = of_iterators(capture_of(looking((4, 9, 14, 19)), StepRange(*steps)))
    assert f"is made in {looks} of {steps[1] - steps[0] + 1} steps for 1 batch" in found.title


def test_steps_without_a_look_have_no_finding_of_it() -> None:
    assert of_iterators(capture_of(looking((4, 9)), StepRange(6, 9))) == []


def epochs(steps: int = 24, each: int = 8) -> TraceBuilder:
    """Of a loop without DataLoader workers, with a mark at each first batch; each epoch reads the same 16 samples."""
    loader = {"dataset": "Pets", "num_workers": 0, "batch_size": 2, "sampler_length": 2 * each}
    builder = TraceBuilder().annotated(loaders=[loader], host={"cores": 8})
    for step in range(steps):
        at, first = STEP * step, not step % each
        builder.wait(at, 40_000 if first else 10_000, "wait::DataLoader (first batch)" if first else "wait::DataLoader")
        for sample in range(2):
            args = {"index": 2 * (step % each) + sample}
            builder.add("user_annotation", "sample::Pets", at + 4_000 * sample, 3_900, **args)
        builder.step(at, STEP)
    return builder


@pytest.mark.parametrize("steps", [None, StepRange(9, 16), StepRange(12, 20), StepRange(9, 24)])
def test_samples_of_another_epoch_are_not_read_again(steps: StepRange | None) -> None:
    assert "samples_read_again" not in [each.rule for each in capture_of(epochs(), steps).findings]


def test_the_first_start_within_some_steps_is_not_the_first_of_the_capture() -> None:
    """A second epoch's start is a part of each step in the long run, whichever steps are looked at."""
    starts = results_of(epochs(), StepRange(7, 14)).loop.apart.epochs
    assert [start.repeated for start in starts] == [True]
