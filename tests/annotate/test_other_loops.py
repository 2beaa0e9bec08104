"""`run` of a loop over an iterator that is none of torch's; `tests/ecosystem` has the real libraries."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import annotate
import tb_dataplugin
from annotate.capture import standing
from annotate.capture.session import Session
from annotate.capture.standing_session import StandingSession
from annotate.hooks import patching, wrappers
from annotate.launch.others import ITERATED, Others
from annotate.launch.site import _annotate_watch as watch
from annotate.launch.turns import Source
from annotate.workers.standing import StandingWorkers
from tests.tb_dataplugin.drive.launched import forked, launched

NODES = {
    "__init__.py": "",
    "nodes/__init__.py": "from . import base_node, loader, map",
    "nodes/base_node.py": """
class BaseNode:
    def __iter__(self): return self
    def __next__(self): return self.next()
""",
    "nodes/loader.py": """
from .base_node import BaseNode
class Loader:
    def __init__(self, root): self.root = root
    def __iter__(self): return LoaderIterator(self.root)
class LoaderIterator(BaseNode):
    def __init__(self, root): self.it = root()
    def next(self): return next(self.it)
""",
    "nodes/map.py": """
import queue, threading
class _InlineMapperIter:
    def __init__(self, source, map_fn): self.source, self.map_fn = source, map_fn
    def __iter__(self): return self
    def __next__(self): return self.map_fn(next(self.source))
class _ParallelMapperIter:
    def __init__(self, source, map_fn):
        self.source, self.map_fn, self.done = source, map_fn, queue.Queue(2)
        threading.Thread(target=self.work, args=(self.map_fn,), daemon=True).start()
    def work(self, function):
        for item in self.source: self.done.put(function(item))
        self.done.put(None)
    def __iter__(self): return self
    def __next__(self):
        item = self.done.get()
        if item is None: raise StopIteration
        return item
""",
}
"""torchdata's nodes, as far as our hooks know them."""

PROGRAM = """
import time, torch, {more}
from torchdata.nodes.loader import Loader
from torchdata.nodes.map import _InlineMapperIter, _ParallelMapperIter

def decode(index):
    time.sleep(0.004)
    return torch.full((2, 4), float(index)) + torch.rand(1)

if __name__ == "__main__":
    torch.manual_seed(1); torch.set_num_threads(1)
    model = torch.nn.Linear(4, 1)
    for epoch in range(2):
        for batch in Loader(lambda: {mapper}(iter(range(20)), decode)):
            loss = model(batch).sum(); loss.backward()
            print(loss.item())
    print(decode.__name__, torch.rand(1).item())
"""


@pytest.mark.one_of(2)
@pytest.mark.parametrize("mapper", ["_ParallelMapperIter", "_InlineMapperIter"])
def test_a_loop_over_nodes_is_what_it_is_without_us_and_its_stage_has_the_wait(mapper: str, tmp_path: Path) -> None:
    for name, text in NODES.items():
        file = tmp_path / "torchdata" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(mapper=mapper, more="tests.support.without_compiler"))
    alone = forked([sys.executable, str(file)], cwd=tmp_path)
    assert alone.status == 0, alone.err
    command = [sys.executable, str(file)]
    ours = launched(command, "--wait", "4", "--active", "8", cwd=tmp_path, logdir=tmp_path / "runs")
    assert (ours.status, ours.out) == (0, alone.out)
    [capture] = tb_dataplugin.read_report(tmp_path / "runs")
    assert capture.steps.count == 8
    by_stage = capture.loader.wait_by_stage_us
    assert max(by_stage, key=by_stage.__getitem__) == "transform::decode"
    assert "transform::decode" in ours.line


class BaseNode:
    """As torchdata has it."""

    def __next__(self) -> Any:
        return 7


class LoaderIterator(BaseNode):
    pass


class _InlineMapperIter:
    def __init__(self) -> None:
        self.map_fn = abs


class Loader:
    def __iter__(self) -> Iterator[Any]:
        return iter([1])


