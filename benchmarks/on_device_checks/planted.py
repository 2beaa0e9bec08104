"""Delays planted in the pipeline and in the loop: idle time, its cause and its stage against the truth."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

import annotate
from benchmarks.on_device_checks.captures import kept_row, newest, report_on
from benchmarks.on_device_checks.network import Trainer
from benchmarks.on_device_checks.pipeline import STAGES, Batch, Place, Plan, make_loader, seed_all, waited_for_cpu
from benchmarks.on_device_checks.rows import Row, between, close, not_possible, same
from benchmarks.on_device_checks.setting import DeviceKind, Setting
from benchmarks.on_device_checks.truth import DeviceClock, Span, Step, Truth, mark, overlap, truth_of
from tb_dataplugin.report.report_pb2 import Capture

WAIT, WARM_UP = 1, 2
SMALL: Final = (3, 64, 64)
LARGE: Final = (3, 1024, 1024)
"""100 MB in a batch of eight: a copy from pageable memory takes 10 ms or more."""
KEPT: Final = ("transform", "item", "pageable")
MOST_KEPT: Final = 8
"""Steps of a capture that is kept, so that it stays small."""
DATA: Final[dict[str, Place]] = {"decode": "decode", "transform": "transform", "collate": "collate"}
CAUSES: Final = {
    "decode": "data_wait",
    "transform": "data_wait",
    "collate": "data_wait",
    "host": "host",
    "item": "host",
    "pageable": "h2d",
}
SHARE, FLOOR_MS = 0.05, 0.5
"""Allowed: of the truth, and per step. Between kernels that were queued the device has gaps of 1 to 2 us that no event
shows: with a hundred kernels some 0.2 ms in a step.
"""


@dataclass(frozen=True, slots=True)
class Scenario:
    """`delay_s`: per batch. `workers`: DataLoader workers."""

    name: str
    delay_s: float
    workers: int
    image: tuple[int, int, int] = SMALL

    @property
    def place(self) -> Place:
        return DATA.get(self.name, "")


@dataclass(frozen=True, slots=True)
class Seen:
    """A run: its steps (all of them), which of them were recorded, the device's clock, the capture."""

    steps: list[Step]
    recorded: slice
    clock: DeviceClock | None
    path: Path
    capture: Capture

    @property
    def blur_ms(self) -> float:
        """How much the clocks of the recorded steps may be late."""
        first, last = self.steps[self.recorded][0], self.steps[self.recorded][-1]
        return 1e3 * (last.late_s - first.late_s + last.data_late_s - first.data_late_s)

    @property
    def inner(self) -> slice:
        """Recorded steps whose beginning and end the user's clocks know as well as the capture."""
        return slice(self.recorded.start + 1, self.recorded.stop - 1)


def run(setting: Setting, part: str) -> Iterator[Row]:
    trainer = Trainer(setting.device)
    plan = Plan(1, image=LARGE if part == "pageable" else SMALL)
    step_s = trainer.warm_up(torch.randn(plan.batch_size, *SMALL)) if setting.device == "cuda" else 0.0
    workers = 0 if part not in ("transform", "collate") else 1
    delay_s = 2 * step_s + 0.024
    seen = observe(setting, trainer, Scenario(part, delay_s, workers, plan.image))
    if part in KEPT:
        yield from kept_row(seen.path, setting.captures, f"planted_{part}_{setting.device}")
    if part in DATA:
        yield from _data_rows(setting.device, DATA[part], seen)
    if seen.clock is not None:
        yield from _device_rows(part, seen, seen.clock)


def observe(setting: Setting, trainer: Trainer, scenario: Scenario) -> Seen:
    """Run the loop under a capture."""
    seed_all(1)
    active = min(setting.active, MOST_KEPT) if scenario.name in KEPT else setting.active
    count = WAIT + WARM_UP + active
    per_item = scenario.delay_s if scenario.place == "collate" else scenario.delay_s / 8
    plan = Plan(count, image=scenario.image, place=scenario.place, delay_s=per_item if scenario.place else 0.0)
    loader = make_loader(plan, scenario.workers, marked=True)
    folder = setting.work / f"planted-{scenario.name}"
    clock = DeviceClock() if setting.device == "cuda" else None
    steps = list[Step]()
    with annotate.profile(folder, wait=WAIT, warmup=WARM_UP, active=active) as prof:
        begun = time.perf_counter()
        for batch in loader:
            step = Step(begun, time.perf_counter())
            train(trainer, scenario, batch, step)
            steps.append(step)
            step.ended = time.perf_counter()
            prof.step()
            begun = time.perf_counter()
    if clock is not None:
        clock.close()
    path = newest(folder)
    return Seen(steps, slice(WAIT + WARM_UP, count), clock, path, report_on(path))


