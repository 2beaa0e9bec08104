"""Slow samples of several DataLoaders: an index means nothing without its loader."""

from __future__ import annotations

from typing import Any

from tb_dataplugin.export.samples_text import slow_sample_lines
from tb_dataplugin.report.replay_command import add_replay_command
from tb_dataplugin.report.report_pb2 import Capture
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

PHOTOS = {"name": "DataLoader", "dataset": "Photos", "batch_size": 1}


def in_workers() -> TraceBuilder:
    """20 batches of the training loop, and one of another DataLoader of the same dataset class, with the same index as
    the first of the loop's, which takes longest.
    """
    loaders = [{**PHOTOS, "num_workers": 1, "stepped": True}, {**PHOTOS, "num_workers": 2}]
    builder = TraceBuilder().annotated(loaders=loaders).worker(0)
    for number in range(20):
        at = 1000.0 * number
        builder.step(at, 1000).wait(at, 500, "wait::DataLoader")
        took = 300 + 5 * number
        builder.batch(number, 0, at, at, at + 450, at + 490, {"sample::Photos": (at, took)})
    builder.step(20_000, 2000).wait(20_000, 1500, "wait::DataLoader").worker(0, loader=1, pid=300)
    return builder.batch(0, 0, 20_000, 20_000, 21_450, 21_490, {"sample::Photos": (20_000, 1400)}).of_loader(1)


def by_loader(capture: Capture) -> dict[int, list[int]]:
    return {
        one.loader: [sample.index for sample in capture.slow_samples if sample.loader == one.loader]
        for one in capture.sample_loaders
    }


def test_samples_of_another_loader_take_no_place_from_the_training_loops() -> None:
    capture = capture_of(in_workers())
    assert by_loader(capture) == {0: list(range(19, -1, -1)), 1: [0]}
    assert [one.main for one in capture.sample_loaders] == [True, False]
    assert [one.name for one in capture.sample_loaders] == [
        f"the DataLoader of Photos (batches of 1, num_workers={number})" for number in (1, 2)
    ]
    assert list(capture.usual_samples) == list(capture.sample_loaders[0].usual_samples)
    assert [one.p50_us for one in capture.sample_loaders] == [347.5, 1400]


def alone(**other: Any) -> TraceBuilder:
    """Each step takes a sample of one loader and then of another, both built by the training thread."""
    loaders = [{**PHOTOS, "num_workers": 0, "stepped": True}, {**PHOTOS, "num_workers": 0, **other}]
    builder = TraceBuilder().annotated(loaders=loaders)
    label = str(other.get("dataset", "Photos"))
    for number in range(4):
        at = 1000.0 * number
        builder.step(at, 1000).wait(at, 300, "wait::DataLoader").wait(at + 400, 500, "wait::DataLoader")
        for name, index, start, took in (("Photos", number, 10, 200), (label, 50 + number, 410, 400)):
            builder.add("user_annotation", f"sample::{name}", at + start, took, index=index, batch=-1, epoch=-1)
    return builder


def test_samples_that_the_training_thread_builds_are_told_apart_by_their_dataset() -> None:
    assert by_loader(capture_of(alone(dataset="Videos"))) == {0: [0, 1, 2, 3], 1: [50, 51, 52, 53]}


def test_samples_that_may_be_of_either_loader_have_no_command() -> None:
    capture = capture_of(alone())
    assert all(one.replay_code == "" for one in capture.sample_loaders if one.loader < 0)
    assert all(len({index < 50 for index in mine}) == 1 for number, mine in by_loader(capture).items() if number >= 0)


def test_the_terminal_names_the_loader_of_each_table() -> None:
    capture = capture_of(in_workers())
    add_replay_command(capture)
    lines = [line.strip() for line in slow_sample_lines(capture)]
    heads = [line for line in lines if line.startswith("Slowest samples")]
    assert heads == [
        f"Slowest samples of {one.name} ({unit})"
        for one, unit in zip(capture.sample_loaders, ("µs", "ms"), strict=True)
    ]
    assert capture.replay_code == capture.sample_loaders[0].replay_code
    assert capture.sample_loaders[1].replay_code.endswith("indices=[0])") and "--slowest 20" in capture.replay_command


def test_the_slowest_of_chosen_steps_are_loaded_again_by_their_indices() -> None:
    """`--slowest` takes the whole capture's."""
    capture = capture_of(in_workers())
    capture.selection.first, capture.selection.last = 3, 6
    add_replay_command(capture)
    for loader in capture.sample_loaders:
        shown = [str(sample.index) for sample in capture.slow_samples if sample.loader == loader.loader]
        assert f"--indices {','.join(shown)} --from" in loader.replay_command
        assert "--slowest" not in loader.replay_command


def hidden(*slow: int, took: float = 700.0) -> str:
    """What the terminal says of samples of batches that are ready long before they are asked for. `slow`: indices."""
    builder = TraceBuilder().annotated(loaders=[{**PHOTOS, "num_workers": 1, "stepped": True}]).worker(0)
    for number in range(20):
        at = 1000.0 * number
        length = took if number in slow else 20.0
        builder.step(at + 1000, 1000).wait(at + 1980, 10, "wait::DataLoader")
        builder.batch(number, 0, at, at, at + length, at + 1990, {"sample::Photos": (at, length)})
    capture = capture_of(builder)
    add_replay_command(capture)
    return "\n".join(slow_sample_lines(capture))


def test_slow_samples_that_cost_the_loop_hardly_anything_are_said_in_a_line_each() -> None:
    text = hidden(3, 8)
    assert text.splitlines() == [
        "Slow samples   building batches caused data wait of 0.90% of the window; median 20.0 µs",
        "  index 3: 700 µs (DataLoader worker 0, epoch 0, batch 3)",
        "  index 8: 700 µs (DataLoader worker 0, epoch 0, batch 8)",
    ]
    assert hidden(*range(1, 6)).endswith("and 2 more as slow; --format json has them all")


def test_samples_that_are_alike_or_hardly_longer_are_not_said_where_nobody_waits_for_them() -> None:
    assert hidden() == ""
    assert hidden(3, took=90) == "", "5 times as long, less than a part of a step that is worth work"
    assert hidden(3, took=60) == "", "3 times as long"
