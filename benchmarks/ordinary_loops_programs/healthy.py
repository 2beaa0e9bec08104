"""Twenty healthy pipelines: nothing is planted, and next() is at most 2% of at least 1,000 steps.

The runner checks that by the clocks.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Blur, Compose, Crop, Normalise, Pictures, Train


class Records(Dataset):
    def __init__(self, width: int, work: float = 0, n: int = 10**6) -> None:
        self.width, self.work, self.n = width, work, n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        kit.work(self.work, "sleep")
        return {"x": torch.full((self.width,), float(i % 5)), "y": i % 10, "weight": 1.0}


class Batches(Dataset):
    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        return torch.full((16, 64), float(i % 3))


class Stream(IterableDataset):
    def __init__(self, width: int, work: float = 0, whole: int = 0) -> None:
        self.width, self.work, self.whole = width, work, whole

    def __iter__(self) -> Iterator[Any]:
        while True:
            kit.work(self.work, "sleep")
            yield torch.zeros(self.whole, self.width) if self.whole else {"x": torch.zeros(self.width), "y": 1}


class Passes:
    def __init__(self, inner: Iterable[Any]) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[Any]:
        self.it = iter(self.inner)
        return self

    def __next__(self) -> Any:
        return next(self.it)


def passes(inner: Iterable[Any]) -> Iterator[Any]:
    for batch in inner:  # noqa: UP028 -- what a user's generator looks like
        yield batch


def background(loader: DataLoader[Any], depth: int = 3) -> Iterator[Any]:
    q, stop = queue.Queue(depth), threading.Event()

    def fill() -> None:
        for batch in loader:
            while not stop.is_set():
                try:
                    q.put(batch, timeout=0.2)
                    break
                except queue.Full:
                    pass
            if stop.is_set():
                return

    t = threading.Thread(target=fill, daemon=True)
    t.start()
    try:
        while True:
            yield q.get()
    finally:
        stop.set()
        t.join(5)


def pipeline(
    dataset: Any, wrap: Callable[[Any], Any] | None = None, op: bool = False, style: str = "steps", **keywords: Any
) -> tuple[Any, ...]:
    """dataset, the loader's keywords, what wraps it, whether the step is a torch operation, the style of stepping."""
    return dataset, keywords, wrap, op, style


def variants(run: kit.Run) -> dict[str, tuple[Any, ...]]:
    b, w = run.pick(4, 8), run.ms(0.5, 1.0)
    light, picture = Compose([Crop(), Normalise()]), Compose([Crop(), Blur(), Normalise()])
    n = 10**6

    def buckets(size: int) -> BatchSampler:
        return BatchSampler(RandomSampler(range(20000)), size, True)

    return {
        "h01_tensors_0": pipeline(TensorDataset(torch.rand(5000, 32), torch.zeros(5000)), batch_size=b, shuffle=True),
        "h02_dicts_0_op": pipeline(Records(16), op=True, batch_size=4),
        "h03_map_1": pipeline(Records(64, w), batch_size=b, num_workers=1),
        "h04_map_2_persistent": pipeline(
            Pictures(picture, n=n), style="step", batch_size=b, num_workers=2, persistent_workers=True
        ),
        "h05_large_2": pipeline(Pictures(light, n=n, size=160), batch_size=8, num_workers=2),
        "h06_iterable_0": pipeline(Stream(64), style="step", batch_size=b),
        "h07_iterable_1": pipeline(Stream(64, w), batch_size=b, num_workers=1),
        "h08_iterable_2_dicts": pipeline(Stream(512, w), op=True, batch_size=8, num_workers=2, prefetch_factor=4),
        "h09_batch_sampler_0": pipeline(Records(16), batch_sampler=buckets(4)),
        "h10_batch_sampler_2": pipeline(Records(64), style="step", batch_sampler=buckets(b), num_workers=2),
        "h11_generator_1": pipeline(Records(64), passes, batch_size=b, num_workers=1),
        "h12_wrapper_0": pipeline(TensorDataset(torch.rand(5000, 32)), Passes, batch_size=b),
        "h13_train_val_0": pipeline(TensorDataset(torch.rand(800, 32), torch.zeros(800)), style="val", batch_size=8),
        "h14_train_val_2": pipeline(
            Records(32, n=2400), style="val", batch_size=8, num_workers=2, persistent_workers=True
        ),
        "h15_whole_0": pipeline(Batches(), op=True, batch_size=None),
        "h16_whole_iterable_2": pipeline(Stream(64, w, 16), batch_size=None, num_workers=2),
        "h17_epochs_1_persistent": pipeline(
            Records(64, w, n=1600), batch_size=8, num_workers=1, persistent_workers=True
        ),
        "h18_short_epochs_0": pipeline(TensorDataset(torch.rand(200, 32)), batch_size=8, shuffle=True),
        "h19_thread_0": pipeline(Records(64), background, batch_size=8),
        "h20_nested_2": pipeline(
            Pictures(light, n=n), lambda x: Passes(passes(x)), op=True, batch_size=b, num_workers=2
        ),
    }


def build(run: kit.Run, variant: str) -> None:
    dataset, keywords, wrap, op, style = variants(run)[variant]
    workers = keywords.get("num_workers", 0)
    # the step is long enough for next() to be 2% of it or less also on a slow virtual machine, where it takes some 4 ms
    # from a worker and 0.6 ms without
    step = Train(run, run.ms(208, 256) if workers else run.ms(42, 56), op)
    run.truth("healthy", about=f"{workers} workers")
    loader = run.loader(DataLoader(dataset, **keywords))
    val = (
        run.loader(DataLoader(TensorDataset(torch.rand(64, 32)), batch_size=16, num_workers=0))
        if style == "val"
        else None
    )
    with run.profile(wait=run.pick(24, 40, 60), active=run.pick(16, 24)) as prof:
        while not run.over:
            run.begin()
            if style == "steps":
                for batch in prof.steps(wrap(loader) if wrap else loader):
                    run.got()
                    step(batch)
                    if run.done():
                        break
                continue
            for batch in wrap(loader) if wrap else loader:
                run.got()
                step(batch)
                over = run.done()
                prof.step()
                if over:
                    break
            if val is not None and not run.over:
                run.begin()
                for batch in val:
                    run.got("val")
                    step(batch)
                    run.done(steps=0)


if __name__ == "__main__":
    kit.main(build, __file__)
