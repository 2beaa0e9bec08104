"""Programs without a line of ours: when they are recorded, what comes of it, and what they must not notice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from capture_helpers import load
from torch.utils.data import DataLoader, Dataset

import annotate
import tb_dataplugin
from annotate.launch.order import Order, read_order
from annotate.launch.recording import settled
from annotate.launch.site import _annotate_watch as watch
from annotate.launch.waiting import LEAD, Taken, Waiting
from tests.support.torchs_lines import is_torchs_own
from tests.tb_dataplugin.drive.launched import environment, forked, launched, plain, tool

METHODS = ("__iter__", "_get_iterator", "__init_subclass__")


def due(waiting: Waiting, taken: Taken, most: int = 200) -> tuple[int, int] | None:
    """After how many batches it is time, and how many of warm-up follow."""
    for batch in range(most):
        warm_up = waiting.warm_up(taken._replace(epoch=0 if taken.length is None else batch // taken.length))
        if warm_up is not None:
            return batch, warm_up
    return None


def test_a_given_wait_is_exact() -> None:
    assert due(Waiting(7, 10), Taken(0, 0, 0, 1000)) == (7, 2)
    assert due(Waiting(0, 10), Taken(0, 0, 0, None)) == (0, 2)


def test_the_warm_up_uses_up_what_was_prefetched() -> None:
    assert due(Waiting(1, 10), Taken(0, 0, 8, 1000)) == (1, 9)
    assert due(Waiting(1, 10), Taken(0, 0, 500, None)) == (1, 32)


def test_a_window_fits_into_an_epoch_that_is_long_enough() -> None:
    assert due(Waiting("auto", 10), Taken(0, 0, 0, 20)) == (20 - 2 - 10 - LEAD, 2)


def test_a_short_loop_is_recorded_from_its_beginning() -> None:
    assert due(Waiting("auto", 10), Taken(0, 0, 0, 8)) == (1, 2)
    assert due(Waiting("auto", 10), Taken(0, 0, 4, 3)) == (1, 0)


def test_batches_of_a_validation_do_not_count() -> None:
    waiting = Waiting(2, 10)
    with torch.no_grad():
        assert due(waiting, Taken(1, 0, 0, None), most=15) is None
    assert due(waiting, Taken(0, 0, 0, None)) == (2, 2)


def test_validations_within_a_loop_never_become_the_loop() -> None:
    waiting, loop, validation = Waiting(12, 10), Taken(0, 0, 0, None), Taken(1, 0, 0, None)
    for _ in range(6):
        assert due(waiting, loop, most=2) is None
        with torch.no_grad():
            assert due(waiting, validation, most=10) is None
    assert due(waiting, loop) == (0, 2)


def test_a_program_without_gradients_is_recorded_later() -> None:
    with torch.no_grad():
        assert due(Waiting(2, 10), Taken(0, 0, 0, None)) == (22, 2)


def test_the_step_in_which_the_window_opens_is_none() -> None:
    assert settled("optimizer", [0, 5, 10, 20, 30], 2) == ("optimizer", [5, 10, 20])
    assert settled("optimizer", [0, 5], 2) == ("optimizer", [0, 5])
    assert settled("batch", [10, 20, 30, 40], 2) == ("batch", [10, 20, 30])


def test_the_order_comes_from_the_run_or_from_the_environment(tmp_path: Path) -> None:
    assert read_order({}) is None
    assert read_order({"ANNOTATE": str(tmp_path)}) == Order(logdir=tmp_path)
    assert read_order({"ANNOTATE_RUN": str(tmp_path / "gone")}) is None
    (tmp_path / "order.json").write_text(json.dumps({"logdir": "/l", "wait": None, "active": 3, "standby": True}))
    assert read_order({"ANNOTATE_RUN": str(tmp_path), "ANNOTATE": "x"}) == Order(
        logdir=Path("/l"), active=3, is_standby=True, folder=tmp_path
    )


class Numbers(Dataset[int]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return index


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of a run without an order: everything wakes, and nothing is recorded."""
    monkeypatch.setenv(watch.FOLDER, str(tmp_path))
    before = {name: vars(DataLoader).get(name) for name in METHODS}
    yield tmp_path
    watch.disarm()
    assert {name: vars(DataLoader).get(name) for name in METHODS} == before