def train(trainer: Trainer, scenario: Scenario, batch: Batch, step: Step) -> None:
    """The body of the user's loop."""
    step.in_data = [Span(*pair) for pair in batch["spans"].tolist() if pair[1]]
    step.late_s, step.data_late_s = float(waited_for_cpu()), float(batch["late"])
    images = batch["images"]
    if trainer.device == "cpu":
        return  # the loop always waits
    images = _copied(images, step)
    if scenario.name == "pageable":
        images = images[:, :, :64, :64].contiguous()
    step.gated = mark()
    trainer.gate()
    step.open = mark()
    loss = trainer.step(images)
    step.done = mark()
    step.launched = time.perf_counter()
    if scenario.name in ("item", "pageable"):
        loss.item()  # with `pageable` it has the copy begin on an idle device
        step.synced = Span(step.launched, time.perf_counter())
    if scenario.name in ("host", "item"):
        begin = time.perf_counter()
        time.sleep(scenario.delay_s)  # logging, a metric, a checkpoint
        step.planted = Span(begin, time.perf_counter())


def _copied(images: torch.Tensor, step: Step) -> torch.Tensor:
    first, begin = mark(), time.perf_counter()
    images = images.to("cuda")
    step.copied = Span(begin, time.perf_counter())
    step.copy = (first, mark())
    return images


def _data_rows(device: DeviceKind, place: Place, seen: Seen) -> Iterator[Row]:
    """What needs no device: the data wait, and the stage that it is passed on to."""
    name, steps = f"planted, {place}", seen.steps[seen.recorded]
    waits = [step.wait for step in steps]
    floor, blur = (FLOOR_MS if device == "cuda" else 1.0) * len(steps), seen.blur_ms
    loader = seen.capture.loader
    wait_ms = 1e3 * sum(span.seconds for span in waits)
    yield close(f"{name}: data wait", wait_ms, loader.wait_us / 1e3, "ms", SHARE, floor, blur)
    by_stage = dict(loader.wait_by_stage_us)
    first = max(by_stage, key=lambda stage: by_stage[stage], default="nothing")
    yield same(f"{name}: stage with most data wait", STAGES[place], first, "another stage has more")
    low = sum(overlap(step.in_data, [step.wait]) for step in steps)
    high = sum(_at_most(step, step.wait.seconds) for step in steps)
    ours = by_stage.get(STAGES[place], 0.0) / 1e3
    yield between(f"{name}: data wait of its stage", 1e3 * low, 1e3 * high, ours, "ms", 0.02, floor, blur)


def _at_most(step: Step, waited_s: float) -> float:
    """Of waiting for a batch, what its delay can have caused, also by what of it lies before the wait: without the
    delay the batch had been there so much earlier. What lies within the wait is caused by it at least.
    """
    return min(waited_s, sum(span.seconds for span in step.in_data))


def _device_rows(part: str, seen: Seen, clock: DeviceClock) -> Iterator[Row]:
    name, capture = f"planted, {part}", seen.capture
    if not capture.devices or len(capture.steps.items) != len(seen.steps[seen.recorded]):
        found = f"{len(capture.devices)} devices and {len(capture.steps.items)} steps"
        yield same(f"{name}: device and steps are in the report", "yes", "no", f"it has {found}")
        return
    truth = truth_of(seen.steps, seen.inner, clock)
    steps = seen.steps[seen.inner]
    floor, blur = FLOOR_MS * len(steps), seen.blur_ms
    if truth.late > len(steps) // 10:
        reason = f"launching was slower than the kernels that hide it in {truth.late} of {len(steps)} steps: no truth"
        yield not_possible(f"{name}: device idle", reason)
        return
    idle_ms, causes = _ours(capture)
    if part == "pageable":
        yield from _pageable_rows(name, capture, seen)
    else:
        yield close(f"{name}: device idle", 1e3 * truth.idle_s, idle_ms, "ms", SHARE, floor, blur)
        yield from _cause_rows(part, seen, truth, causes)
    yield from _stage_rows(name, part, seen, clock)
    if part == "item":
        yield _finding_row(name, capture, "sync_bound")