CLASSES: tuple[type, ...] = (BaseNode, _InlineMapperIter, Loader)
MODULES: dict[str, list[type]] = {
    "torchdata.nodes.base_node": [BaseNode],
    "torchdata.nodes.map": [_InlineMapperIter, type("_ParallelMapperIter", (), {})],
    "torchdata.nodes.loader": [Loader],
}


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The library has been imported; afterwards its classes are as they were."""
    for name, classes in MODULES.items():
        module = types.ModuleType(name)
        for cls in classes:
            setattr(module, cls.__name__, cls)
        monkeypatch.setitem(sys.modules, name, module)
    before = [dict(vars(cls)) for cls in CLASSES]
    yield
    assert [dict(vars(cls)) for cls in CLASSES] == before
    assert patching.early is None
    assert wrappers.on_own_batch is None


@pytest.fixture
def workers() -> StandingWorkers:
    return StandingWorkers()


def test_batches_are_told_until_the_process_iterates_a_dataloader(nodes: None, workers: StandingWorkers) -> None:
    told: list[Source] = []
    others = Others(workers, told.append)
    others.begin()
    assert next(LoaderIterator()) == 7
    assert told == [ITERATED]
    workers.loaders.settings.append({})
    assert next(LoaderIterator()) == 7
    assert told == [ITERATED]
    others.end()


def test_a_batch_that_comes_while_a_profiler_is_at_work_may_end_a_step(nodes: None, workers: StandingWorkers) -> None:
    moments: list[int] = []
    workers.on_batch = moments.append
    others = Others(workers, lambda source: None)
    others.begin()
    next(LoaderIterator())
    assert moments == []
    workers.is_armed = True
    next(LoaderIterator())
    assert len(moments) == 1
    others.end()


def test_a_fault_of_ours_costs_no_batch(nodes: None, workers: StandingWorkers) -> None:
    def fails(source: Source) -> None:
        raise ZeroDivisionError

    others = Others(workers, fails)
    others.begin()
    with pytest.warns(RuntimeWarning, match="does not record the loop of a library's own iterator"):
        assert next(LoaderIterator()) == 7
    others.end()


def test_functions_that_a_pipeline_takes_up_before_the_window_are_timed_in_it(
    nodes: None, workers: StandingWorkers
) -> None:
    held = _InlineMapperIter()
    others = Others(workers, lambda source: None)
    others.begin()
    taken_up = held.map_fn
    assert taken_up == abs
    assert vars(held) == {"map_fn": abs}
    session = StandingSession(workers)
    assert patching.early is None
    session.begin()
    assert session.patches.notes == []
    session.end()
    others.end()
    assert taken_up(-1) == 1


def test_off_takes_them_out(nodes: None) -> None:
    annotate.auto()
    stands = standing.current()
    assert stands is not None
    Others(stands.workers, lambda source: None).begin()
    assert wrappers.on_own_batch is not None
    annotate.off()


def test_a_session_of_annotates_own_begins_without_them(nodes: None, workers: StandingWorkers) -> None:
    others = Others(workers, lambda source: None)
    others.begin()
    session = Session()
    session.begin()
    assert session.patches.notes == []
    session.end()
    others.end()


def test_what_watches_sees_the_first_iteration_and_is_gone(
    nodes: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[None] = []
    monkeypatch.setenv(watch.FOLDER, str(tmp_path))
    monkeypatch.setattr(watch, "_begin", lambda: begun.append(None))
    monkeypatch.setattr(watch, "_installed", lambda name: name.startswith("torchdata"))
    before = list(sys.meta_path)
    dataloaders = vars(DataLoader)["__iter__"]
    watch.install()
    assert sys.meta_path == before
    assert list(Loader()) == [1]
    assert list(Loader()) == [1]
    assert begun == [None]
    assert vars(DataLoader)["__iter__"] is dataloaders


def test_what_watches_waits_for_a_library_that_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(watch.FOLDER, str(tmp_path))
    monkeypatch.setattr(watch, "_installed", lambda name: name.startswith("torchdata"))
    before = list(sys.meta_path)
    watch.install()
    assert len(sys.meta_path) == len(before) + 1
    watch.disarm()
    assert sys.meta_path == before


def test_no_library_is_imported_to_see_whether_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spaces" / "dali").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    assert watch._installed("spaces.dali.pipeline")
    assert not watch._installed("spaces.cuda.pipeline")
    assert not watch._installed("not_there_at_all.nodes.loader")
    assert "spaces" not in sys.modules
