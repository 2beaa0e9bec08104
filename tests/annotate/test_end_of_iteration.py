"""The fetch with which an iterable dataset ends is no sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from capture_helpers import load
from torch.utils.data import DataLoader, IterableDataset

import annotate

ITEMS, BATCH, EPOCHS = 5, 2, 4


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        yield from range(ITEMS)
        with annotate.stage("read", "close"):
            pass


@pytest.mark.parametrize("workers", [0, 1])
def test_it_has_a_span_of_its_own(workers: int, tmp_path: Path) -> None:
    loader: DataLoader[Any] = annotate.loader(DataLoader(Stream(), batch_size=BATCH, num_workers=workers))
    with annotate.profile(tmp_path, wait=1, warmup=2, active=3 * (EPOCHS - 1)) as prof:
        for _ in range(EPOCHS):
            for _ in loader:
                prof.step()
    events = [event for event in load(prof.trace_files[0])["traceEvents"] if event.get("ph") == "X"]
    counts = Counter(event["name"] for event in events)
    ends = [event for event in events if event["name"] == "user::end of Stream"]
    assert len(ends) in (EPOCHS - 1, EPOCHS) and counts["read::close"] == len(ends)
    samples = [event for event in events if event["name"] == "sample::Stream"]
    assert samples and not any(_is_in(close, sample) for close in ends for sample in samples)
    assert all(sample["args"]["cpu_us"] >= 0 for sample in samples + ends)
    if not workers:
        assert len(samples) == ITEMS * (EPOCHS - 1)


def _is_in(inner: dict[str, Any], outer: dict[str, Any]) -> bool:
    begin, end = inner["ts"], inner["ts"] + inner["dur"]
    same = (inner["pid"], inner["tid"]) == (outer["pid"], outer["tid"])
    return bool(same and outer["ts"] <= begin and end <= outer["ts"] + outer["dur"])
