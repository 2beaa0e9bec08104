"""What handing over a batch would cost: measured once, in a warm-up step, and never by running the user's code."""

from __future__ import annotations

import gc
import pickle
from collections import OrderedDict, UserDict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from capture_helpers import load
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.capture import handing_over
from annotate.capture.handing_over import cost_of
from annotate.hooks.batch_tensors import count_tensors

Boxes = namedtuple("Boxes", "corners labels")


class Own:
    """Says what pickle does with it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getstate__(self) -> dict[str, Any]:
        self.calls.append("getstate")
        return {}


class Plain:
    def __init__(self, x: int) -> None:
        self.x = x


def objects(count: int) -> list[dict[str, Any]]:
    return [{"name": str(number), "value": number} for number in range(count)]


def test_objects_take_time_and_tensors_are_counted() -> None:
    found = cost_of([objects(500), torch.zeros(1000), {"mask": torch.ones(2)}])
    assert found is not None
    assert found["tensors"] == 2
    assert 5_000 < found["bytes"] < 30_000
    assert found["serialise_us"] > 0 and found["deserialise_us"] > 0


def test_tensors_stay_where_they_are() -> None:
    batch = torch.zeros(1000)
    assert cost_of(batch) is not None
    assert not batch.is_shared()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("batch", [Boxes([1], [2]), OrderedDict(a=np.zeros(3)), [Plain(1)], np.float32(1), ("a", b"b")])
def test_what_pickle_only_copies_is_measured(batch: object) -> None:
    assert cost_of(batch) is not None


@pytest.mark.parametrize("batch", [lambda: None, (n for n in range(3)), Path("/tmp"), np.zeros(1 << 24)])
def test_what_is_large_or_runs_code_of_its_own_is_not_tried(batch: object) -> None:
    assert cost_of(batch) is None


def test_no_code_of_the_users_classes_runs() -> None:
    own = Own()
    assert cost_of([own]) is None
    assert own.calls == []


def test_pickling_that_takes_long_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handing_over, "LONGEST_S", -1.0)
    assert cost_of(objects(20_000)) is None
    assert gc.isenabled()


class Objects(Dataset[Any]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Any:
        return objects(50)


def as_list(samples: list[Any]) -> list[Any]:
    return samples


@pytest.mark.filterwarnings("ignore:.*with warmup=0")
@pytest.mark.parametrize(("workers", "warmup", "is_known"), [(0, 1, True), (0, 0, False), (1, 1, False)])
def test_a_capture_without_workers_says_what_sending_would_cost(
    tmp_path: Path, workers: int, warmup: int, is_known: bool
) -> None:
    loader = DataLoader(Objects(), batch_size=4, num_workers=workers, collate_fn=as_list)
    seen = []
    with annotate.profile(tmp_path, wait=2, warmup=warmup, active=3, verdict=False) as prof:
        seen = [pickle.dumps(batch) for batch in prof.steps(loader)]
    assert len(seen) == 16
    record = load(prof.trace_files[0])["dataPipeline"]
    assert ("handing_over" in record) is is_known
    if is_known:
        assert record["handing_over"]["tensors"] == 0
        assert record["handing_over"]["bytes"] == len(seen[0])


def test_a_batch_that_was_not_pickled_has_its_tensors_counted(tmp_path: Path) -> None:
    """Where the loop is not iterated over ``prof.steps``: the program has told nobody of warm-up steps."""
    loader = annotate.loader(DataLoader(Columns(), batch_size=2))
    with annotate.profile(tmp_path, wait=0, warmup=1, active=1) as prof:
        for _ in loader:
            prof.step()
    assert load(prof.trace_files[0])["dataPipeline"]["handing_over"] == {"tensors": 3}


class Columns(Dataset[dict[str, Any]]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"x": torch.ones(2), "pair": (torch.ones(3), index), "name": str(index)}


class Odd(dict[str, Any]):
    def values(self) -> Any:
        raise AssertionError("code of the batch's own class")


@pytest.mark.parametrize(
    ("batch", "count"),
    [
        (torch.ones(1), 1),
        ({"a": torch.ones(1), "b": [torch.ones(1), 3, "x"]}, 2),
        (UserDict(a=torch.ones(1), b=Boxes(torch.ones(1), torch.ones(1))), 3),
        (Odd(a=torch.ones(1)), 1),
        ([torch.ones(1)] * 5000, None),
        (Plain(1), 0),
    ],
)
def test_tensors_of_a_batch_are_counted_without_code_of_its_own(batch: object, count: int | None) -> None:
    assert count_tensors(batch) == count