def _ours(capture: Capture) -> tuple[float, dict[str, float]]:
    """Idle milliseconds of the inner steps, in all and by cause."""
    causes: dict[str, float] = {}
    for step in capture.steps.items[1:-1]:
        for field, value in step.idle_by_cause_us.ListFields():
            causes[field.name] = causes.get(field.name, 0.0) + value / 1e3
    return sum(causes.values()), causes


def _cause_rows(part: str, seen: Seen, truth: Truth, causes: dict[str, float]) -> Iterator[Row]:
    name, steps = f"planted, {part}", seen.steps[seen.inner]
    floor, blur = FLOOR_MS * len(steps), seen.blur_ms
    waited = 1e3 * truth.during(step.wait for step in steps)
    planted = 1e3 * truth.during(step.planted for step in steps)
    synced = 1e3 * truth.during(step.synced for step in steps)
    yield close(f"{name}: idle, data wait", waited, causes.get("data_wait", 0.0), "ms", SHARE, floor, blur)
    if part in ("host", "item"):
        yield close(f"{name}: idle, host", planted, causes.get("host", 0.0), "ms", SHARE, floor, blur)
    if part == "item":
        yield close(f"{name}: idle, sync", synced, causes.get("sync", 0.0), "ms", SHARE, floor, blur)
    if part in CAUSES:
        largest = max(causes, key=lambda cause: causes[cause], default="nothing")
        yield same(f"{name}: largest cause", CAUSES[part], largest, "another cause has more")


def _pageable_rows(name: str, capture: Capture, seen: Seen) -> Iterator[Row]:
    """Staging is idle time, copying is not, and no event stands between them: their sum is known."""
    steps = seen.steps[seen.recorded]
    called = 1e3 * sum(step.copied.seconds for step in steps)
    device = capture.devices[0]
    idle = device.idle_by_cause_us.h2d / 1e3
    copied = device.h2d.copy_us / 1e3
    yield close(
        f"{name}: copying and idle in copies", called, idle + copied, "ms", 0.1, FLOOR_MS * len(steps), seen.blur_ms
    )
    yield same(f"{name}: copies from pageable memory", len(steps), device.h2d.pageable)
    yield same(f"{name}: copies that block", len(steps), device.h2d.blocking)
    size = 4.0 * 8 * LARGE[0] * LARGE[1] * LARGE[2] * len(steps)
    yield close(f"{name}: bytes copied", size / 1e6, device.h2d.bytes / 1e6, "MB", 0.0, 0.001)
    yield same(f"{name}: a finding names it", "unpinned_copies or blocking_copies", _copy_rule(capture))


def _copy_rule(capture: Capture) -> str:
    wanted = {"unpinned_copies", "blocking_copies"}
    found = [finding.rule for finding in capture.findings]
    return "unpinned_copies or blocking_copies" if wanted & set(found) else ", ".join(found) or "none"


def _stage_rows(name: str, part: str, seen: Seen, clock: DeviceClock) -> Iterator[Row]:
    """The stage of the idle time that waits for data, over the whole window."""
    if part not in DATA:
        return
    truth = truth_of(seen.steps, seen.recorded, clock)
    steps = seen.steps[seen.recorded]
    low = sum(
        overlap([Span(max(span.begin, step.begun), min(span.end, step.got)) for span in step.in_data], truth.idle)
        for step in steps
    )
    high = sum(_at_most(step, truth.during([step.wait])) for step in steps)
    by_stage = dict(seen.capture.devices[0].idle_by_stage_us)
    first = max(by_stage, key=lambda stage: by_stage[stage], default="nothing")
    wanted = STAGES[DATA[part]]
    yield same(f"{name}: stage with most idle time", wanted, first, "another stage has more")
    ours = by_stage.get(wanted, 0.0) / 1e3
    floor = FLOOR_MS * len(steps)
    row = f"{name}: idle time of its stage"
    yield between(row, 1e3 * low, 1e3 * high, ours, "ms", 0.02, floor, seen.blur_ms)


def _finding_row(name: str, capture: Capture, rule: str) -> Row:
    rules = [finding.rule for finding in capture.findings]
    return same(f"{name}: a finding names it", rule, rule if rule in rules else ", ".join(rules) or "none")
