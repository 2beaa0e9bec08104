"""A generator that an object around the loader holds: timed while the capture is on, and the user's own afterwards."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import GeneratorType
from typing import Any

import pytest
from capture_helpers import load, spans_of
from torch.utils.data import DataLoader, Dataset

import annotate


class Numbers(Dataset[int]):
    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> int:
        return index


def to_patches(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        time.sleep(0.005)
        yield batch


class Mixup:
    def __init__(self, inner: Iterable[Any]) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[Any]:
        self.it = iter(self.inner)
        return self

    def __next__(self) -> Any:
        time.sleep(0.001)
        return next(self.it)


def capture(folder: Path, batches: Iterable[Any], steps: int = 8) -> str:
    with annotate.profile(folder, wait=1, warmup=1, active=4) as prof:
        for number, _ in enumerate(prof.steps(batches)):
            if number == steps:
                break
    return prof.trace_files[0]


def test_a_generator_inside_a_class_has_its_own_time(tmp_path: Path) -> None:
    mixup = Mixup(to_patches(annotate.loader(DataLoader(Numbers(), batch_size=2))))
    spans = [span for root in spans_of(load(capture(tmp_path, mixup))) for span in root.walk()]
    slow = [span for span in spans if span.name == "wrapper::to_patches"]
    assert len(slow) >= 4
    assert all(span.end - span.start >= 4900 for span in slow)


def test_afterwards_the_object_holds_the_generator_itself(tmp_path: Path) -> None:
    generator = to_patches(annotate.loader(DataLoader(Numbers(), batch_size=2)))
    mixup = Mixup(generator)
    capture(tmp_path, mixup)
    assert mixup.inner is generator
    assert mixup.it is generator
    assert next(generator).tolist() == [18, 19]


def test_an_attribute_that_the_user_has_changed_meanwhile_stays(tmp_path: Path) -> None:
    mixup = Mixup(to_patches(annotate.loader(DataLoader(Numbers(), batch_size=2))))
    with annotate.profile(tmp_path, wait=1, warmup=1, active=2) as prof:
        for number, _ in enumerate(prof.steps(mixup)):
            if number == 6:
                mixup.inner = []
                break
    assert mixup.inner == []


def test_while_the_capture_is_on_it_looks_like_the_generator(tmp_path: Path) -> None:
    mixup = Mixup(to_patches(annotate.loader(DataLoader(Numbers(), batch_size=2))))
    with annotate.profile(tmp_path, wait=1, warmup=1, active=2) as prof:
        for _ in prof.steps(mixup):
            inner: Any = mixup.inner
            assert isinstance(inner, GeneratorType)
            assert inspect.isgenerator(inner)
            assert inner.gi_code.co_name == "to_patches"
            with pytest.raises(TypeError):
                copy.copy(inner)


def test_closing_and_throwing_reach_the_generator(tmp_path: Path) -> None:
    ended = []

    def guarded(batches: Iterable[Any]) -> Iterator[Any]:
        try:
            yield from batches
        except KeyError:
            ended.append("thrown")
            yield None
        finally:
            ended.append("closed")

    mixup = Mixup(guarded(annotate.loader(DataLoader(Numbers(), batch_size=2))))
    with annotate.profile(tmp_path, wait=0, warmup=1, active=2) as prof:
        for number, _ in enumerate(prof.steps(mixup)):
            if number == 4:
                inner: Any = mixup.inner
                inner.throw(KeyError())
                inner.close()
                break
    assert ended == ["thrown", "closed"]
