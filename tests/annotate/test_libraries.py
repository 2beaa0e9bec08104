"""Pipelines of other libraries, by modules with their interfaces; `tests/ecosystem` runs the real ones."""

from __future__ import annotations

import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from capture_helpers import load, names, spans_of
from torch.utils.data import DataLoader, Dataset, IterableDataset

import annotate
from annotate.hooks import libraries, wrappers
from annotate.hooks.libraries import library
from annotate.hooks.libraries.library import Held, Library, Timed
from annotate.hooks.patching import Patches
from annotate.recording import switch
from tb_dataplugin import read_report
from tb_dataplugin.report.report_pb2 import Capture

COUNTS: dict[str, Any] = {"wait": 1, "warmup": 1, "active": 6}


def double(x: Any) -> Any:
    time.sleep(0.002)
    return 2 * x


def is_there(x: Any) -> bool:
    return x is not None


class FilterFunction:
    """As webdataset has it."""

    def __init__(self, f: Callable[..., Any], *args: Any, **kw: Any) -> None:
        self.f, self.args, self.kw = f, args, kw

    def __call__(self, data: Iterable[Any]) -> Any:
        return self.f(data, *self.args, **self.kw)


def _map(data: Iterable[Any], f: Callable[[Any], Any], handler: Any = None) -> Iterator[Any]:
    yield from (f(item) for item in data)


def _select(data: Iterable[Any], predicate: Callable[[Any], bool]) -> Iterator[Any]:
    yield from (item for item in data if predicate(item))


class Decoder:
    def decode1(self, key: str, data: Any) -> Any:
        return data

    def __call__(self, item: Any) -> Any:
        return self.decode1("png", item)


class Tars(IterableDataset[Any]):
    def __init__(self) -> None:
        self.pipeline = [FilterFunction(_map, Decoder()), FilterFunction(_map, double, handler=print)]
        self.pipeline.append(FilterFunction(_select, predicate=is_there))

    def __iter__(self) -> Iterator[Any]:
        source: Any = iter(range(48))
        for stage in self.pipeline:
            source = stage(source)
        yield from source


class CustomFormatter:
    """As datasets has it: made for each access."""

    def __init__(self, transform: Callable[[Any], Any]) -> None:
        self.transform = transform


class Rows(Dataset[Any]):
    def __len__(self) -> int:
        return 48

    def __getitem__(self, index: int) -> Any:
        return CustomFormatter(double).transform(index)


class MappedExamplesIterable:
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function


def add_mask(function: Callable[[Any], Any], x: Any) -> Any:
    return function(x)


class Streamed(IterableDataset[Any]):
    def __init__(self) -> None:
        self.mapped = MappedExamplesIterable(partial(add_mask, double))

    def __iter__(self) -> Iterator[Any]:
        return (self.mapped.function(index) for index in range(48))


class SubjectsDataset(Dataset[Any]):
    """As torchio has it."""

    def __init__(self) -> None:
        self._transform = double

    def __len__(self) -> int:
        return 48

    def __getitem__(self, index: int) -> Any:
        return self._transform(index)


