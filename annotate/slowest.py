"""The slowest samples of a capture, and what the report says of samples that were replayed.

Analysis is another package's: it is asked as a program, and answers in the JSON that its report is documented to have.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any


def slow_samples(path: str) -> dict[int, float | None]:
    """Dataset index -> microseconds, of the slowest samples of a trace file, or of all in a folder; slowest first.

    Raises:
        ValueError: it cannot be analysed; the text is the line for the user.
    """
    found: dict[int, float | None] = {}
    samples = [
        (float(sample["duration_us"]), int(sample["index"]))
        for capture in _captures(path)
        if capture.get("mode") == "train"
        for sample in capture.get("slow_samples", ())
    ]
    for duration, index in sorted(samples, reverse=True):
        if index >= 0:
            found.setdefault(index, duration)
    return found


def lines_about(path: str) -> Iterator[str]:
    """What the report says of each replayed sample in a trace, slowest first; where it cannot be had, how to ask."""
    try:
        samples = [sample for capture in _captures(path) for sample in capture.get("replayed_samples", ())]
    except ValueError:
        samples = []
    for sample in samples:
        yield f"sample {sample['index']}, {_times(sample)}. {sample['text']}"
        yield from (f"  {file}" for file in sample["files"])
    yield f"The whole report: tb-dataplugin report {path}"


def _times(sample: dict[str, Any]) -> str:
    named = (("in training", "captured_us"), ("alone", "warm_us"), ("with its files from storage", "cold_us"))
    return ", ".join(f"{sample[key] / 1000:.3g} ms {name}" for name, key in named if sample.get(key) is not None)


def _captures(path: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tb_dataplugin", "report", "--format", "json", "--", os.fspath(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        captures: list[dict[str, Any]] = json.loads(done.stdout)["captures"]
    except (ValueError, KeyError):
        reason = done.stderr.strip().splitlines()[-1:] or ["the report came back empty"]
        raise ValueError(reason[0].removeprefix("tb-dataplugin: ")) from None
    return captures
