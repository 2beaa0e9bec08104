from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.findings import replay_sentences
from tb_dataplugin.pipeline import analyse, as_report
from tests.trace_builder import TraceBuilder


def replay(
    loads: Sequence[float],
    captured: float | None,
    *,
    usual: Sequence[Sequence[float]] = (),
    cold: bool = True,
    delay: float = 0,
    inner: str = "decode::PIL.Image",
    **further: Any,
) -> TraceBuilder:
    """A replay of sample 7, whose loads take so long; the last one is cold. `usual`: loads of samples 8 and on."""
    named = {"index": [7], "captured_us": [captured], "cold": [cold], "files": [["/data/7.jpg"]]} | further
    spent, others = {"cpu_us": 1, "run_delay_us": delay}, list(range(8, 8 + len(usual)))
    builder = TraceBuilder().annotated(
        "replay", loaders=[{}], replayed=named, replayed_usual=others, training_thread=spent
    )
    every = [(7, took) for took in loads] + [(8 + at, took) for at, times in enumerate(usual) for took in times]
    builder.step(0, sum(took + 1 for _, took in every))
    ends = itertools.accumulate(took + 1 for _, took in every)
    for (index, took), end in zip(every, ends, strict=True):
        builder.stage("sample::Photos", end - took - 1, took)
        builder.events[-1]["args"] = {"index": index, "cpu_us": 1}
        builder.stage(inner, end - took - 1, took * 0.75)
    return builder


def sample_of(builder: TraceBuilder) -> Any:
    (sample,) = as_dict(as_report([analyse(builder.trace()).capture]))["captures"][0]["replayed_samples"]
    return sample


def test_the_first_load_is_not_counted_and_the_last_is_cold() -> None:
    sample = sample_of(replay([500, 100, 110, 120, 300], 100))
    assert (sample["warm_us"], sample["fastest_us"], sample["cold_us"], sample["loads"]) == (110, 100, 300, 3)
    assert sample["files"] == ["/data/7.jpg"]


@pytest.mark.parametrize(
    ("loads", "captured", "more", "cause"),
    [
        ([500, 100, 110, 300], 130, {}, "itself"),
        ([500, 10, 11, 90], 100, {}, "storage"),
        ([500, 10, 11, 12], 100, {}, "contention"),
        ([500, 10, 11, 12], 100, {"cold": False}, "unknown"),
        ([500, 10, 11, 90], None, {}, "unknown"),
        ([500, 10, 11, 90], 100, {"delay": 300}, "unknown"),
        ([500, 10, 11, 12], 100, {"delay": 300}, "contention"),
    ],
)
def test_why_a_sample_was_slow(loads: list[float], captured: float | None, more: dict[str, Any], cause: str) -> None:
    assert sample_of(replay(loads, captured, **more))["cause"] == cause


@pytest.mark.parametrize(
    ("loads", "facts", "cause", "words"),
    [
        # 113 ms alone beside a median of 8: a busy machine made it 288, and is not why it is slow
        ([500, 113, 120, 121], {"typical_us": [8]}, "itself", "alone it takes 113 µs, and the median sample 8.00 µs"),
        ([500, 20, 21, 22], {"typical_us": [8]}, "contention", "Contention"),
        # nothing says where its file came from, and it is slow from anywhere
        ([500, 200, 200, 320], {"read_us": [270], "typical_us": [8]}, "itself", "alone it takes 200 µs"),
        # storage that others used as well is slower in training
        ([500, 5, 5, 150], {"typical_us": [8]}, "storage", "only its files make it slow"),
        (
            [500, 5, 5, 250],
            {"typical_us": [8], "read_us": [270], "storage_share": [0.0]},
            "contention",
            "alone it is fast, and what was read for it in training was in memory",
        ),
        ([500, 5, 5, 250], {"typical_us": [8], "storage_share": [0.9]}, "storage", "only its files make it slow"),
        ([500, 46, 46, 82], {"read_us": [270]}, "storage", "reading its files took 93.8% of its time in training"),
        ([500, 46, 46, 50], {"read_us": [270]}, "contention", "Contention"),
        (
            [500, 46, 46, 50],
            {"read_us": [270], "storage_share": [0.97]},
            "storage",
            "training, most of it for storage",
        ),
        ([500, 46, 46, 82], {"read_us": [270], "storage_share": [0.0]}, "contention", "Contention"),
        ([500, 4, 5, 6], {"line": ["burn at data.py:30"]}, "contention", "It was at burn at data.py:30 most of"),
    ],
)
def test_what_the_capture_says_of_a_sample_decides_what_durations_alone_do_not(
    loads: list[float], facts: dict[str, Any], cause: str, words: str
) -> None:
    sample = sample_of(replay(loads, 288, **facts))
    assert sample["cause"] == cause
    assert words in sample["text"]


