"""`pin_memory=True`: batches arrive in the pinning thread, are pinned there, and only then reach the loop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.utils.data import DataLoader

import annotate
from benchmarks.on_device_checks.captures import kept_row, newest, report_on
from benchmarks.on_device_checks.pipeline import Photos, Plan, Sample, digest, seed_all, waited_for_cpu
from benchmarks.on_device_checks.rows import Row, close, not_possible, same
from benchmarks.on_device_checks.setting import Setting
from benchmarks.on_device_checks.truth import Span, overlap
from tb_dataplugin.report.report_pb2 import Capture

PIN_S: Final = 0.02
"""Planted in the pinning of each batch; more than building one takes, so that the loop waits for it."""
WAIT, WARM_UP = 1, 3


class Parcel:
    """A batch that pins itself slowly, and notes when: torch's pinning thread calls `pin_memory`."""

    def __init__(self, images: torch.Tensor) -> None:
        self.images = images
        self.made = time.perf_counter()
        self.pinned = Span(0.0, 0.0)

    def pin_memory(self) -> Parcel:
        begin = time.perf_counter()
        time.sleep(PIN_S)
        self.images = self.images.pin_memory()
        self.pinned = Span(begin, time.perf_counter())
        return self


def collate(samples: list[Sample]) -> Parcel:
    return Parcel(torch.stack([image for image, _ in samples]))


@dataclass(frozen=True, slots=True)
class Received:
    """`wait`: of the loop for this batch; `moved`: from its worker having made it to the loop having it; `late_s`: how
    long the loop has waited for a CPU since it began.
    """

    wait: Span
    moved: Span
    pinned: Span
    late_s: float
    is_pinned: bool
    digest: str


def run(setting: Setting, part: str) -> Iterator[Row]:
    del part
    count = WAIT + WARM_UP + setting.active
    plan = Plan(count, image=(3, 128, 128))
    without = list(_received(_loader(plan, marked=False), None))
    folder = setting.work / "pinning"
    loader = _loader(plan, marked=True)
    with annotate.profile(folder, wait=WAIT, warmup=WARM_UP, active=setting.active) as prof:
        with_us = list(_received(loader, prof))
    path = newest(folder)
    yield from kept_row(path, setting.captures, "pinned_workers1")
    yield same("pinning: batches", _together(without), _together(with_us), "not the batches of a run without us")
    yield same("pinning: batches in pinned memory", count, sum(one.is_pinned for one in with_us))
    yield from _rows(with_us[WAIT + WARM_UP :], report_on(path))


def _loader(plan: Plan, marked: bool) -> DataLoader[Any]:
    dataset = Photos(plan, marked)
    loader: DataLoader[Any] = DataLoader(
        annotate.dataset(dataset) if marked else dataset,
        plan.batch_size,
        num_workers=1,
        pin_memory=True,
        multiprocessing_context="fork",
        collate_fn=annotate.collate(collate) if marked else collate,
    )
    return annotate.loader(loader) if marked else loader


def _received(loader: DataLoader[Any], prof: Any) -> Iterator[Received]:
    seed_all(3)
    begun = time.perf_counter()
    for parcel in loader:
        got = time.perf_counter()
        parcel.images.to("cuda", non_blocking=True)
        torch.cuda.synchronize()
        images = parcel.images
        yield Received(
            wait=Span(begun, got),
            moved=Span(parcel.made, got),
            pinned=parcel.pinned,
            late_s=float(waited_for_cpu()),
            is_pinned=images.is_pinned(),
            digest=digest(images),
        )
        if prof is not None:
            prof.step()
        begun = time.perf_counter()


def _together(received: list[Received]) -> str:
    return f"{len(received)} batches, {digest(torch.tensor(list(''.join(one.digest for one in received).encode())))}"


def _rows(received: list[Received], capture: Capture) -> Iterator[Row]:
    count = len(received)
    floor, blur = 0.5 * count, 1e3 * (received[-1].late_s - received[0].late_s)
    arrived = [batch for batch in capture.batches if batch.HasField("arrived_us") and batch.HasField("consumed_us")]
    steps = {batch.number: batch for batch in arrived}
    known = [(one, steps.get(number + WAIT + WARM_UP)) for number, one in enumerate(received)]
    both = [(one, batch) for number, (one, batch) in enumerate(known) if batch is not None]
    yield same("pinning: batches with an arrival", count, len(both), "some have none")
    truth = 1e3 * sum(one.wait.end - one.pinned.begin for one, _ in both)
    ours = sum((batch.consumed_us - batch.arrived_us) / 1e3 for _, batch in both)
    yield close("pinning: arrival to the loop", truth, ours, "ms", 0.05, floor, blur)
    yield from _transfer_rows(received, dict(capture.loader.wait_by_stage_us), floor, blur)
    if not capture.devices or not capture.devices[0].HasField("h2d"):
        yield not_possible("pinning: copies", "the capture has no copy to the device")
        return
    yield same("pinning: copies from pinned memory", count, capture.devices[0].h2d.pinned)


def _transfer_rows(received: list[Received], by_stage_us: dict[str, float], floor: float, blur: float) -> Iterator[Row]:
    parts = {name: us / 1e3 for name, us in by_stage_us.items() if name.startswith("transfer")}
    moving = 1e3 * sum(overlap([one.wait], [one.moved]) for one in received)
    pinning = 1e3 * sum(overlap([one.wait], [one.pinned]) for one in received)
    yield close("pinning: data wait in transfer", moving, sum(parts.values()), "ms", 0.1, floor, blur)
    if "transfer::pin" in parts:
        yield close("pinning: data wait in transfer::pin", pinning, parts["transfer::pin"], "ms", 0.1, floor, blur)
    else:
        found = ", ".join(sorted(parts)) or "none"
        yield not_possible("pinning: data wait in transfer::pin", f"parts of the transfer in this report: {found}")
