"""What a replay must leave as it was: state that a dataset and its transforms keep for themselves."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import annotate


class WithOwnGenerator(Dataset):  # type: ignore[type-arg]
    """Draws from a generator of its own, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)
        self.seen: list[int] = []
        self.pixels = torch.zeros(1 << 20)

    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> float:
        self.seen.append(index)
        return float(self.generator.random())


class WithLock(WithOwnGenerator):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Failing(Dataset):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        raise RuntimeError("no such file")


def test_a_replay_does_not_touch_the_datasets_own_state(tmp_path: Path) -> None:
    dataset = WithOwnGenerator()
    loader = annotate.loader(DataLoader(dataset, batch_size=4))
    annotate.replay(loader, tmp_path, batches=2, progress=False)
    assert dataset.seen == []
    assert torch.cat(list(loader)).tolist() == torch.cat(list(DataLoader(WithOwnGenerator(), batch_size=4))).tolist()


def test_bulk_data_are_shared_not_copied() -> None:
    from annotate.capture.isolated import isolated_copy

    dataset = WithOwnGenerator()
    copy, isolated = isolated_copy(dataset)
    assert isolated
    assert copy.pixels is dataset.pixels
    assert copy.generator is not dataset.generator


def test_a_dataset_that_cannot_be_pickled_is_replayed_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loader = annotate.loader(DataLoader(WithLock(), batch_size=4))
    annotate.replay(loader, tmp_path, batches=2)
    assert "cannot be pickled" in capsys.readouterr().err


def test_a_replay_without_a_finished_batch_leaves_no_trace(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no such file"):
        annotate.replay(DataLoader(Failing()), tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_npz_arrays_are_decoded_when_they_are_asked_for(tmp_path: Path) -> None:
    import gzip
    import json

    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((64, 64)))

    class Npz(Dataset):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> float:
            with np.load(tmp_path / "a.npz") as file:
                return float(file["x"].sum())

    path = annotate.replay(DataLoader(Npz()), tmp_path / "run", progress=False)
    names = [
        event["name"]
        for event in json.loads(gzip.decompress(Path(path).read_bytes()))["traceEvents"]
        if event["ph"] == "X"
    ]
    assert names.count("decode::numpy.NpzFile") == 2


@pytest.mark.parametrize(("count", "error"), [(1.5, TypeError), ("3", TypeError), (-1, ValueError), (True, TypeError)])
def test_counts_of_steps_are_checked_in_one_line(tmp_path: Path, count: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="wait"):
        annotate.profile(tmp_path, wait=count)  # type: ignore[arg-type]


def test_an_empty_logdir_is_refused() -> None:
    with pytest.raises(ValueError, match="logdir is empty"):
        annotate.profile("")
