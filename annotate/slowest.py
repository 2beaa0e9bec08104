"""The slowest samples of a capture, and what the report says of samples that were replayed.

Analysis is another package's: it is asked as a program, and answers in the JSON that its report is documented to have.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, TypedDict

_ENOUGH = 10
"""Stacks sampled in a sample, from which it can be said for how much of it a read was blocked."""


class Facts(TypedDict, total=False):
    """What a capture says of a sample, as in `capture.single_samples.Captured`."""

    duration_us: float
    typical_us: float
    read_us: float
    storage_share: float
    line: str


class Named(NamedTuple):
    """Samples to be loaded again, by dataset index."""

    samples: dict[int, Facts]
    """Slowest first."""
    usual: list[int]
    """Samples that took in those captures what most do."""


def slow_samples(path: str) -> Named:
    """Of a trace file, or of all in a folder.

    Raises:
        ValueError: it cannot be analysed; the text is the line for the user.
    """
    found: dict[int, Facts] = {}
    captures = [capture for capture in _captures(path) if capture.get("mode") == "train"]
    samples = [(sample, capture) for capture in captures for sample in capture.get("slow_samples", ())]
    for sample, capture in sorted(samples, key=lambda each: -float(each[0]["duration_us"])):
        if sample["index"] >= 0:
            found.setdefault(int(sample["index"]), _facts(sample, capture))
    return Named(found, [int(index) for capture in captures for index in capture.get("usual_samples", ())])


def _facts(sample: dict[str, Any], capture: dict[str, Any]) -> Facts:
    facts: Facts = {"duration_us": float(sample["duration_us"])}
    rows = [row for row in capture.get("stages", ()) if row["kind"] == "sample"]
    if rows:
        facts["typical_us"] = float(max(rows, key=lambda row: row["count"])["p50_us"])
    if str(sample.get("stage", "")).startswith("read::"):
        facts["read_us"] = float(sample["stage_us"])
    if sample.get("storage_share") is not None:
        facts["storage_share"] = float(sample["storage_share"])
    same = ("index", "worker", "batch", "epoch")
    for detail in capture.get("stage_details", ()):
        for call in detail["slowest"] if detail["name"].startswith("sample::") else ():
            if call["line"] and all(call.get(key) == sample[key] for key in same):
                facts["line"] = str(call["line"])
                if "read_us" in facts and call["samples"] >= _ENOUGH:
                    facts.setdefault("storage_share", call["blocked_samples"] / call["samples"])
    return facts


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
    known = [(sample[key] / 1000, name) for name, key in named if sample.get(key) is not None]
    return ", ".join(f"{ms:,.0f} ms {name}" if ms >= 1000 else f"{ms:.3g} ms {name}" for ms, name in known)


def _captures(path: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tb_dataplugin", "report", "--format", "json", "--", os.fspath(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        captures: list[dict[str, Any]] = json.loads(done.stdout)["captures"]
    except (ValueError, KeyError):
        reason = done.stderr.strip().splitlines()[-1:] or ["the report came back empty"]
        raise ValueError(reason[0].removeprefix("tb-dataplugin: ")) from None
    return captures