HEAVY = {"stage": ["transform::Heavy"], "typical_us": [8]}


@pytest.mark.parametrize(
    ("loads", "facts", "inner", "cause", "words"),
    [
        # the stage that took its time isn't in the replayed loader's transforms
        (
            [500, 5, 5, 5],
            HEAVY,
            "transform::Light",
            "other_loader",
            "transform::Heavy, which took most of the sample's",
        ),
        ([500, 280, 280, 280], HEAVY, "transform::Light", "other_loader", "name the one that was captured"),
        ([500, 5, 5, 5], HEAVY, "transform::Heavy", "contention", "Contention"),
        ([500, 280, 280, 280], HEAVY, "transform::Heavy", "itself", "Slow in itself"),
        # same stages, another setting: fast alone says nothing of the captured one, slow alone does
        (
            [500, 5, 5, 5],
            HEAVY | {"differs": [["batch_size 16 (8 in the capture)"]]},
            "transform::Heavy",
            "other_loader",
            "DataLoader: batch_size 16 (8 in the capture), and alone it is fast; name the one that was captured.",
        ),
        ([500, 280, 280, 280], HEAVY | {"differs": [["batch_size 16 (8)"]]}, "transform::Heavy", "itself", "itself"),
    ],
)
def test_of_a_loader_that_may_be_another_one_no_cause_is_given(
    loads: list[float], facts: dict[str, Any], inner: str, cause: str, words: str
) -> None:
    sample = sample_of(replay(loads, 288, inner=inner, **facts))
    assert sample["cause"] == cause
    assert words in sample["text"]


@pytest.mark.parametrize(
    ("facts", "inner", "cause", "words"),
    [
        ({"files": [[]]}, "transform::Crop", "contention", "a lock, or for storage if it reads from a memory map."),
        ({"files": [[]], "storage_share": [0.0]}, "transform::Crop", "contention", "waited for a CPU or a lock."),
        ({"storage_share": [0.0]}, "read::open", "contention", "was in memory. In training it waited for a CPU or a"),
        ({"files": [[]]}, "read::h5py", "unknown", "which files it reads, if any, is not known"),
        ({}, "read::open", "unknown", "its files could not be removed from the page cache"),
    ],
)
def test_a_sample_that_reads_no_file_did_not_wait_for_storage(
    facts: dict[str, Any], inner: str, cause: str, words: str
) -> None:
    sample = sample_of(replay([500, 5, 5, 5], 288, inner=inner, cold=False, **facts))
    assert sample["cause"] == cause
    assert words in sample["text"]


USUAL = [[900, 210, 210], [900, 190, 190], [900, 250, 250]]


