"""Steps as attributes of a class, in lists of lists, and in plain objects are stages, and stay what they were."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest
import torch
from capture_helpers import load, names, record, tree_of_one
from torch.utils.data import DataLoader, Dataset
from worker_helpers import run, worker_spans

import annotate
from annotate.hooks.kept import kept_by, steps_in


def flip(x: Any) -> Any:
    return x.flip(-1)


def add(x: Any, n: int) -> Any:
    return x + n


class Brighten:
    def __call__(self, x: Any) -> Any:
        return x * 2


class Compose:
    def __init__(self, *steps: Any) -> None:
        self.transforms = list(steps)

    def __call__(self, x: Any) -> Any:
        for step in self.transforms:
            x = step(x)
        return x


@dataclass
class Group:
    steps: list[Any] = field(default_factory=list)

    def __call__(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x


@dataclass(frozen=True, slots=True)
class Slotted:
    steps: tuple[Any, ...]

    def __call__(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x


@dataclass
class Plan:
    """A plain object, which nobody calls."""

    first: list[Any]
    owner: Any = None


class Pair(NamedTuple):
    left: Any
    right: Any


class Items(Dataset[Any]):
    def __len__(self) -> int:
        return 4

    def start(self, index: int) -> Any:
        return torch.arange(3) + index


class Horses(Items):
    """Its transforms are those of its class."""

    t: ClassVar[Any] = Compose(Brighten())
    light = Brighten()
    last: ClassVar[Any] = (flip, Brighten())
    read: ClassVar[int] = 0

    @property
    def loaded(self) -> Any:
        raise RuntimeError("loads a model")

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name not in ("transforms", "transform", "target_transform"):
            type(self).read += name in ("steps", "t", "light", "augment")
        raise AttributeError(name)

    def __getitem__(self, index: int) -> Any:
        x = self.light(self.t(self.start(index)))
        for step in self.last:
            x = step(x)
        return x


class Ponies(Horses):
    light = Brighten()


CLASS_STAGES = [("transform::Compose", ["transform::Brighten"]), "transform::Brighten", "transform::flip"]
OF_CLASS = ("sample::Horses", [CLASS_STAGES[0], *CLASS_STAGES[1:], "transform::Brighten"])


def test_what_a_class_keeps_is_a_stage_of_its_datasets_and_stays_what_it_was(tmp_path: Path) -> None:
    before = dict(vars(Horses))
    ds = Horses()
    assert tree_of_one(tmp_path, ds) == OF_CLASS
    after = dict(vars(Horses))
    assert list(after) == list(before) and all(after[name] is value for name, value in before.items())
    assert vars(ds) == {} and ds.t is Horses.t and Horses.read == 0
    assert [type(step) for step in Horses.last] == [type(flip), Brighten]


def test_datasets_share_what_their_classes_keep(tmp_path: Path) -> None:
    both = [annotate.dataset(Horses()), annotate.dataset(Ponies())]
    before = [dict(vars(cls)) for cls in (Horses, Ponies)]
    seen: list[bool] = []

    def code() -> None:
        for ds in both:
            ds[0]
            seen.append(ds.t is Horses.t and ds.light is type(ds).light and vars(ds) == {})
            seen.append(isinstance(ds.last, tuple) and ds.last == before[0]["last"])
        other = threading.Thread(target=lambda: Ponies.light(1))  # outside of a sample: no stage
        other.start()
        other.join()

    found = names(record(tmp_path / "run", code))
    assert {name: count for name, count in found.items() if name.startswith("transform")} == {
        "transform::Compose": 2,
        "transform::Brighten": 6,
        "transform::flip": 2,
    }
    assert all(seen)
    for cls, kept in zip((Horses, Ponies), before, strict=True):
        assert all(vars(cls)[name] is value for name, value in kept.items())


class OwnT(Horses):
    """Has put another one into the instance, before that of the class."""

    def __init__(self) -> None:
        vars(self).update(t=flip, last=())


def test_an_attribute_of_the_object_stands_before_that_of_its_class(tmp_path: Path) -> None:
    assert tree_of_one(tmp_path, OwnT()) == ("sample::OwnT", ["transform::flip", "transform::Brighten"])


class Functions(Items):
    transforms = (flip, partial(add, n=1))
    fn = partial(add, n=2)

    def __getitem__(self, index: int) -> Any:
        return self.fn(through(self.start(index), self.transforms))


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="a partial of a class is a method, or about to be one")
def test_functions_that_a_class_keeps_are_stages_and_its_own_afterwards(tmp_path: Path) -> None:
    before, ds = dict(vars(Functions)), Functions()
    stages = [f"transform::{name}" for name in ("flip", "add", "add")]
    assert tree_of_one(tmp_path, ds) == ("sample::Functions", stages)
    assert vars(ds) == {} and all(vars(Functions)[name] is value for name, value in before.items())


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_worker_has_the_stages_of_the_class(context: str, tmp_path: Path) -> None:
    ds = Horses()
    found = in_worker(ds, context, tmp_path)
    assert [found.count(f"transform::{name}") for name in ("Compose", "Brighten", "flip")] == [4, 12, 4]


def in_worker(ds: Any, context: str, folder: Path) -> list[str]:
    """The spans of a DataLoader worker, whose batches are as they were."""
    plain = [ds[index].tolist() for index in range(4)]
    loader = annotate.loader(DataLoader(ds, batch_size=2, num_workers=1, multiprocessing_context=context))
    trace, seen = run(folder / "run", loader)
    assert [row for each in seen for row in each.rows] == plain
    ((_, spans),) = worker_spans(trace).items()
    return [span["name"] for span in spans]


class Nested(Items):
    """A list of groups of steps, under any name."""

    def __init__(self, name: str, groups: Any) -> None:
        self.name = name
        vars(self)[name] = groups

    def __getitem__(self, index: int) -> Any:
        return through(self.start(index), vars(self)[self.name])


def through(x: Any, steps: Any) -> Any:
    if callable(steps):
        return steps(x)
    if isinstance(steps, Plan):
        steps = steps.first
    for step in steps.values() if isinstance(steps, dict) else steps:
        x = through(x, step)
    return x


def groups() -> list[Any]:
    return [
        [partial(add, n=1), Brighten()],
        [Group([Brighten(), partial(add, n=2)]), (flip, [Slotted((Brighten(), flip))])],
        {"named": Pair(flip, Brighten()), "deep": [[partial(add, n=3)]]},
    ]


IN_GROUPS = [
    "transform::add",
    "transform::Brighten",
    ("transform::Group", ["transform::Brighten", "transform::add"]),
    "transform::flip",
    ("transform::Slotted", ["transform::Brighten", "transform::flip"]),
    "transform::flip",
    "transform::Brighten",
    "transform::add",
]


@pytest.mark.parametrize("name", ["transforms", "augs", "any_name"])
def test_steps_in_lists_of_lists_are_stages_and_stay_what_they_were(name: str, tmp_path: Path) -> None:
    held = groups()
    kept, identities = pickle.dumps(held), list(everything(held))
    ds = Nested(name, held)
    assert tree_of_one(tmp_path, ds) == ("sample::Nested", IN_GROUPS)
    assert vars(ds)[name] is held and pickle.dumps(held) == kept
    assert all(now is before for now, before in zip(everything(held), identities, strict=True))


def everything(value: Any) -> Iterator[Any]:
    """A list, what it holds, and so on."""
    yield value
    if isinstance(value, (Group, Slotted)):
        yield from everything(value.steps)
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from everything(item)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_worker_has_the_steps_in_lists_of_lists(context: str, tmp_path: Path) -> None:
    found = in_worker(Nested("transforms", groups()), context, tmp_path)
    counts = {"add": 12, "Brighten": 16, "Group": 4, "flip": 12, "Slotted": 4}
    assert {name: found.count(f"transform::{name}") for name in counts} == counts


def test_containers_are_what_they_were_while_they_are_recorded(tmp_path: Path) -> None:
    held = groups()
    ds, kept = Nested("any_name", held), pickle.dumps(held)
    annotate.dataset(ds)
    seen: list[bool] = []

    def code() -> None:
        ds[0]
        pair = held[2]["named"]
        seen.append(type(pair) is Pair and pair.left == flip and type(pair.right) is Brighten)
        seen.append([type(each) for each in held] == [list, list, dict] and isinstance(held[0][0], partial))
        seen.append(bool(pickle.dumps(held)) and pickle.loads(pickle.dumps(held))[2]["named"].left is flip)

    record(tmp_path / "run", code)
    assert all(seen) and len(seen) == 3
    assert pickle.dumps(held) == kept


def test_steps_of_a_plain_object_are_stages(tmp_path: Path) -> None:
    plan = Plan([Brighten(), flip])
    ds = Nested("plan", plan)
    plan.owner = ds
    assert tree_of_one(tmp_path, ds) == ("sample::Nested", ["transform::Brighten", "transform::flip"])
    assert plan.first[1] is flip and plan.owner is ds


@pytest.mark.parametrize("deep", [False, True])
def test_plain_objects_may_keep_such_objects(tmp_path: Path, deep: bool) -> None:
    """A stranger's configuration had its stages in dataclasses of their own: 99% of the data wait was the sample's."""
    inner = Plan([Brighten(), flip])
    plan = Plan([Plan([inner], owner=7)]) if deep else Plan([inner])
    inner.owner = plan
    ds = Nested("plan", plan)
    assert tree_of_one(tmp_path, ds) == ("sample::Nested", ["transform::Brighten", "transform::flip"])
    assert inner.first[1] is flip and inner.owner is plan


def test_lists_that_hold_themselves_are_looked_at_once(tmp_path: Path) -> None:
    inner: list[Any] = [Brighten(), flip]
    held: list[Any] = [inner, inner]
    ds = Nested("transforms", held)
    held.append(held)
    ds.__dict__["stop"] = held
    found = names(record(tmp_path / "run", lambda: (annotate.dataset(ds), [held[0][1](torch.arange(2))])))
    assert found["transform::flip"] == 1
    assert inner[1] is flip and held[2] is held


def test_data_in_lists_is_not_looked_through() -> None:
    class Counting(list[Any]):
        looks = 0

        def __iter__(self) -> Iterator[Any]:
            Counting.looks += 1
            return super().__iter__()

    rows = [[Counting([0] * 4) for _ in range(32)] for _ in range(32)]
    assert steps_in(rows) == [] and Counting.looks == 0
    assert steps_in([flip] * 33) == []
    assert steps_in([flip, [[0] * 33]]) == [flip, [0] * 33]


class Loud:
    """Tells whoever asks it for anything."""

    asked: ClassVar[list[str]] = []

    @property
    def __class__(self) -> Any:
        Loud.asked.append("__class__")
        return int

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise RuntimeError

    def __getattr__(self, name: str) -> Any:
        Loud.asked.append(name)
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


def test_what_stands_beside_steps_is_asked_for_nothing(tmp_path: Path) -> None:
    ds = Nested("any_name", {"steps": [Brighten()]})
    vars(ds).update(loud=Loud(), among=[Loud(), [Brighten(), Loud(), (Loud(),)]], mixed=[Loud(), Group([Loud()])])
    assert tree_of_one(tmp_path, ds) == ("sample::Nested", ["transform::Brighten"])
    assert Loud.asked == []


def test_looking_runs_nothing_of_the_users() -> None:
    class Slots:
        __slots__ = ("empty", "full")

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    obj = Slots()
    vars(Slots)["full"].__set__(obj, 1)
    assert kept_by(obj) == {"full": 1}
    found = kept_by(Horses())
    assert {"t", "light", "last"} <= set(found) and not {"loaded", "start", "__getitem__"} & set(found)


class Replacing(Items):
    """Replaces a step in a list of lists in its third sample."""

    def __init__(self) -> None:
        self.transforms = [[flip], [flip]]

    def __getitem__(self, index: int) -> Any:
        if index == 2:
            self.transforms[1][0] = partial(add, n=1)
        return through(self.start(index), self.transforms)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_step_in_a_list_of_lists_that_is_replaced_is_a_stage(workers: int, tmp_path: Path) -> None:
    ds = Replacing()
    loader = annotate.loader(DataLoader(ds, batch_size=1, num_workers=workers))
    with annotate.profile(tmp_path / "run", wait=0, warmup=1, active=3) as prof:
        for _ in loader:
            prof.step()
    spans = [e for e in load(prof.trace_files[-1])["traceEvents"] if e.get("name") == "transform::add"]
    assert len(spans) == 1  # known from the next batch on
    assert ds.transforms[0][0] is flip and type(ds.transforms[1][0]) is (type(flip) if workers else partial)