class BaseNode:
    """As torchdata has it."""

    def __iter__(self) -> Any:
        return self

    def next(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        return self.next()


class _InlineMapperIter:
    def __init__(self, map_fn: Callable[[Any], Any]) -> None:
        self.map_fn = map_fn


class LoaderIterator(BaseNode):
    def __init__(self) -> None:
        self.source = Numbers()
        self.mapper = _InlineMapperIter(double)

    def next(self) -> Any:
        return self.mapper.map_fn(next(self.source))


class Numbers(BaseNode):
    def __init__(self) -> None:
        self.numbers = iter(range(12))

    def next(self) -> Any:
        return next(self.numbers)


class Pipeline:
    """As DALI has it."""

    def __init__(self) -> None:
        self.numbers = iter(range(12))

    def share_outputs(self) -> Any:
        return double(next(self.numbers))


class DALIGenericIterator:
    def __init__(self) -> None:
        self.pipeline = Pipeline()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self.pipeline.share_outputs()


MODULES: dict[str, list[type]] = {
    "webdataset.filters": [FilterFunction],
    "webdataset.autodecode": [Decoder],
    "datasets.formatting.formatting": [CustomFormatter],
    "datasets.iterable_dataset": [MappedExamplesIterable],
    "torchio.data.dataset": [SubjectsDataset],
    "torchdata.nodes.map": [_InlineMapperIter, type("_ParallelMapperIter", (), {})],
    "torchdata.nodes.base_node": [BaseNode],
    "nvidia.dali.pipeline": [Pipeline],
    "nvidia.dali.plugin.pytorch": [DALIGenericIterator],
}


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """The libraries, as far as our hooks know them."""
    for name, classes in MODULES.items():
        module = ModuleType(name)
        for cls in classes:
            setattr(module, cls.__name__, cls)
        monkeypatch.setitem(sys.modules, name, module)


def loader(dataset: Any, workers: int) -> Any:
    return DataLoader(dataset, batch_size=4, num_workers=workers)


CASES: list[tuple[Callable[[], Any], set[str], int]] = [
    (Tars, {"decode::webdataset.png", "transform::double", "transform::is_there"}, 2),
    (Tars, {"decode::webdataset.png", "transform::double", "transform::is_there"}, 0),
    (Rows, {"transform::double"}, 2),
    (Streamed, {"transform::double"}, 0),
    (SubjectsDataset, {"transform::double"}, 2),
]


def slowest_of(capture: Capture) -> str:
    """By self time: what the loop waits for beside it, on a busy machine, is the machine's."""
    stage = max((stage for stage in capture.stages if stage.kind != "wait"), key=lambda stage: stage.self_us)
    return f"{stage.kind}::{stage.label}"


@pytest.mark.parametrize(("make", "stages", "workers"), CASES)
def test_stages_of_a_dataset_are_named(make: Callable[[], Any], stages: set[str], workers: int, tmp_path: Path) -> None:
    plain = [batch.tolist() for batch in loader(make(), workers)]
    with annotate.profile(tmp_path, **COUNTS) as prof:
        seen = [batch.tolist() for batch in prof.steps(loader(make(), workers))]
    assert seen == plain
    (capture,) = read_report(tmp_path)
    assert stages <= {f"{stage.kind}::{stage.label}" for stage in capture.stages}
    assert slowest_of(capture) == "transform::double"


@pytest.mark.parametrize("by_steps", [True, False])
@pytest.mark.parametrize(
    ("make", "wait", "stages"),
    [
        (LoaderIterator, "wait::Loader", {"transform::double", "wrapper::Numbers"}),
        (DALIGenericIterator, "wait::DALIGenericIterator", {"transform::DALI.Pipeline"}),
    ],
)
def test_an_iterator_that_is_no_dataloader_has_a_wait_with_its_stages(
    make: Callable[[], Any], wait: str, stages: set[str], by_steps: bool, tmp_path: Path
) -> None:
    with annotate.profile(tmp_path, **COUNTS) as prof:
        if by_steps:
            assert list(prof.steps(make())) == [2 * number for number in range(12)]
        else:
            for _ in make():
                prof.step()
    spans = names(spans_of(load(prof.trace_files[0])))
    assert stages <= set(spans)
    waits = [name for name in spans if name.startswith("wait::")]
    assert waits == [f"wait::{make.__name__}" if by_steps else wait]
    (capture,) = read_report(tmp_path)
    assert capture.loader.wait_count == 6
    assert max(capture.loader.wait_by_stage_us, key=capture.loader.wait_by_stage_us.__getitem__) in stages


def test_nothing_is_changed_in_an_object_and_nothing_stays_on_its_class() -> None:
    held = CustomFormatter(double)
    pickled = pickle.dumps(held)
    patches = Patches()
    libraries.install(patches)
    try:
        assert held.transform is not double
        assert held.transform == double
        assert vars(held) == {"transform": double}
        assert pickle.dumps(held) == pickled
        held.transform = held.transform  # a copy constructor: `function=self.function`
        assert vars(held) == {"transform": double}
        del held.transform
        for owner in (held, CustomFormatter):
            assert not hasattr(owner, "transform")
        with pytest.raises(AttributeError):
            del held.transform
    finally:
        patches.undo()
    assert "transform" not in vars(CustomFormatter)


def test_before_a_window_only_what_makes_a_pipeline_or_gives_batches_is_hooked() -> None:
    early, before = Patches(), DALIGenericIterator.__next__
    libraries.install(early, from_the_start=True)
    try:
        assert DALIGenericIterator.__next__ is not before
        assert "args" in vars(FilterFunction)
        for cls, name in ((Decoder, "decode1"), (Pipeline, "share_outputs")):
            assert vars(cls)[name].__module__ == __name__
            assert not hasattr(vars(cls)[name], "__wrapped__")
        libraries.install(early)
        for cls, name in ((Decoder, "decode1"), (Pipeline, "share_outputs")):
            assert hasattr(vars(cls)[name], "__wrapped__")
        assert not hasattr(DALIGenericIterator.__next__.__wrapped__, "__wrapped__")  # type: ignore[attr-defined]
    finally:
        early.undo()
    assert DALIGenericIterator.__next__ is before


def test_a_coroutine_function_is_left_alone() -> None:
    async def later(x: Any) -> Any:
        return x

    assert library.timed(Patches(), later) is later
    assert library.timed(Patches(), 5) == 5


def test_another_version_of_a_library_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Library(
        "webdataset.filters",
        held=(Held("webdataset.filters", "Gone", "f"),),
        timed=(Timed("webdataset.filters", "FilterFunction", "gone", lambda patches, method: method),),
    )
    monkeypatch.setattr(libraries, "LIBRARIES", (other,))
    patches = Patches()
    libraries.install(patches)
    assert len(patches.notes) == 2
    patches.undo()


def test_a_fault_of_ours_never_reaches_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> Any:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(library, "_class", broken)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with annotate.profile(tmp_path, **COUNTS) as prof:
            seen = [batch.tolist() for batch in prof.steps(loader(Rows(), 0))]
    assert len(seen) == 12
    assert [str(warning.message) for warning in caught if "planted" in str(warning.message)][1:] == []


class Buffered(DataLoader[Any]):
    """An ``__iter__`` that is a generator, as MONAI's ThreadDataLoader has."""

    closed = 0

    def __iter__(self) -> Any:
        try:
            yield from super().__iter__()
        finally:
            self.closed += 1


def test_a_loader_that_iterates_by_a_generator_has_its_own_wait(tmp_path: Path) -> None:
    annotate.auto()
    buffered = Buffered(Rows(), batch_size=4)
    with annotate.profile(tmp_path, **COUNTS) as prof:
        for _ in buffered:
            prof.step()
    assert names(spans_of(load(prof.trace_files[0])))["wait::Buffered"] == 6
    assert buffered.closed == 1


def test_leaving_the_loop_closes_the_loaders_own_generator() -> None:
    annotate.auto()
    buffered = Buffered(Rows(), batch_size=4)
    batches = iter(buffered)
    next(batches)
    batches.close()
    assert buffered.closed == 1


def test_a_generators_result_and_its_errors_pass() -> None:
    def ends() -> Any:
        yield 1
        return 2

    def raises() -> Any:
        yield 1
        raise KeyError("mine")

    batches = wrappers.waited_for(ends(), "ends")
    assert next(batches) == 1
    with pytest.raises(StopIteration) as end:
        next(batches)
    assert end.value.value == 2
    with pytest.raises(KeyError, match="mine"):
        list(wrappers.waited_for(raises(), "raises"))
    assert not switch.thread.open.waiting
