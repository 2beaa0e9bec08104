from __future__ import annotations

import copy
import functools
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import albumentations
import numpy as np
import PIL.Image
import pytest
import torch
from capture_helpers import names, record, trees
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

import annotate
from annotate.capture.session import Session
from annotate.recording import switch


class AddOne:
    def __call__(self, x: Any) -> Any:
        return x + 1

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}()"


class Slotted:
    __slots__ = ("by",)

    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, x: Any) -> Any:
        return x * self.by


class Registering:
    subclasses: ClassVar[list[type]] = []

    def __init_subclass__(cls) -> None:
        Registering.subclasses.append(cls)


class Registered(Registering):
    def __call__(self, x: Any) -> Any:
        return x


class Copying:
    """Makes copies of itself as many libraries do."""

    def __call__(self, x: Any) -> Any:
        return x

    def clone(self) -> Copying:
        return self.__class__()


def double(x: Any) -> Any:
    return x * 2


def image() -> PIL.Image.Image:
    pixels = np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8)
    return PIL.Image.fromarray(pixels)


PIPELINES: dict[str, Callable[[], Any]] = {
    "v1 Compose": lambda: v1.Compose([v1.RandomCrop(16), v1.RandomHorizontalFlip(), v1.PILToTensor()]),
    "v2 Compose": lambda: v2.Compose([v2.RandomCrop(16), v2.RandomHorizontalFlip(), v2.PILToTensor()]),
    "RandomApply": lambda: v1.RandomApply([v1.ColorJitter(0.5), v1.RandomCrop(16)], p=0.7),
    "v2 RandomApply": lambda: v2.RandomApply([v2.ColorJitter(0.5), v2.RandomCrop(16)], p=0.7),
    "RandomChoice": lambda: v1.RandomChoice([v1.RandomCrop(16), v1.RandomCrop(20)]),
    "v2 RandomChoice": lambda: v2.RandomChoice([v2.RandomCrop(16), v2.RandomCrop(20)]),
    "RandomOrder": lambda: v1.RandomOrder([v1.RandomCrop(16), v1.RandomHorizontalFlip()]),
    "nested": lambda: v1.Compose([v1.Compose([v1.RandomCrop(16)]), v2.Compose([v2.RandomVerticalFlip()])]),
    "Sequential": lambda: nn.Sequential(v1.RandomCrop(16), v1.RandomHorizontalFlip()),
    "ModuleList": lambda: v1.RandomApply(nn.ModuleList([v1.RandomCrop(16)]), p=0.9),
    "functions": lambda: v1.Compose([v1.PILToTensor(), double, v1.Lambda(double), torch.neg]),
    "our own": lambda: annotate.compose([v1.RandomCrop(16), v1.PILToTensor(), double]),
}


def run(pipeline: Any) -> list[bytes]:
    torch.manual_seed(3)
    random.seed(3)
    return [np.asarray(pipeline(image())).tobytes() for _ in range(8)]


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_is_the_same_object_with_the_same_type_repr_and_results(name: str, tmp_path: Path) -> None:
    expected = run(PIPELINES[name]())
    pipeline = PIPELINES[name]()
    before = (type(pipeline), repr(pipeline))
    held = [type(t) for t in getattr(pipeline, "transforms", [])]
    assert annotate.compose(pipeline) is pipeline
    assert (type(pipeline), repr(pipeline)) == before
    assert run(pipeline) == expected
    results: list[bytes] = []

    def code() -> None:
        results.extend(run(pipeline))
        assert repr(pipeline) == before[1]
        assert type(pipeline) is before[0]
        assert isinstance(pipeline, before[0])

    roots = record(tmp_path, code)
    assert results == expected
    assert names(roots)
    assert (type(pipeline), repr(pipeline)) == before
    assert [type(t) for t in getattr(pipeline, "transforms", [])] == held


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_pickles_and_copies_as_itself_during_a_session(name: str) -> None:
    pipeline = annotate.compose(PIPELINES[name]())
    expected = run(pipeline)
    session = Session()
    session.begin()
    try:
        copies = [pickle.loads(pickle.dumps(pipeline)), copy.deepcopy(pipeline)]
    finally:
        session.end()
    for one in copies:
        assert type(one) is type(pipeline)
        assert repr(one).split("<")[0] == repr(pipeline).split("<")[0]
        assert run(one) == expected
        held = getattr(one, "transforms", [])
        assert [type(t) for t in held] == [type(t) for t in getattr(pipeline, "transforms", [])]


def test_every_transform_is_a_span_nested_as_composed(tmp_path: Path) -> None:
    inner = v1.Compose([v1.RandomCrop(16), v1.PILToTensor()])
    pipeline = annotate.compose(v1.Compose([inner, double, functools.partial(torch.add, other=1)]))
    roots = record(tmp_path, lambda: pipeline(image()))
    assert trees(roots) == [
        (
            "transform::Compose",
            [
                ("transform::Compose", ["transform::RandomCrop", "transform::PILToTensor"]),
                "transform::double",
                "transform::add",
            ],
        )
    ]


def test_children_of_choices_are_spans_and_those_of_torchs_own_containers_which_have_none(tmp_path: Path) -> None:
    pipeline = annotate.compose(nn.Sequential(v2.RandomCrop(16), v2.RandomChoice([v2.RandomHorizontalFlip(p=1)])))
    roots = record(tmp_path, lambda: pipeline(image()))
    assert trees(roots) == [
        "transform::RandomCrop",
        ("transform::RandomChoice", ["transform::RandomHorizontalFlip"]),
    ]


def test_module_hooks_still_run(tmp_path: Path) -> None:
    crop = v1.RandomCrop(16)
    calls: list[str] = []
    crop.register_forward_hook(lambda *_: calls.append("hook"))
    pipeline = annotate.compose(nn.Sequential(crop))
    record(tmp_path, lambda: pipeline(image()))
    assert calls == ["hook"]


