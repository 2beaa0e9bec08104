"""What is counted and listed: samples, whole batches that a dataset makes in one call, or what may be either."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.checks.budgets import samples_per_s
from tb_dataplugin.errors import NothingToReport
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.findings.epoch_length import _by_sampler
from tb_dataplugin.report.report_pb2 import Capture, Report
from tb_dataplugin.report.rows import row_of
from tests.tb_dataplugin.findings.cases import capture_of, signals_of
from tests.trace_builder import TraceBuilder

LISTS: dict[str, Any] = {"dataset": "Rows", "sampler": "BatchSampler", "sampler_length": 40}


def alone(index: bool = False, **settings: Any) -> TraceBuilder:
    """Ten steps of 1 ms; each waits for one span of the dataset."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "dataset": "Rows", **settings}])
    for step in range(10):
        at, args = 1000 * step, {"index": step} if index else {}
        builder.step(at, 1000).wait(at, 400, "wait::DataLoader")
        builder.add("user_annotation", "sample::Rows", at, 900 if step == 5 else 380, cpu_us=300, **args)
    return builder


def in_workers(samples: int | None, **settings: Any) -> TraceBuilder:
    """The same of one DataLoader worker that builds each batch in 500 us."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "dataset": "Rows", **settings}]).worker(0)
    for step in range(10):
        at = 1000 * step
        builder.step(at, 1000).wait(at, 400, "wait::DataLoader")
        builder.batch(step, 0, at, at + 10, at + 510, at + 400, {"sample::Rows": (at + 10, 500)})
        builder.moments(samples=samples)  # type: ignore[arg-type]
        builder.events[-1]["args"].pop("index")
    return builder


def text_of(capture: Capture) -> str:
    return as_text(Report(captures=[capture]))


def test_calls_with_lists_of_indices_are_batches_not_samples() -> None:
    capture = capture_of(alone(**LISTS))
    assert (capture.throughput.item, capture.throughput.samples) == ("batch", 10)
    assert capture.throughput.samples_per_s == pytest.approx(1000, rel=0.1)
    assert capture.loader.item == capture.sample_loaders[0].item == "batch"
    text = text_of(capture)
    assert "batches per second" in text and "Slowest batches" in text
    assert "samples per second" not in text and "Slowest samples" not in text


def test_rates_of_batches_are_no_samples_beside_other_captures() -> None:
    capture = capture_of(alone(**LISTS))
    assert not row_of(capture).HasField("samples_per_s")
    with pytest.raises(NothingToReport, match="how many samples a batch has"):
        samples_per_s([capture])


def test_with_lengths_of_the_lists_all_rates_are_of_samples() -> None:
    capture = capture_of(in_workers(32, **LISTS))
    rates = capture.throughput
    assert (rates.item, rates.samples, rates.samples_per_batch) == ("sample", 320, 32)
    assert rates.prepare_per_s == pytest.approx(32 / 500e-6, rel=0.1)  # it was that of batches: 2,000
    assert rates.device_per_s == pytest.approx(320 / 6e-3, rel=0.1)
    assert "samples per second" in text_of(capture) and "Slowest batches" in text_of(capture)


def test_an_epoch_of_lists_has_as_many_steps_as_its_sampler_has_lists() -> None:
    signals = signals_of(in_workers(32, **LISTS))
    assert _by_sampler(signals, 10, None) == 40


@pytest.mark.parametrize(
    ("settings", "index", "item"),
    [
        ({"batch_size": 1, "sampler": "RandomSampler"}, False, "sample"),
        ({"whole": True, "sampler": "RandomSampler"}, True, "sample"),
        ({"whole": True, "sampler": "ByLength"}, False, "item"),  # of lists, or of keys that are no numbers
        ({"whole": True, "iterable": True}, False, "item"),
        ({"iterable": True}, False, "sample"),  # of an older recorder
        ({"sampler": "ByLength"}, False, "sample"),  # a batch sampler of one's own without a size
        ({"whole": True, "sampler": "BatchSampler"}, False, "batch"),
    ],
)
def test_what_one_call_makes_is_said_as_far_as_it_is_known(settings: dict[str, Any], index: bool, item: str) -> None:
    capture = capture_of(alone(index, **settings))
    assert (capture.throughput.item, capture.loader.item) == (item, item)
    plural = {"sample": "samples", "item": "items", "batch": "batches"}[item]
    assert f"{plural} per second" in text_of(capture)


@pytest.mark.parametrize(("samples", "item"), [(4, "batch"), (None, "item")])
def test_a_sampler_of_ones_own_shows_by_what_was_drawn(samples: int | None, item: str) -> None:
    assert capture_of(in_workers(samples, whole=True, sampler="ByLength")).loader.item == item
