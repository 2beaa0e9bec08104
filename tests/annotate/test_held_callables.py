"""Callables are stages wherever a dataset keeps them, if they are called for its samples."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from capture_helpers import load, names, record, tree_of_one, trees
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torchvision import transforms as v1
from worker_helpers import run, worker_spans

import annotate

CROP = v1.RandomCrop(4)
"""In the module, where a dataset's method looks it up."""


def image() -> torch.Tensor:
    return torch.arange(64.0).reshape(1, 8, 8)


def flip(x: Any) -> Any:
    return x.flip(-1)


def decode_png(x: Any) -> Any:
    return x


class Brighten:
    """A callable object of the user's own."""

    def __call__(self, x: Any) -> Any:
        return x * 2


class TwoViews:
    """As contrastive learning has it: its transform has a name of the user's."""

    def __init__(self, base_transform: Any, more: Any = ()) -> None:
        self.base_transform = base_transform
        self.more = more

    def __call__(self, x: Any) -> Any:
        for step in self.more:
            x = step(x)
        return self.base_transform(x)


class Pairs:
    """As detection has it: a Compose of the user's, each step of which has two arguments."""

    def __init__(self, steps: Any) -> None:
        self.steps = steps

    def __call__(self, x: Any, target: Any) -> Any:
        for step in self.steps:
            x, target = step(x, target)
        return x