def albumentation() -> Any:
    return albumentations.Compose(
        [
            albumentations.RandomCrop(16, 16),
            albumentations.OneOf([albumentations.HorizontalFlip(p=1), albumentations.VerticalFlip(p=1)], p=1),
        ],
        seed=5,
    )


def test_albumentations_takes_keywords_and_gives_the_same_dict(tmp_path: Path) -> None:
    from albumentations.core.serialization import SERIALIZABLE_REGISTRY

    pixels = np.asarray(image())
    expected = [albumentation()(image=pixels)["image"] for _ in range(1)]
    classes = dict(SERIALIZABLE_REGISTRY)
    pipeline = albumentation()
    before = (type(pipeline), repr(pipeline), pickle.dumps(albumentations.to_dict(pipeline)))
    assert annotate.compose(pipeline) is pipeline
    results: list[Any] = []
    roots = record(tmp_path, lambda: results.append(pipeline(image=pixels)))
    assert np.array_equal(results[0]["image"], expected[0])
    assert (type(pipeline), repr(pipeline), pickle.dumps(albumentations.to_dict(pipeline))) == before
    assert dict(SERIALIZABLE_REGISTRY) == classes
    (root,) = trees(roots)
    assert root[0] == "transform::Compose"
    assert root[1][0] == "transform::RandomCrop"
    assert root[1][1][0] == "transform::OneOf"
    assert root[1][1][1] in (["transform::HorizontalFlip"], ["transform::VerticalFlip"])


def test_a_list_becomes_a_compose_that_pickles() -> None:
    pipeline = annotate.compose([AddOne(), double])
    assert repr(pipeline).startswith("Compose(\n    AddOne()\n    <function double")
    assert pickle.loads(pickle.dumps(pipeline))(1) == 4
    assert annotate.compose((AddOne(),)).transforms[0](1) == 2


def test_what_cannot_be_called_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"element 1 is 3 \(int\)"):
        annotate.compose([AddOne(), 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="list of callables"):
        annotate.compose(3)  # type: ignore[call-overload]


def test_instrumenting_twice_gives_one_span(tmp_path: Path) -> None:
    shared = AddOne()
    pipeline = annotate.compose(annotate.compose([shared, shared, double]))
    roots = record(tmp_path, lambda: pipeline(1))
    assert trees(roots) == [("transform::Compose", ["transform::AddOne", "transform::AddOne", "transform::double"])]


def test_classes_with_slots_and_registries_are_timed_without_being_noticed(tmp_path: Path) -> None:
    known = list(Registering.subclasses)
    copying = Copying()
    pipeline = annotate.compose([Slotted(3), Registered(), copying])
    clones: list[Any] = []

    def code() -> None:
        assert pipeline(2) == 6
        clones.append(copying.clone())
        assert pickle.loads(pickle.dumps(pipeline.transforms[0])).by == 3

    roots = record(tmp_path, code)
    assert names(roots)["transform::Slotted"] == names(roots)["transform::Registered"] == 1
    assert Registering.subclasses == known
    assert type(clones[0]) is Copying
    assert [type(t) for t in pipeline.transforms] == [Slotted, Registered, Copying]


def test_what_stands_for_a_plain_function_can_be_told_by_type_and_identity_only(tmp_path: Path) -> None:
    pipeline = annotate.compose([double, functools.partial(torch.add, other=1), AddOne()])
    held = list(pipeline.transforms)

    def code() -> None:
        for inside, outside in zip(pipeline.transforms, held, strict=True):
            assert inside.__class__ is type(outside) and isinstance(inside, type(outside))
            assert inside == outside and hash(inside) == hash(outside) and repr(inside) == repr(outside)
            assert vars(inside) == vars(outside)
            assert type(pickle.loads(pickle.dumps(inside))) is type(outside)
        assert pipeline.transforms[2] is held[2]
        assert pipeline.transforms[0] is not held[0], "the exception, which ARCHITECTURE states"
        pipeline(1)

    record(tmp_path, code)
    assert all(inside is outside for inside, outside in zip(pipeline.transforms, held, strict=True))


def test_a_tuple_of_functions_is_timed_and_put_back(tmp_path: Path) -> None:
    held = (double, AddOne())
    pipeline = annotate.compose(v1.Compose(held))
    roots = record(tmp_path, lambda: pipeline(1))
    assert trees(roots) == [("transform::Compose", ["transform::double", "transform::AddOne"])]
    assert pipeline.transforms is held


def test_a_change_made_during_the_session_survives_it(tmp_path: Path) -> None:
    pipeline = annotate.compose([double, AddOne()])

    def code() -> None:
        pipeline.transforms.insert(0, double)
        pipeline.transforms.pop()

    record(tmp_path, code)
    assert pipeline.transforms == [double, double]
    assert all(t is double for t in pipeline.transforms)


def test_an_exception_of_a_transform_passes_unchanged_and_ends_its_span(tmp_path: Path) -> None:
    error = KeyError("mine")

    def fail(x: Any) -> Any:
        raise error

    pipeline = annotate.compose([fail])
    roots: list[Any] = []

    def code() -> None:
        with pytest.raises(KeyError) as caught:
            pipeline(1)
        assert caught.value is error
        assert not switch.thread.open.sample

    roots = record(tmp_path, code)
    assert trees(roots) == [("transform::Compose", ["transform::fail"])]


def test_marked_pipelines_are_not_kept_alive() -> None:
    import gc
    import weakref

    pipeline = annotate.compose([AddOne()])
    gone = weakref.ref(pipeline)
    del pipeline
    gc.collect()
    assert gone() is None
