"""DataLoader workers that are forked and spawned while a profiler is active: the batches are those of a run without us.

The workers of the first epoch begin while the profiler prepares, those of the second while it records. On a device CUDA
is in use before, as in a program that builds its model first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import torch
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader

import annotate
from benchmarks.on_device_checks.captures import newest, report_on
from benchmarks.on_device_checks.network import Trainer
from benchmarks.on_device_checks.pipeline import Plan, digest, make_loader, seed_all
from benchmarks.on_device_checks.rows import Row, not_possible, same
from benchmarks.on_device_checks.setting import Setting

WITHOUT: Final = " without us"


def run(setting: Setting, part: str) -> Iterator[Row]:
    start = part.removesuffix(WITHOUT)
    noted = setting.work / f"workers-{start}.json"
    plan = Plan(10, batch_size=4, image=(3, 64, 64))
    trainer = Trainer(setting.device)
    if setting.device == "cuda":
        trainer.warm_up(torch.randn(4, *plan.image))
    if part.endswith(WITHOUT):
        noted.write_text(json.dumps(_plain(setting, trainer, plan, start)))
        return
    found, spans, workers = _recorded(setting, trainer, plan, start)
    name = f"workers, {start}"
    if noted.exists():
        wanted = json.loads(noted.read_text())
        yield same(f"{name}: batches", _together(wanted), _together(found), "not the batches of a run without us")
    else:
        yield not_possible(f"{name}: batches", "the run without us did not end")
    yield same(f"{name}: a span for each sample in the report", "yes", "yes" if spans else "no", "it has none")
    processes = _workers(setting) * _epochs(setting)
    yield same(f"{name}: worker processes in the report", processes, workers, "some did not record")


def _plain(setting: Setting, trainer: Trainer, plan: Plan, start: str) -> list[str]:
    """Under torch's profiler alone."""
    loader = make_loader(plan, _workers(setting), marked=False, start=start)
    steps = schedule(wait=0, warmup=1, active=_epochs(setting) * plan.batches - 1, repeat=1)
    with profile(activities=_activities(trainer), schedule=steps) as prof:
        return _digests(loader, trainer, prof, _epochs(setting))


def _recorded(setting: Setting, trainer: Trainer, plan: Plan, start: str) -> tuple[list[str], int, int]:
    """Batches, recorded samples, and worker processes that the report has."""
    loader = make_loader(plan, _workers(setting), marked=True, start=start)
    folder = setting.work / f"workers-{start}"
    with annotate.profile(folder, wait=0, warmup=1, active=_epochs(setting) * plan.batches - 1) as prof:
        found = _digests(loader, trainer, prof, _epochs(setting))
    capture = report_on(newest(folder))
    samples = sum(stage.count for stage in capture.stages if stage.kind == "sample")
    return found, samples, sum(len(worker.pids) for worker in capture.workers)


def _digests(loader: DataLoader[Any], trainer: Trainer, prof: Any, epochs: int) -> list[str]:
    """A digest of each batch, in order."""
    seed_all(5)
    found = []
    for _ in range(epochs):
        for batch in loader:
            found.append(digest(batch["images"]))
            if trainer.device == "cuda":
                trainer.step(batch["images"].to("cuda"))
            prof.step()
    if trainer.device == "cuda":
        torch.cuda.synchronize()
    return found


def _workers(setting: Setting) -> int:
    return 1 if setting.quick else 2


def _epochs(setting: Setting) -> int:
    return 1 if setting.quick else 2


def _activities(trainer: Trainer) -> list[ProfilerActivity]:
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    return both if trainer.device == "cuda" else both[:1]


def _together(digests: list[str]) -> str:
    return f"{len(digests)} batches, {digest(torch.tensor(list(''.join(digests).encode())))}"