@pytest.mark.parametrize(
    ("loads", "captured", "typical", "cause", "words"),
    [
        # as slow as any, alone: what it took longer in training is not its own
        ([500, 221, 221, 223], 305, 190, "contention", "alone it takes 221 µs, and a usual sample 210 µs, also with"),
        # its files make a difference, but not that one
        ([500, 209, 209, 227], 305, 190, "contention", "alone it takes 209 µs, and a usual sample 210 µs, also with"),
        # not slow, though the slowest of its capture
        ([500, 199, 200, 222], 249, 190, "ordinary", "in training it took 249 µs, and the median sample 190 µs"),
        # twice as slow as others in training, where all were slower, and alone
        ([500, 420, 420, 430], 800, 400, "itself", "alone it takes 420 µs, and a usual sample 210 µs; in training"),
    ],
)
def test_a_sample_is_compared_with_usual_ones_alone(
    loads: list[float], captured: float, typical: float, cause: str, words: str
) -> None:
    sample = sample_of(replay(loads, captured, usual=USUAL, typical_us=[typical]))
    assert (sample["cause"], sample["usual_us"]) == (cause, 210)
    assert words in sample["text"]


def test_where_usual_ones_were_not_loaded_it_is_compared_with_those_of_the_capture() -> None:
    sample = sample_of(replay([500, 221, 222, 223], 305, typical_us=[190]))
    assert (sample["cause"], "usual_us" in sample) == ("contention", False)
    assert "alone it is fast, also with its files from storage" in sample["text"]


def test_a_sample_that_is_slow_in_itself_names_what_takes_the_time() -> None:
    sample = sample_of(replay([500, 100, 110, 300], 130))
    assert sample["stage"] == "decode::PIL.Image"
    assert "75.0% in decode::PIL.Image" in sample["text"]


def test_its_line_is_named_where_stacks_were_sampled() -> None:
    builder = replay([500, 1000, 1000, 300], 1000)
    times = range(0, 2000, 10)
    builder.stacks(times, [[("main", "/train.py", 1), ("Photos.__getitem__", "/photos.py", 15)]] * len(times))
    assert sample_of(builder)["line"] == "Photos.__getitem__ at photos.py:15"


def test_the_terminal_shows_them_above_all_else() -> None:
    text = as_text(as_report([analyse(replay([500, 10, 11, 90], 100).trace()).capture]))
    assert "Storage: only its files make it slow" in text
    assert text.index("Replayed samples") < text.index("Stages")


def test_columns_of_different_lengths_are_left_out_and_said() -> None:
    capture = as_dict(as_report([analyse(replay([500, 10, 11, 90], 100, files=[]).trace()).capture]))["captures"][0]
    assert capture["replayed_samples"] == []
    assert "bad_replayed" in [note["code"] for note in capture["diagnostics"]]


def summary_of(builder: TraceBuilder) -> list[str]:
    evidence = as_dict(as_report([analyse(builder.trace()).capture]))["captures"][0]["verdict"]["evidence"]
    return [fact["text"] for fact in evidence if fact["kind"] == "replayed_samples"]


@pytest.mark.parametrize(
    ("loads", "captured", "said"),
    [
        ([500, 100, 110, 300], 130.0, "1 replayed sample: 1 slow in itself (index 7)"),
        ([500, 10, 11, 90], 100.0, "1 replayed sample: 1 storage (index 7)"),
        ([500, 10, 11, 12], 100.0, "1 replayed sample: 1 contention"),
    ],
)
def test_the_answer_of_a_replay_stands_below_its_verdict(loads: list[float], captured: float, said: str) -> None:
    builder = replay(loads, captured)
    assert summary_of(builder) == [said]
    assert f"\n  {said}\n" in as_text(as_report([analyse(builder.trace()).capture]))


def test_samples_of_no_capture_have_no_answer() -> None:
    assert summary_of(replay([500, 100, 110, 300], None)) == []


def test_many_samples_of_one_cause_are_a_number_and_the_first() -> None:
    assert replay_sentences._first([1, 2, 3]) == "1, 2 and 3"
    assert replay_sentences._first([1, 2, 3, 4, 5]) == "1, 2, 3 and 2 more"