def marks(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


def test_what_watches_is_gone_with_the_first_iteration(folder: Path) -> None:
    before = {name: vars(DataLoader).get(name) for name in METHODS}
    watch.install()
    assert vars(DataLoader)["__iter__"] is not before["__iter__"]
    assert [int(batch) for batch in DataLoader(Numbers())] == [0, 1, 2, 3]
    assert {name: vars(DataLoader).get(name) for name in METHODS} == before
    assert marks(folder) == [".python", ".torch"]


def test_a_loader_with_methods_of_its_own_wakes_it(folder: Path) -> None:
    watch.install()

    class Own(DataLoader[Any]):
        def __iter__(self) -> Any:
            return iter([7])

    assert list(Own(Numbers())) == [7]
    assert watch._armed == []
    assert vars(Own)["__iter__"].__qualname__.endswith("Own.__iter__")
    assert "__wrapped__" not in vars(vars(Own)["__iter__"])


def test_what_somebody_has_put_on_top_stays_and_is_called_once(folder: Path) -> None:
    original = DataLoader.__iter__
    watch.install()
    under, calls = DataLoader.__iter__, []

    def on_top(self: Any) -> Any:
        calls.append(1)
        return under(self)

    try:
        DataLoader.__iter__ = on_top  # type: ignore[method-assign]
        assert [int(batch) for batch in DataLoader(Numbers())] == [0, 1, 2, 3]
        assert len(calls) == 1
        assert [int(batch) for batch in DataLoader(Numbers())] == [0, 1, 2, 3]
        assert len(calls) == 2
        assert DataLoader.__iter__ is on_top
    finally:
        DataLoader.__iter__ = original  # type: ignore[method-assign]


def test_a_loader_that_another_thread_iterates_while_we_begin_waits_for_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would not be followed: an evaluation in a thread of its own may begin first."""
    begins, goes_on, done = threading.Event(), threading.Event(), []

    def begin() -> None:
        begins.set()
        goes_on.wait()
        done.append("begun")

    def iterate() -> None:
        list(DataLoader(Numbers()))
        done.append("iterated")

    monkeypatch.setattr("annotate.launch.begin.begin", begin)
    watch.install()
    threads = [threading.Thread(target=iterate) for _ in range(3)]
    threads[0].start()
    begins.wait()
    for thread in threads[1:]:
        thread.start()
    threads[1].join(0.2)
    assert done == []
    goes_on.set()
    for thread in threads:
        thread.join()
    assert done == ["begun", *["iterated"] * 3]
    assert watch._armed == []


def test_the_first_of_several_threads_stays_the_first_while_we_begin(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loaders draw their seeds from one random generator: in another order workers would get others."""
    begins, goes_on = threading.Event(), threading.Event()
    order: list[int] = []

    class Own(DataLoader[int]):
        def _get_iterator(self) -> Any:
            if threading.current_thread() is threads[0]:
                time.sleep(0.2)
            order.append(threads.index(threading.current_thread()))
            return super()._get_iterator()

    def begin() -> None:
        begins.set()
        goes_on.wait()

    monkeypatch.setattr("annotate.launch.begin.begin", begin)
    watch.install()
    threads = [threading.Thread(target=lambda: list(Own(Numbers()))) for _ in range(2)]
    threads[0].start()
    begins.wait()
    threads[1].start()
    threads[1].join(0.1)
    goes_on.set()
    for thread in threads:
        thread.join()
    assert order == [0, 1]
    assert watch._armed == [] and not watch._lock.locked()


def test_annotate_itself_takes_the_place_of_what_watches(folder: Path) -> None:
    watch.install()
    annotate.auto()
    assert watch._armed == []
    assert [int(batch) for batch in DataLoader(Numbers())] == [0, 1, 2, 3]
    annotate.off()


def test_the_finder_leaves_an_import_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spec, loader and the list of finders are what they are without it, and no frame of ours is around a module."""
    (tmp_path / "watched.py").write_text("""
import sys, traceback
frames = [frame.filename for frame in traceback.extract_stack()]
import watched_inside
class DataLoader:
    def __iter__(self): return iter('ab')
""")
    for name in ("watched_inside", "watched_next"):
        (tmp_path / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(watch, "_WATCHED", "watched")
    monkeypatch.setattr(watch, "_begin", lambda: None)
    monkeypatch.setenv(watch.FOLDER, str(tmp_path))
    before = list(sys.meta_path)
    watch.install()
    assert len(sys.meta_path) == len(before) + 1
    import watched  # type: ignore[import-not-found]

    assert watch._armed == []  # it may still be looked at by those who import it
    import watched_next  # type: ignore[import-not-found]  # noqa: F401

    try:
        assert not any("_annotate_watch" in name for name in watched.frames)
        assert list(sys.meta_path) == before
        assert type(watched.__spec__.loader).__name__ == "SourceFileLoader"
        assert watched.__loader__ is watched.__spec__.loader
        assert list(watched.DataLoader()) == ["a", "b"]
        assert watch._armed == []
    finally:
        watch.disarm()
        for name in ("watched", "watched_inside", "watched_next"):
            del sys.modules[name]


@pytest.fixture
def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Ctrl-C comes while our part in the program is being loaded: what that does. It is Python's own, which a process
    that a shell put into the background does not have.
    """
    done: list[str] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def begin() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("begun")

    monkeypatch.setattr("annotate.launch.begin.begin", begin)
    watch.install()
    yield done
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_we_begin_is_raised_in_the_programs_own_line(interrupted: list[str]) -> None:
    try:
        for _ in DataLoader(Numbers()):
            pytest.fail("a batch came")
    except KeyboardInterrupt as error:
        frames = traceback.extract_tb(error.__traceback__)
    assert [frame.filename for frame in frames] == [__file__]
    assert interrupted == ["begun"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_we_begin_calls_the_programs_own_handler(interrupted: list[str]) -> None:
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.append("handled"))
    try:
        assert [int(batch) for batch in DataLoader(Numbers())] == [0, 1, 2, 3]
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupted == ["begun", "handled"]


def test_a_program_whose_environment_lacks_annotate_gets_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    found = watch.Home.find_spec("annotate")
    assert found.origin == annotate.__file__
    assert watch.Home.find_spec("annotate.launch") is None
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "annotate")
    watch.make_importable()
    assert sys.meta_path[-1] is watch.Home


