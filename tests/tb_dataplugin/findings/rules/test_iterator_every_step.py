"""``next(iter(loader))`` in the steps of a loop."""

from __future__ import annotations

from typing import Any

import pytest

from annotate.trace_format import METADATA_KEY
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of
from tests.tb_dataplugin.findings.step_cases import FORWARD, MAIN, NEXT, TORCH, TRAIN
from tests.trace_builder import TraceBuilder

RULE, STEP = "iterator_every_step", 100_000
LINE = ("<module>", TRAIN, 9)
JOIN = (LINE, ("_MultiProcessingDataLoaderIter._shutdown_workers", f"{TORCH}/utils/data/dataloader.py", 1500))
SOURCES = {(TRAIN, 9): "batch = next(iter(loader))"}


def restarted(steps: int = 12, taken: int = 1, length: int = 40, loaders: int = 1, **settings: Any) -> TraceBuilder:
    """Steps of 100 ms: an iterator of each loader is made for 30 ms, waited for for 20 ms, of which a DataLoader worker
    builds for 5 ms; the last of `taken` batches drops it. The rest is the model's.
    """
    loader = {"dataset": "Pets", "num_workers": 1, "batch_size": 2, "sampler_length": 2 * length,
              "persistent_workers": False, **settings}  # fmt: skip
    builder, samples = TraceBuilder().annotated(loaders=[loader] * loaders, host={"cores": 8}), []
    for step in range(steps):
        epoch, batch = divmod(step, taken)
        if not batch and step:
            builder.next_epoch()
        for number in range(loaders):
            at = STEP * step + 50_000 * number
            if not batch:
                builder.worker(0, started=at + 32_000, loader=number, pid=100 + 10 * epoch + number)
            wait = at + 30_000
            builder.batch(batch, 0, wait - 100, wait + 10_000, wait + 15_000, wait + 19_900).of_loader(number)
            builder.wait(wait, 20_000)
            samples += [(at + 1000 * each, JOIN if not batch else (MAIN, FORWARD)) for each in range(1, 30)]
            samples += [(wait + 1000 * each, (LINE, NEXT)) for each in range(1, 20)]
        samples += [(STEP * (step + 1) - 1000 * each, (MAIN, FORWARD)) for each in range(1, 50 if loaders < 2 else 2)]
        builder.step(STEP * step, STEP)
    samples.sort(key=lambda sample: sample[0])
    return builder.stacks([at for at, _ in samples], [stack for _, stack in samples], sources=SOURCES)


def test_it_is_the_verdict_and_the_first_finding() -> None:
    capture = capture_of(restarted())
    assert capture.verdict.sentence.startswith(
        "A new iterator of the DataLoader of Pets (batches of 2, num_workers=1) is made for each batch (train.py:9): "
    )
    assert "not the bottleneck" not in capture.verdict.sentence
    assert [finding.rule for finding in capture.findings] == [RULE]
    assert not capture.loader.HasField("apart")


def test_all_that_it_costs_is_counted_at_its_upper_end() -> None:
    """20 ms of waiting and some 30 ms of making, of steps of 100 ms."""
    found = finding_in(restarted(), RULE)
    assert 50_000 <= found.gain_us_per_step < 58_000
    assert found.gain_text.startswith("saves up to 5") and "% of it" in found.gain_text
    facts = evidence_of(found)
    assert facts[0].startswith(
        "12 iterators of the DataLoader of Pets (batches of 2, num_workers=1) in 12 steps, of each"
    )
    assert "20.0 ms per step waiting for their batches" in facts
    assert "persistent_workers=True is half a cure" in found.advice
    assert "except StopIteration" in found.code


def test_two_loaders_are_named_and_counted_together() -> None:
    found = finding_in(restarted(loaders=2), RULE)
    assert found.title.startswith("New iterators of 2 DataLoaders of Pets (batches of 2, num_workers=1) are made")
    assert found.gain_us_per_step > 90_000


def test_without_samples_it_costs_no_more_than_is_neither_wait_nor_operator() -> None:
    builder = restarted()
    del builder.top_level[METADATA_KEY]["lines"]
    for step in range(12):
        builder.operator(STEP * step + 55_000, 40_000)
    assert finding_in(builder, RULE).gain_us_per_step == 60_000


def test_the_loop_still_waits_for_what_its_workers_need() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 2, "sampler_length": 80}])
    for step in range(12):
        at = STEP * step
        builder.worker(0, started=at, pid=100 + step).batch(0, 0, at, at + 1_000, at + 91_000, at + 92_000)
        builder.wait(at, 95_000).step(at, STEP).next_epoch()
    assert finding_in(builder, RULE).gain_us_per_step == pytest.approx(10_000)


@pytest.mark.parametrize("length", [1, 2])
def test_iterators_that_come_to_their_end_are_epochs(length: int) -> None:
    assert finding_of(restarted(taken=length, length=length), RULE) is None


def test_a_few_batches_of_each_are_said() -> None:
    assert finding_of(restarted(taken=4), RULE) is None  # most steps make none
    assert "iter(" not in finding_in(restarted(shuffle=False), RULE).title
    assert "the same first batch" in finding_in(restarted(shuffle=False), RULE).advice


def without_workers(iterators: int, drawing: int) -> TraceBuilder:
    loader = {"dataset": "Pets", "num_workers": 0, "batch_size": 2, "sampler_length": 80}
    loaders = [{**loader, "iterated_in_window": iterators}]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": 8})
    for step in range(12):
        at = STEP * step
        builder.wait(at, 20_000 + drawing, "wait::DataLoader").stage("sampler::RandomSampler", at, drawing)
        builder.stage("sample::Pets", at + drawing, 20_000).operator(at + 60_000, 40_000).step(at, STEP)
        builder.operator(at + 20_000 + drawing, 39_000 - drawing)
    return builder


def test_without_workers_the_first_indices_are_what_is_drawn_again() -> None:
    found = finding_in(without_workers(12, 15_000), RULE)
    assert found.gain_us_per_step == pytest.approx(16_000)
    assert "before you add DataLoader workers" in found.advice
    assert finding_of(without_workers(1, 15_000), RULE) is None


def test_workers_are_advised_only_for_an_iterator_that_is_kept() -> None:
    """Drawing costs next to nothing here: the verdict is about the samples."""
    capture = capture_of(without_workers(12, 100))
    assert "sample::Pets" in capture.verdict.sentence
    single = next(finding for finding in capture.findings if finding.rule == "single_process_loading")
    assert single.advice.startswith("First keep the iterator")
    assert capture.findings[-1].rule == RULE
