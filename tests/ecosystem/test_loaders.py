"""Loaders that look like torch's and are not quite: each made as its library's documentation does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import albumentations
import datasets
import numpy as np
import pytest
import timm.data.loader
import torch
import torch_geometric.data
import torch_geometric.loader
import torchio
from accelerate import Accelerator
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, Dataset
from torchdata.nodes import Batcher, Loader, ParallelMapper, SamplerWrapper
from torchdata.stateful_dataloader import StatefulDataLoader

import annotate
from tests.ecosystem.observe import WAYS, canonical, clear, harmless, take

SIZE, BATCH = 48, 4


class Noise:
    """A random transform of nobody's library."""

    def __call__(self, image: torch.Tensor) -> torch.Tensor:
        return image + torch.rand(())


class Images(Dataset[Any]):
    def __init__(self) -> None:
        self.transform = Noise()

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.transform(torch.full((3, 6, 6), float(index))), index


class Augmented(Dataset[Any]):
    def __init__(self) -> None:
        flips = [albumentations.HorizontalFlip(), albumentations.RandomBrightnessContrast()]
        self.transform = albumentations.Compose([albumentations.RandomCrop(8, 8), *flips], seed=3)

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return self.transform(image=np.full((12, 12, 3), index, dtype=np.uint8))["image"]


class InfiniteDataLoader(DataLoader[Any]):
    """As ultralytics has it: workers live on, and the batch sampler is replaced by one that never ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "batch_sampler", _RepeatSampler(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self) -> int:
        return len(self.batch_sampler.sampler)

    def __iter__(self) -> Iterator[Any]:
        for _ in range(len(self)):
            yield next(self.iterator)

    def __del__(self) -> None:
        if hasattr(self.iterator, "_workers"):
            self.iterator._shutdown_workers()

    def reset(self) -> None:
        self.iterator = self._get_iterator()


class _RepeatSampler:
    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from iter(self.sampler)


def stateful() -> Any:
    return StatefulDataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=2)


def stateful_alone() -> Any:
    return StatefulDataLoader(Images(), batch_size=BATCH, shuffle=True)


def nodes() -> Any:
    node = SamplerWrapper(torch.utils.data.SequentialSampler(range(SIZE)))
    return Loader(Batcher(ParallelMapper(node, map_fn=float, num_workers=2, method="thread"), BATCH))


def infinite() -> Any:
    return InfiniteDataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=2)


def infinite_alone() -> Any:
    return InfiniteDataLoader(Images(), batch_size=BATCH, shuffle=True)


def accelerated() -> Any:
    return Accelerator(cpu=True).prepare(DataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=2))


def accelerated_after() -> Any:
    """Annotated before it is prepared: `prepare` builds another loader from it."""
    return Accelerator(cpu=True).prepare(annotate.loader(DataLoader(Images(), batch_size=BATCH, num_workers=2)))


def fabric() -> Any:
    return Fabric(accelerator="cpu", devices=1).setup_dataloaders(DataLoader(Images(), batch_size=BATCH, num_workers=2))


def timm_prefetch() -> Any:
    loader = DataLoader(Images(), batch_size=BATCH, num_workers=2)
    return timm.data.loader.PrefetchLoader(loader, device=torch.device("cpu"), re_prob=0.5)


def timm_multi_epochs() -> Any:
    return timm.data.loader.MultiEpochsDataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=2)


def geometric() -> Any:
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    graphs = [torch_geometric.data.Data(x=torch.full((3, 2), float(i)), edge_index=edges) for i in range(SIZE)]
    return torch_geometric.loader.DataLoader(graphs, batch_size=BATCH, shuffle=True, num_workers=2)


def brighter(examples: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {"image": [np.asarray(image) + 1 for image in examples["image"]]}


def hugging_face() -> Any:
    rows = datasets.Dataset.from_dict({"image": [[float(i)] * 4 for i in range(SIZE)], "label": list(range(SIZE))})
    rows.set_transform(brighter)
    return DataLoader(rows, batch_size=BATCH, shuffle=True, num_workers=2)


def hugging_face_torch_format() -> Any:
    rows = datasets.Dataset.from_dict({"x": [[float(i)] * 4 for i in range(SIZE)]}).with_format("torch")
    return DataLoader(rows, batch_size=BATCH)


def hugging_face_streamed() -> Any:
    rows = datasets.Dataset.from_dict({"x": [[float(i)] * 4 for i in range(SIZE)]}).to_iterable_dataset(num_shards=2)
    return DataLoader(rows.with_format("torch").shuffle(seed=1, buffer_size=8), batch_size=BATCH, num_workers=2)


def torchio_subjects() -> Any:
    subjects = [torchio.Subject(t1=torchio.ScalarImage(tensor=torch.full((1, 6, 6, 6), float(i)))) for i in range(24)]
    transform = torchio.Compose([torchio.RandomFlip(), torchio.RescaleIntensity((0, 1)), torchio.RandomNoise()])
    data = torchio.SubjectsDataset(subjects, transform=transform)
    return torchio.SubjectsLoader(data, batch_size=2, num_workers=2)


def torchio_queue() -> Any:
    subjects = [torchio.Subject(t1=torchio.ScalarImage(tensor=torch.full((1, 6, 6, 6), float(i)))) for i in range(8)]
    data = torchio.SubjectsDataset(subjects, transform=torchio.RandomNoise())
    queue = torchio.Queue(data, 8, 3, torchio.data.UniformSampler(4), num_workers=2, shuffle_subjects=False)
    return torchio.SubjectsLoader(queue, batch_size=2, num_workers=0)


def albumentations_pipeline() -> Any:
    return DataLoader(Augmented(), batch_size=BATCH, num_workers=2)


MAKERS = [
    stateful, stateful_alone, nodes, infinite, infinite_alone, accelerated, accelerated_after, fabric, timm_prefetch,
    timm_multi_epochs, geometric, hugging_face, hugging_face_torch_format, hugging_face_streamed, torchio_subjects,
    torchio_queue, albumentations_pipeline,
]  # fmt: skip

MAY_BE_REFUSED = {nodes: "Loader"}
"""Loaders that are not torch's: refused in one line that names them."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_same_batches_and_nothing_left(make: Any, way: str, tmp_path: Path) -> None:
    seen = harmless(make, way, tmp_path)
    if seen.refused:
        clear(seen.refused, type(make()).__name__)
        assert make in MAY_BE_REFUSED or way == "monitor", seen.refused
    if way in ("loop", "steps"):
        assert seen.record
        assert seen.record["dropped_spans"] == 0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_loader_resumes_where_it_was(workers: int, tmp_path: Path) -> None:
    def make() -> Any:
        return StatefulDataLoader(list(range(SIZE)), batch_size=BATCH, shuffle=True, num_workers=workers)

    torch.manual_seed(0)
    plain = make()
    batches = canonical(take(plain, 3))
    state = plain.state_dict()
    torch.manual_seed(0)
    ours = annotate.loader(make())
    got = []
    with annotate.profile(tmp_path, wait=0, warmup=1, active=2) as prof:
        for batch in ours:
            got.append(batch)
            prof.step()
            if len(got) == 3:
                recorded_state = ours.state_dict()
                break
    assert canonical(got) == batches
    assert canonical(recorded_state) == canonical(state)
    rest = []
    for loader, at in ((make(), state), (make(), recorded_state)):
        loader.load_state_dict(at)
        rest.append(canonical(list(loader)))
    assert rest[0] == rest[1]