class Steps:
    """A Compose of the user's, which calls its list what it likes."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)

    def __call__(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x


class FlipBoth:
    def __call__(self, x: Any, target: Any) -> Any:
        return x.flip(-1), -target


class Accuracy(nn.Module):
    def forward(self, x: Any) -> Any:
        return (x == x).float().mean()


class Held(Dataset[Any]):
    """Keeps what it is given, and does with it what it is told."""

    def __init__(self, use: Callable[..., Any], **held: Any) -> None:
        self.uses = [use]
        vars(self).update(held)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        return self.uses[0](self, image())


def closure() -> Callable[[Any], Any]:
    crop, flips = v1.RandomCrop(4), [flip]

    def pipeline(x: Any) -> Any:
        return flips[0](crop(x))

    return pipeline


class Pipeline(nn.Module):
    """A user's module as a transform, with children."""

    def __init__(self) -> None:
        super().__init__()
        self.crop = v1.RandomCrop(4)
        self.norm = nn.Identity()

    def forward(self, x: Any) -> Any:
        return self.norm(self.crop(x))


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "a list of another name": (
        lambda: Held(lambda self, x: self.tfms[1](self.tfms[0](x)), tfms=[v1.RandomCrop(4), flip]),
        ["transform::RandomCrop", "transform::flip"],
    ),
    "a tuple of views": (
        lambda: Held(lambda self, x: self.views[1](self.views[0](x)), views=(v1.RandomCrop(4), v1.RandomCrop(2))),
        ["transform::RandomCrop"] * 2,
    ),
    "preprocess": (lambda: Held(lambda self, x: self.preprocess(x), preprocess=Brighten()), ["transform::Brighten"]),
    "a plain function of any name": (lambda: Held(lambda self, x: self.fn(x), fn=flip), ["transform::flip"]),
    "a bound method": (
        lambda: Held(lambda self, x: self.fn(x), fn=v1.RandomCrop(4).forward),
        ["transform::forward"],
    ),
    "a partial": (
        lambda: Held(lambda self, x: self.fn(x), fn=functools.partial(torch.mul, other=2)),
        ["transform::mul"],
    ),
    "a function that decodes": (lambda: Held(lambda self, x: self.fn(x), fn=decode_png), ["decode::decode_png"]),
    "a library's reader": (
        lambda: Held(lambda self, x: torch.from_numpy(self.fn("x.npy")), fn=np.load),
        [("decode::numpy.load", ["read::open", "read::numpy.fromfile"])],
    ),
    "an object of the user's own of any name": (
        lambda: Held(lambda self, x: self.light(x), light=Brighten()),
        ["transform::Brighten"],
    ),
    "a list of the user's own of any name": (
        lambda: Held(lambda self, x: self.steps[1](self.steps[0](x)), steps=[Brighten(), Brighten()]),
        ["transform::Brighten"] * 2,
    ),
    "a dict": (
        lambda: Held(
            lambda self, x: self.transforms["train"](self.transforms["flip"](x)),
            transforms={"train": v1.RandomCrop(4), "flip": flip},
        ),
        ["transform::flip", "transform::RandomCrop"],
    ),
    "a closure": (
        lambda: Held(lambda self, x: self.transform(x), transform=closure()),
        [("transform::pipeline", ["transform::RandomCrop"])],
    ),
    "under a name of its own in a user's transform": (
        lambda: Held(lambda self, x: self.transform(x), transform=TwoViews(v1.RandomCrop(4))),
        [("transform::TwoViews", ["transform::RandomCrop"])],
    ),
    "a list under a name of its own in a user's transform": (
        lambda: Held(lambda self, x: self.transform(x), transform=TwoViews(v1.RandomCrop(4), [v1.RandomCrop(6), flip])),
        [("transform::TwoViews", ["transform::RandomCrop", "transform::flip", "transform::RandomCrop"])],
    ),
    "steps of a user's object of any name": (
        lambda: Held(lambda self, x: self._both(x, 1), _both=Pairs([FlipBoth(), FlipBoth()])),
        [("transform::Pairs", ["transform::FlipBoth"] * 2)],
    ),
    "steps of a user's transform of any name": (
        lambda: Held(lambda self, x: self.transform(x), transform=Steps(Brighten(), flip, Brighten())),
        [("transform::Steps", ["transform::Brighten", "transform::flip", "transform::Brighten"])],
    ),
    "children of a user's module": (
        lambda: Held(lambda self, x: self.transform(x), transform=Pipeline()),
        [("transform::Pipeline", ["transform::RandomCrop"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_callable_is_a_stage_wherever_it_is_kept(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", image().numpy())
    make, expected = CASES[name]
    ds = make()
    before = {key: value for key, value in vars(ds).items() if key != "uses"}
    kept = pickle.dumps({key: value for key, value in before.items() if name != "a closure"})
    assert tree_of_one(tmp_path, ds) == ("sample::Held", expected)
    assert {key: value for key, value in vars(ds).items() if key != "uses"} == before
    assert all(vars(ds)[key] is value for key, value in before.items())
    assert pickle.dumps({key: value for key, value in before.items() if name != "a closure"}) == kept


class ByModule(Dataset[Any]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        return CROP(image())


def test_a_transform_of_the_module_is_a_stage(tmp_path: Path) -> None:
    assert tree_of_one(tmp_path, ByModule()) == ("sample::ByModule", ["transform::RandomCrop"])


def test_a_lambda_goes_by_its_file_and_line(tmp_path: Path) -> None:
    double = lambda x: x * 2  # noqa: E731
    line = double.__code__.co_firstlineno
    ds = Held(lambda self, x: self.transform(x), transform=v1.Compose([double]))
    label = f"transform::lambda test_held_callables.py:{line}"
    assert tree_of_one(tmp_path, ds) == ("sample::Held", [("transform::Compose", [label])])


def test_what_is_held_and_not_called_for_a_sample_makes_no_stage(tmp_path: Path) -> None:
    metric, loss, sampler = Accuracy(), nn.MSELoss(), torch.utils.data.SequentialSampler(range(8))
    with open(tmp_path / "log", "w") as log:
        ds = Held(lambda self, x: x + 1, metric=metric, loss=loss, sampler=sampler, log=log, key=flip, light=Brighten())
        annotate.dataset(ds)

        def code() -> None:
            assert (ds.metric, ds.loss, ds.sampler, ds.log) == (metric, loss, sampler, log)  # type: ignore[attr-defined]
            assert (type(metric), type(loss), type(log).__name__) == (Accuracy, nn.MSELoss, "TextIOWrapper")
            metric(image())
            loss(image(), image())
            vars(ds)["key"](image())  # as a sampler calls it
            vars(ds)["light"](image())
            list(sampler)
            ds[0]

        assert trees(record(tmp_path / "run", code)) == ["sample::Held"]


def test_a_function_that_is_called_for_each_element_does_not_flood_the_trace(tmp_path: Path) -> None:
    ds = annotate.dataset(Held(lambda self, x: sorted(range(500), key=self.key), key=lambda x: -x))
    seen = names(record(tmp_path / "run", lambda: [ds[0], ds[1]]))
    (count,) = [count for name, count in seen.items() if name.startswith("transform::lambda")]
    assert count == 2 * 64


class Closing(Dataset[Any]):
    """Replaces its transforms in the fourth sample, as YOLO's datasets close their mosaic."""

    def __init__(self, how: str, at: int = 4) -> None:
        self.how = how
        self.at = at
        self.transform: Any = v1.Compose([flip, Brighten()])

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        if index == self.at:
            if self.how == "attribute":
                self.transform = v1.Compose([v1.RandomCrop(8)])
            elif self.how == "list":
                self.transform.transforms = [v1.RandomCrop(8)]
            else:
                self.transform.transforms[1] = v1.RandomCrop(8)
        return self.transform(image())


@pytest.mark.parametrize("how", ["attribute", "list", "item"])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_transform_that_is_replaced_while_it_is_recorded_is_a_stage(how: str, workers: int, tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Closing(how), batch_size=2, num_workers=workers))
    with annotate.profile(tmp_path / "run", wait=0, warmup=1, active=4) as prof:
        for batch in loader:
            assert batch.shape == (2, 1, 8, 8)
            prof.step()
    spans = [e for e in load(prof.trace_files[-1])["traceEvents"] if e.get("name") == "transform::RandomCrop"]
    assert spans
    assert type(loader.dataset.transform.transforms[-1]) is (Brighten if workers else v1.RandomCrop)  # type: ignore[attr-defined]


class Stream(IterableDataset[Any]):
    def __init__(self) -> None:
        self.tokenizer = flip
        self.fn = decode_png

    def __iter__(self) -> Iterator[Any]:
        for _ in range(8):
            yield self.tokenizer(self.fn(image()))


def test_functions_of_an_iterable_dataset_are_stages_in_a_worker(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Stream(), batch_size=4, num_workers=1))
    trace, _ = run(tmp_path / "run", loader)
    (spans,) = worker_spans(trace).values()
    assert {"transform::flip", "decode::decode_png"} <= {span["name"] for span in spans}


def copying_attributes(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator of the user's, around what is a stage."""

    @functools.wraps(function)
    def again(x: Any) -> Any:
        return function(x)

    return again


class Marked(Dataset[Any]):
    """Keeps what the user has marked: each is one stage, wherever it is kept."""

    def __init__(self) -> None:
        self.parse = annotate.stage("decode", "parse")(decode_png)
        self.brighten = annotate.stage("transform", "brighter")(Brighten())
        self.nameless = annotate.stage("user")(Brighten())
        self.crop = annotate.stage("transform", "crop")(v1.RandomCrop(4))
        self.half = functools.partial(annotate.stage("user", "half")(torch.mul), other=0.5)
        self.bound = self.own
        self.steps = [annotate.stage("transform", "steps")(TwoViews(flip, [Brighten()]))]
        self.table = {"flip": annotate.stage("transform", "table")(flip), "rest": v1.RandomCrop(4)}
        self.transform = annotate.stage("transform", "main")(v1.Compose([v1.CenterCrop(4)]))
        self.wrapped = copying_attributes(self.parse)

    @annotate.stage("user", "own")
    def own(self, x: Any) -> Any:
        return x

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        x = self.nameless(self.brighten(self.parse(image())))
        x = self.half(self.bound(self.table["flip"](self.steps[0](x))))
        return self.wrapped(self.transform(self.crop(x)))


def test_what_the_user_has_marked_is_one_stage_with_the_name_that_it_was_given(tmp_path: Path) -> None:
    ds = Marked()
    loader = annotate.loader(DataLoader(ds, batch_size=2))
    found = names(record(tmp_path, lambda: list(loader)))
    assert {name: count for name, count in found.items() if not name.startswith(("sample", "wait", "collate"))} == {
        "decode::parse": 4,
        "transform::brighter": 2,
        "user::Brighten": 2,
        "transform::steps": 2,
        "transform::table": 2,
        "user::own": 2,
        "user::half": 2,
        "transform::crop": 2,
        "transform::main": 2,
        "transform::CenterCrop": 2,
        "transform::Brighten": 2,  # a step of what is marked
        "decode::decode_png": 2,  # the user's own decorator around a stage is none
    }


def test_a_marked_object_goes_by_its_class() -> None:
    marked = annotate.stage("collate")(Brighten())
    assert getattr(marked, "__name__", "") == "Brighten"
    assert annotate.stage("collate")(flip).__name__ == "flip"
