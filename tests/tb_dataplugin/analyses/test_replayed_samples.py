from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import analyse, as_report
from tests.trace_builder import TraceBuilder


def replay(
    loads: Sequence[float], captured: float | None, *, cold: bool = True, delay: float = 0, **further: Any
) -> TraceBuilder:
    """A replay of sample 7, whose loads take so long; the last one is cold."""
    named = {"index": [7], "captured_us": [captured], "cold": [cold], "files": [["/data/7.jpg"]]} | further
    spent = {"cpu_us": 1, "run_delay_us": delay}
    builder = TraceBuilder().annotated("replay", loaders=[{}], replayed=named, training_thread=spent)
    builder.step(0, sum(loads) + len(loads))
    ends = itertools.accumulate(duration + 1 for duration in loads)
    for duration, end in zip(loads, ends, strict=True):
        builder.stage("sample::Photos", end - duration - 1, duration)
        builder.events[-1]["args"] = {"index": 7, "cpu_us": 1}
        builder.stage("decode::PIL.Image", end - duration - 1, duration * 0.75)
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
        ([500, 5, 5, 150], {"typical_us": [8], "read_us": [270], "storage_share": [0.0]}, "contention", "Contention"),
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