COMMON = """
import hashlib, os, random, sys, time
import numpy, torch
import tests.support.without_compiler
from torch.utils.data import DataLoader, Dataset

class Photos(Dataset):
    def __init__(self, size): self.size = size; self.transforms = [Slow(), Shift()]
    def __len__(self): return self.size
    def __getitem__(self, index):
        item = torch.full((4,), float(index)) + random.random() + torch.rand(1)
        for transform in self.transforms: item = transform(item)
        return item

class Slow:
    def __call__(self, item): time.sleep(0.005); return item

class Shift:
    def __call__(self, item): return item + 1

def say(*words):  # in one write: ranks share the pipe
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def train(loader, body=lambda: None):
    model = torch.nn.Linear(4, 1); optimizer = torch.optim.SGD(model.parameters(), 1e-6)
    digest = hashlib.sha256()
    for epoch in range(2):
        for batch in loader:
            loss = model(batch).sum(); optimizer.zero_grad(); loss.backward(); optimizer.step()
            digest.update(batch.numpy().tobytes()); body()
    say(digest.hexdigest(), random.random(), numpy.random.rand(), torch.rand(1).item())

def main():
    torch.manual_seed(1); random.seed(2); numpy.random.seed(3); torch.set_num_threads(1)
"""

END = """
if __name__ == "__main__":
    main()
"""

WORKERS = "    train(DataLoader(Photos(60), 2, shuffle=True, num_workers=2))"
PROGRAMS = {
    "workers": WORKERS,
    "exception": """
    batches = iter(range(20))
    train(DataLoader(Photos(60), 2, num_workers=1), body=lambda: next(batches))""",
    "killed while recorded": """
    import os, signal
    batches = iter(range(20))
    def body():
        if next(batches) == 18: os.kill(os.getpid(), signal.SIGKILL)
    train(DataLoader(Photos(60), 2), body)""",
    "ranks": """
    import torch.multiprocessing as mp
    mp.start_processes(rank, nprocs=2, start_method='fork')
def rank(number):
    import os; os.environ.update(RANK=str(number), WORLD_SIZE='2')
    torch.manual_seed(number); random.seed(number)
    batches = []
    train(DataLoader(Photos(12), 2, num_workers=1), lambda: batches.append(1))
    if number: say(len(batches))""",
    "own profiler": """
    with torch.profiler.profile(schedule=torch.profiler.schedule(wait=22, warmup=1, active=3)) as prof:
        train(DataLoader(Photos(60), 2), prof.step)
    print(sorted(event.key for event in prof.key_averages() if event.key.startswith('ProfilerStep')))""",
}


LEFT_OUT = {"exception": pytest.mark.thorough}  # tests/harm/test_launch.py has exceptions of every kind
NOTHING = {
    "killed while recorded": "signal 9 ended the program before a trace was written",
    "own profiler": "the program's own profiler was at work",
}


def without_torchs_own(err: str) -> list[str]:
    """torch's profiler says when it starts and stops, and complains outside the main thread; two ranks write
    into each other's lines, which leaves empty ones."""
    return [line for line in err.splitlines() if line.strip() and not is_torchs_own(line)]


