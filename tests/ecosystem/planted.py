"""A pipeline in which one transform is slow, and what the report says of a run with it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.utils.data import Dataset

import tb_dataplugin


class Slow:
    """The planted stage."""

    def __call__(self, x: Any) -> Any:
        time.sleep(0.01)
        return x


class Quick:
    def __call__(self, x: Any) -> Any:
        time.sleep(0.0003)
        return x


class Chain:
    """A user's own Compose."""

    def __init__(self) -> None:
        self.transforms = [Quick(), Slow()]

    def __call__(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x


class Rows(Dataset[Any]):
    """Items as HF's Trainer and Lightning take them."""

    def __init__(self, size: int = 96) -> None:
        self.transform = Chain()
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        x = torch.full((4,), float(index % 7)) + torch.rand(4)
        return {"x": self.transform(x), "labels": torch.tensor(index % 2)}


class Said(NamedTuple):
    """What the report of a run's first capture says."""

    captures: int
    leading: str
    """The stage with most of the data wait."""
    finding: str
    """That of the first finding."""
    steps: int
    waits: int
    stages: list[str]
    workers: int
    verdict: str


def said(folder: str | Path) -> Said:
    """Of the traces in `folder`; no capture is a `Said` without names."""
    if not list(Path(folder).rglob("*.pt.trace.json*")):
        return Said(0, "", "", 0, 0, [], 0, "")
    report = tb_dataplugin.read_report(folder)
    capture = report[0]
    by_stage = capture.loader.wait_by_stage_us
    return Said(
        captures=len(report),
        leading=max(by_stage, key=by_stage.__getitem__) if by_stage else "",
        finding=capture.findings[0].stage if capture.findings else "",
        steps=capture.steps.count,
        waits=capture.loader.wait_count,
        stages=sorted({f"{stage.kind}::{stage.label}" for stage in capture.stages}),
        workers=len(capture.workers),
        verdict=capture.verdict.sentence,
    )
