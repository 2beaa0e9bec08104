"""Steps that a dataset, or a transform of the user's own, keeps in a dict are stages as those in a list are."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from capture_helpers import tree_of_one
from torch.utils.data import DataLoader, Dataset
from worker_helpers import run, worker_spans

import annotate


def flip(x: Any) -> Any:
    return x.flip(-1)


class Brighten:
    def __call__(self, x: Any) -> Any:
        return x * 2


class Steps:
    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)

    def __call__(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x


class PerKey:
    """A transform for each part of a sample."""

    def __init__(self, per: dict[str, Any]) -> None:
        self.per = per

    def __call__(self, x: Any) -> Any:
        for key in self.per:
            x = self.per[key](x)
        return x


class Lazy(dict[str, Any]):
    """Loads what it has when that is asked for."""

    def values(self) -> Any:
        raise RuntimeError("loads models")

    __iter__ = items = values


class Parts(Dataset[Any]):
    """Keeps them in its transform, and in itself."""

    def __init__(self, own: dict[Any, Any], of_transform: dict[str, Any]) -> None:
        self._own = own
        self.transform = PerKey(of_transform)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        x = torch.arange(3) + index
        for key in dict.keys(self._own):
            x = self._own[key](x) if callable(self._own[key]) else x
        return self.transform(x)


INNER = ("transform::Steps", ["transform::Brighten"])


def test_steps_in_a_dict_of_a_transform_are_stages_and_stay_what_they_were(tmp_path: Path) -> None:
    per = {"image": Steps(Brighten()), "more": flip}
    before, kept = dict(per), pickle.dumps(per)
    ds = Parts({}, per)
    assert tree_of_one(tmp_path, ds) == ("sample::Parts", [("transform::PerKey", [INNER, "transform::flip"])])
    assert ds.transform.per is per and type(per["image"]) is Steps
    assert all(per[key] is value for key, value in before.items()) and pickle.dumps(per) == kept


def test_steps_in_a_dict_of_a_dataset_are_stages_beside_what_is_none(tmp_path: Path) -> None:
    own = {"image": Brighten(), "channels": 3}
    before = dict(own)
    assert tree_of_one(tmp_path, Parts(own, {})) == ("sample::Parts", ["transform::Brighten", "transform::PerKey"])
    assert own == before and type(own["image"]) is Brighten


def test_long_dicts_hold_samples(tmp_path: Path) -> None:
    many = {index: Brighten() for index in range(33)}
    assert tree_of_one(tmp_path, Parts(many, {})) == ("sample::Parts", ["transform::PerKey"])


def test_a_dict_that_loads_what_it_has_is_asked_for_nothing(tmp_path: Path) -> None:
    brighten, lazy = Brighten(), Lazy()
    dict.__setitem__(lazy, "image", brighten)
    ds = Parts(lazy, {})
    assert tree_of_one(tmp_path, ds) == ("sample::Parts", ["transform::Brighten", "transform::PerKey"])
    assert ds._own is lazy and lazy["image"] is brighten and type(brighten) is Brighten


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_worker_has_the_same_steps_and_the_same_batches(context: str, tmp_path: Path) -> None:
    ds = Parts({}, {"image": Steps(Brighten())})
    plain = [ds[index].tolist() for index in range(4)]
    loader = annotate.loader(DataLoader(ds, batch_size=2, num_workers=1, multiprocessing_context=context))
    trace, seen = run(tmp_path / "run", loader)
    assert [row for each in seen for row in each.rows] == plain
    ((_, spans),) = worker_spans(trace).items()
    found = [span["name"] for span in spans]
    assert [found.count(f"transform::{name}") for name in ("PerKey", "Steps", "Brighten")] == [4, 4, 4]