@pytest.mark.parametrize("name", [pytest.param(name, marks=LEFT_OUT.get(name, ())) for name in PROGRAMS])
def test_a_program_is_what_it_is_without_us_and_is_recorded(name: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(COMMON + PROGRAMS[name] + END)
    alone = forked([sys.executable, str(file)], cwd=tmp_path)
    ours = launched([sys.executable, str(file)], cwd=tmp_path, logdir=tmp_path / "runs")
    assert (ours.status, sorted(ours.out.splitlines())) == (alone.status, sorted(alone.out.splitlines()))
    assert without_torchs_own(ours.err) == without_torchs_own(alone.err)
    if name in NOTHING:
        assert ours.line == f"nothing was recorded: {NOTHING[name]}"
        return
    captures = tb_dataplugin.read_report(tmp_path / "runs")
    assert len(captures) == (2 if name == "ranks" else 1)
    for capture in captures:
        assert "Slow" in {stage.label for stage in capture.stages}
        assert 0 < capture.steps.count <= 10
    assert "tensorboard --logdir" in ours.line


@pytest.mark.parametrize("way", ["python -m", pytest.param("shebang", marks=pytest.mark.thorough)])
def test_modules_and_scripts_with_a_shebang_are_recorded(way: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(f"#!{sys.executable}\n" + COMMON + WORKERS + END)
    file.chmod(0o755)
    command = [str(file)] if way == "shebang" else [sys.executable, "-m", "program"]
    alone = forked([sys.executable, "-m", "program"], cwd=tmp_path)
    ours = launched(command, "--wait", "4", cwd=tmp_path, logdir=tmp_path / "runs")
    assert (ours.status, ours.out) == (0, alone.out)
    [capture] = tb_dataplugin.read_report(tmp_path / "runs")
    assert "Slow" in {stage.label for stage in capture.stages}


FEEDING = (
    """
import queue, threading
class Fed:
    """
    + '"""Iterates a loader in a thread of its own."""'
    + """
    def __init__(self, loader): self.loader = loader
    def __iter__(self):
        batches = queue.Queue(2)
        threading.Thread(target=lambda: ([batches.put(batch) for batch in self.loader], batches.put(None))).start()
        while (batch := batches.get()) is not None: yield batch
def in_a_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments); thread.start(); thread.join()
"""
)
LOADER = "DataLoader(Photos(60), 2, num_workers=2, generator=torch.Generator().manual_seed(0))"
THREADED = {
    "is fed by a thread, in a thread": f"    in_a_thread(train, Fed({LOADER}))",
    "trains in a thread": f"    in_a_thread(train, {LOADER})",
    "is fed by a thread": f"    train(Fed({LOADER}))",
}


@pytest.mark.one_of(3)
@pytest.mark.parametrize("name", THREADED)
def test_the_thread_that_trains_is_recorded_whichever_takes_the_batches(name: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(COMMON + THREADED[name] + FEEDING + END)
    alone = forked([sys.executable, str(file)], cwd=tmp_path)
    ours = launched(
        [sys.executable, str(file)], "--wait", "4", "--active", "10", cwd=tmp_path, logdir=tmp_path / "runs"
    )
    assert (ours.status, ours.out) == (alone.status, alone.out)
    assert without_torchs_own(ours.err) == without_torchs_own(alone.err)
    [capture] = tb_dataplugin.read_report(tmp_path / "runs")
    assert {"Slow", "Photos"} <= {stage.label for stage in capture.stages}
    assert capture.steps.count == 10
    is_fed = name != "trains in a thread"
    assert capture.HasField("loader") is not is_fed
    assert any("thread than the one that trains" in note.message for note in capture.diagnostics) is is_fed


EVALUATES = """
    import threading
    done = []
    def evaluate():
        loader = DataLoader(Drawings(32), 2, num_workers=1, generator=torch.Generator().manual_seed(0))
        while not done:
            for batch in loader: batch.sum()
    class Drawings(Photos): pass
    thread = threading.Thread(target=evaluate); thread.start()
"""


def test_the_loop_that_trains_is_recorded_beside_a_thread_that_evaluates(tmp_path: Path) -> None:
    """Which iterates its loader first, and while we begin the training iterates its own."""
    file = tmp_path / "program.py"
    loop = f"    train({LOADER.replace('60', '400')})\n    done.append(1); thread.join()"
    file.write_text(COMMON + EVALUATES + loop + END)
    ours = launched([sys.executable, str(file)], "--active", "10", cwd=tmp_path, logdir=tmp_path / "runs")
    assert ours.status == 0
    [trace] = (tmp_path / "runs").glob("*.trace.json*")
    found = load(trace)["dataPipeline"]
    assert {loader["dataset"] for loader in found["loaders"]} == {"Photos", "Drawings"}
    assert found["steps"]["source"] == "optimizer"
    assert not any("another thread" in note for note in found["notes"])


@pytest.mark.one_of(2)
def test_a_thread_that_takes_batches_where_nothing_trains_is_recorded_and_said_to_be_presumed(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    loop = "lambda: [say(batch.sum().item()) for batch in DataLoader(Photos(240), 2, num_workers=2)]"
    file.write_text(COMMON + f"    in_a_thread({loop})" + FEEDING + END)
    alone = forked([sys.executable, str(file)], cwd=tmp_path)
    ours = launched([sys.executable, str(file)], "--active", "10", cwd=tmp_path, logdir=tmp_path / "runs")
    assert (ours.status, ours.out) == (alone.status, alone.out)
    [capture] = tb_dataplugin.read_report(tmp_path / "runs")
    assert capture.steps.count == 10
    assert capture.loader.wait_count >= 10
    assert any("presumed to use them" in note.message for note in capture.diagnostics)


def test_how_long_steps_took_before_the_window_is_in_the_trace(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(COMMON + "    train(DataLoader(Photos(160), 2))" + END)
    launched([sys.executable, str(file)], cwd=tmp_path, logdir=tmp_path / "runs")
    [trace] = (tmp_path / "runs").iterdir()
    before = load(trace)["dataPipeline"]["steps"]["before_us"]
    assert len(before) >= 8
    assert all(each >= 2 * 5000 for each in before), "two samples that sleep"


def test_a_validation_just_before_it_is_time_does_not_shorten_the_window(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    body = """
    taken, validation = [], DataLoader(Photos(4), 2)
    def body():
        taken.append(1)
        if len(taken) % 5 == 0:
            with torch.no_grad(): list(validation)
    train(DataLoader(Photos(160), 2), body)"""
    file.write_text(COMMON + body + END)
    ours = launched([sys.executable, str(file)], "--wait", "10", cwd=tmp_path, logdir=tmp_path / "runs")
    [capture] = tb_dataplugin.read_report(tmp_path / "runs")
    assert capture.steps.count >= 30
    assert "instead of" not in ours.line


def test_a_window_that_ends_with_its_epoch_says_why_it_is_short(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(COMMON + "    train(DataLoader(Photos(50), 2))" + END)
    ours = launched([sys.executable, str(file)], cwd=tmp_path, logdir=tmp_path / "runs")
    [capture] = tb_dataplugin.read_report(tmp_path / "runs")
    assert capture.steps.count < 20
    assert "since few batches of its epoch were left" in ours.line
    assert any("since few batches of its epoch were left" in note.message for note in capture.diagnostics)


def test_the_environment_does_where_the_program_imports_annotate(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("import annotate\n" + COMMON + WORKERS + END)
    ours = forked([sys.executable, str(file)], cwd=tmp_path, env=environment(ANNOTATE="runs/exp1"))
    assert ours.status == 0
    assert f"annotate: recorded; `tb-dataplugin report {tmp_path}/runs/exp1`" in ours.err
    assert len(os.listdir(tmp_path / "runs" / "exp1")) == 1  # noqa: PTH208


def test_a_program_on_standby_records_when_it_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    body = "    batches = iter(range(10_000))\n"
    body += "    train(DataLoader(Photos(100_000), 2, num_workers=2), lambda: print(next(batches), flush=True))"
    file.write_text(COMMON + body + END)
    command = [*tool("run", "--standby", "--logdir", str(tmp_path / "runs"), "--", sys.executable, str(file))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "0\n"
        reader = threading.Thread(target=run.stdout.read)
        reader.start()
        asked = plain(tool("attach", str(run.pid), "--seconds", "0.5"))
        run.terminate()
        reader.join()
        assert run.wait() == -signal.SIGTERM
    assert (asked.status, asked.err) == (0, "")
    (capture,) = tb_dataplugin.read_report(tmp_path / "runs")
    assert "Slow" in {stage.label for stage in capture.stages}
    assert capture.steps.count > 1
    assert capture.verdict.sentence.rstrip(".") in asked.out


def test_the_environment_names_one_folder_where_run_names_another(tmp_path: Path) -> None:
    """`run` has been asked later, and so comes first."""
    file = tmp_path / "program.py"
    file.write_text("import sys, annotate; print([type(each).__module__ for each in sys.meta_path])")
    ours = launched(
        [sys.executable, str(file)],
        "--quiet",
        logdir=tmp_path / "runs",
        env=environment(ANNOTATE=str(tmp_path / "other")),
    )
    assert ours.out.count("_annotate_watch") == 1
