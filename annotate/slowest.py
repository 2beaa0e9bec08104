"""The slowest samples of a capture, and what the report says of samples that were replayed.

Analysis is another package's: it is asked as a program, and answers in the JSON that its report is documented to have.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

Capture = dict[str, Any]

_OF_DATASET = ("dataset", "sampler_length")
_TELL_APART = (*_OF_DATASET, "batch_size", "num_workers")
"""What tells one DataLoader from another; what may be changed for a replay comes last."""

_SETTINGS = {"dataset": "dataset", "sampler_length": "samples in an epoch:", "batch_size": "batch_size"}
_MOSTLY = 0.5
"""Of a sample's time, from which the stage that has it is why it was slow."""
_ENOUGH = 10
"""Stacks sampled in a sample, from which it can be said for how much of it a read was blocked."""


class Facts(TypedDict, total=False):
    """What a capture says of a sample, as in `capture.single_samples.Captured`."""

    duration_us: float
    typical_us: float
    read_us: float
    storage_share: float
    line: str
    stage: str
    differs: list[str]


class Named(NamedTuple):
    """Samples to be loaded again, by dataset index."""

    samples: dict[int, Facts]
    """Slowest first."""
    usual: list[int]
    """Samples that took in those captures what most do."""
    doubt: str = ""
    """Why they may be another DataLoader's."""


def slow_samples(captures: Sequence[Capture], like: Mapping[str, Any]) -> Named:
    """Of the DataLoader in each capture that is `like` this one (`LoaderMetadata`)."""
    found: dict[int, Facts] = {}
    usual: list[int] = []
    doubts: list[str] = []
    samples: list[tuple[dict[str, Any], Facts]] = []
    for capture in captures:
        loader, doubt = _loader_like(capture.get("sample_loaders", ()), like)
        doubts.append(doubt)
        usual += [int(index) for index in loader.get("usual_samples", ())]
        mine = [one for one in capture.get("slow_samples", ()) if one["loader"] == loader.get("loader")]
        differs = _differs(loader, like, capture)
        samples += [(sample, {**_facts(sample, capture, loader), "differs": differs}) for sample in mine]
    for sample, facts in sorted(samples, key=lambda each: -float(each[0]["duration_us"])):
        if sample["index"] >= 0:
            found.setdefault(int(sample["index"]), facts)
    return Named(found, usual, next(filter(None, doubts), ""))


def _loader_like(loaders: Sequence[dict[str, Any]], like: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The one with the same class of dataset, length and settings, as far as any has these; of several the training
    loop's. And why it may be another one.
    """
    left = [one for one in loaders if one["loader"] >= 0]
    if not left:
        return {}, ""
    for key in _TELL_APART:
        left = [one for one in left if one.get(key) == like.get(key)] or left
    loader = next((one for one in left if one["main"]), left[0])
    if not loader["name"]:  # there is no other
        return loader, ""
    other = [key for key in _OF_DATASET if loader.get(key) and like.get(key) and loader[key] != like[key]]
    if "dataset" in other:
        return {}, f"The capture has no slow samples of a DataLoader of {like['dataset']}"
    whose = ", the training loop's" if loader["main"] else ""
    mine = f"these are samples of {loader['name']}{whose}"
    if other:
        return loader, f"The capture has no slow samples of a DataLoader with this dataset class and length: {mine}"
    if len(left) > 1:
        return loader, f"The capture has {len(left)} DataLoaders with this dataset class, length and settings: {mine}"
    return loader, ""


def _differs(loader: Mapping[str, Any], like: Mapping[str, Any], capture: Capture) -> list[str]:
    """``["batch_size 16 (8 in the capture)"]``: settings that make it doubtful that both are one DataLoader.

    Not the number of DataLoader workers, which decides nothing in a replay, nor how many of the samples a rank has.
    """
    keys = [key for key in _SETTINGS if key != "sampler_length" or capture.get("world_size", 1) <= 1]
    both = [(key, like.get(key), loader.get(key)) for key in keys]
    return [f"{_SETTINGS[key]} {new} ({old} in the capture)" for key, new, old in both if new and old and new != old]


def _facts(sample: dict[str, Any], capture: Capture, loader: dict[str, Any]) -> Facts:
    facts: Facts = {"duration_us": float(sample["duration_us"]), "typical_us": float(loader["p50_us"])}
    if sample.get("stage") and sample["stage_us"] >= _MOSTLY * sample["duration_us"]:
        facts["stage"] = str(sample["stage"])
    if str(sample.get("stage", "")).startswith("read::"):
        facts["read_us"] = float(sample["stage_us"])
    if sample.get("storage_share") is not None:
        facts["storage_share"] = float(sample["storage_share"])
    same = ("index", "loader", "worker", "batch", "epoch")
    for detail in capture.get("stage_details", ()):
        for call in detail["slowest"] if detail["name"].startswith("sample::") else ():
            if call["line"] and all(call.get(key) == sample[key] for key in same):
                facts["line"] = str(call["line"])
                if "read_us" in facts and call["samples"] >= _ENOUGH:
                    facts.setdefault("storage_share", call["blocked_samples"] / call["samples"])
    return facts


def train_captures(path: str) -> list[Capture]:
    """What the report says of a trace file, or of all in a folder, without replays.

    Raises:
        ValueError: it cannot be analysed; the text is the line for the user.
    """
    return [capture for capture in _captures(path) if capture.get("mode") == "train"]


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
