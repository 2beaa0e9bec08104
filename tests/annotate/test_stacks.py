"""Stacks that are read from outside, of real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from capture_helpers import load
from torch.utils.data import DataLoader, Dataset, Sampler

import annotate
from annotate.host import stack_layout, stack_reader, stack_thread, thread_stacks, watcher, watching
from annotate.host.stack_layout import Layout, UnknownLayoutError
from annotate.host.stack_reader import UNREAD, Process, Table
from annotate.host.watching import Watch
from annotate.recording import sizes, span_recorder
from annotate.trace.stacks import line_samples
from annotate.trace_format import RECORDERS_OWN, LineSamples
from annotate.workers import worker_side

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info < (3, 11), reason="stacks are read on Linux, from Python 3.11 on"
)

PROGRAM = """
import sys, threading
def grüße(depth):
    if depth:
        return grüße(depth - 1)
    print("ready", flush=True)
    sys.stdin.read()
class Loader:
    def load(self, depth):
        grüße(depth)
Loader().load(int(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def layout() -> Layout:
    return stack_reader.prepare()


@contextmanager
def program(depth: int = 2) -> Iterator[int]:
    command = (sys.executable, "-c", PROGRAM, str(depth))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        try:
            yield running.pid
        finally:
            running.communicate("")


def places(table: Table, stack: int) -> list[tuple[str, int]]:
    """Function and line, outermost first."""
    frames, nodes = list(table.frames), list(table.nodes)
    found = []
    while stack >= 0:
        stack, frame = nodes[stack]
        found.append((frames[frame][0], frames[frame][2]))
    return found[::-1]


def waiting(process: Process, pid: int, table: Table) -> int:
    """The stack of a program that has come to where it waits."""
    until = time.monotonic() + 60
    stack = UNREAD
    while places(table, stack)[-1:] != [("grüße", 7)] and time.monotonic() < until:
        stack = process.stack(pid)
    return stack


def test_the_stack_of_another_process_is_read_as_it_is(layout: Layout) -> None:
    table = Table()
    with program() as pid:
        process = Process(pid, layout, table)
        stack = waiting(process, pid, table)
        assert process.stack(pid) == stack
        process.close()
    assert places(table, stack) == [("<module>", 11), ("Loader.load", 10), ("grüße", 5), ("grüße", 5), ("grüße", 7)]


def test_a_stack_that_is_gone_while_it_is_read_is_waited_for(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out, the time of short functions that C calls would go to their callers."""
    with program() as pid:
        process = Process(pid, layout, Table())
        stack = process.stack(pid)
        place = process._threads[pid] + layout.thread_to_frame
        read, word = process._frames, process._word
        pointed = iter([word(place), 5, 6, word(place), word(place)])
        tried = []

        def gone_at_first(at: int) -> tuple[int, ...]:
            tried.append(at)
            if len(tried) < 3:
                raise OSError
            return read(at)

        monkeypatch.setattr(process, "_frames", gone_at_first)
        monkeypatch.setattr(process, "_word", lambda at: next(pointed) if at == place else word(at))
        assert process.stack(pid) == stack
        process.close()
    assert tried == [tried[0]] * 3


def test_a_stack_that_makes_no_sense_is_given_up(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    with program() as pid:
        process = Process(pid, layout, Table())
        tried: list[int] = []

        def of_nothing(at: int) -> tuple[int, ...]:
            tried.append(at)
            return ()

        monkeypatch.setattr(process, "_frames", of_nothing)
        assert process.stack(pid) == UNREAD
        process.close()
    assert 1 < len(tried) < 10


def test_of_a_deep_stack_the_inner_frames_are_kept(layout: Layout) -> None:
    table = Table()
    with program(600) as pid:
        process = Process(pid, layout, table)
        found = places(table, waiting(process, pid, table))
        process.close()
    assert len(found) == stack_reader.MOST_FRAMES + 1
    assert found[0][0] == "(outer frames)"
    assert found[-1] == ("grüße", 7)


def test_frames_of_the_interpreters_own_are_left_out(layout: Layout) -> None:
    """Python 3.12 has one below each call from C, of code in "<shim>", which ``sys._getframe`` does not show."""
    waits, ready, seen = threading.Lock(), threading.Event(), list[int]()

    def innermost() -> None:
        seen.append(threading.get_native_id())
        ready.set()
        with waits:
            pass

    code = compile("innermost()", "<shim>", "exec")
    with waits:
        thread = threading.Thread(target=exec, args=(code, {"innermost": innermost}))
        thread.start()
        ready.wait()
        table = Table()
        process = Process(os.getpid(), layout, table)
        names = [name for name, _ in places(table, process.stack(seen[0]))]
        process.close()
    thread.join()
    assert names[-1].endswith("innermost") and "<module>" not in names


def test_a_thread_that_does_not_run_python_has_no_stack(layout: Layout) -> None:
    with program() as pid:
        process = Process(pid, layout, Table())
        assert process.stack(1) == UNREAD
        process.close()


def test_a_process_that_has_ended_has_no_stack(layout: Layout) -> None:
    with program() as pid:
        process = Process(pid, layout, Table())
        assert process.stack(pid) != UNREAD
    assert process.stack(pid) == UNREAD
    process.close()


def test_another_program_is_refused(layout: Layout) -> None:
    with subprocess.Popen(("sleep", "60")) as other:
        try:
            with pytest.raises(UnknownLayoutError, match="another Python"):
                Process(other.pid, layout, Table())
        finally:
            other.kill()


def test_a_layout_that_reads_nonsense_is_refused(layout: Layout) -> None:
    example = stack_layout.Example()
    try:
        stack_reader.check(layout, example)
        for wrong in (layout._replace(previous=layout.code), layout._replace(qualname=layout.filename)):
            with pytest.raises(UnknownLayoutError, match="could not read the stacks of this Python"):
                stack_reader.check(wrong, example)
    finally:
        example.end()


def test_python_without_a_global_lock_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys._is_gil_enabled", lambda: False, raising=False)
    with pytest.raises(UnknownLayoutError, match="without a global lock"):
        stack_reader.prepare()


def test_where_stacks_cannot_be_read_the_watcher_says_why_and_watches_on(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def refuse() -> Layout:
        raise UnknownLayoutError("its threads were not found")

    monkeypatch.setattr(stack_reader, "prepare", refuse)
    monkeypatch.setattr(sys, "path", list(sys.path))
    ours = watcher.Watcher(os.getpid())
    ours.command("l")
    assert capfdbinary.readouterr().err == b"its threads were not found\n"
    assert ours.watch(0, os.getpid(), os.getpid(), frozenset()) == 0
    ours.sample()
    (record,) = ours.records
    assert watcher.RECORD.unpack(record)[-1] == UNREAD


def burn(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        sum(range(100))


def sampled(seconds: float = 1.0) -> Watch:
    watch = Watch(with_stacks=True)
    watch.begin()
    try:
        watch.open()
        burn(seconds)
        watch.close()
    finally:
        watch.end()
    return watch


def functions(lines: LineSamples) -> set[str]:
    return {lines["names"][name] for name in lines["frames"]["function"]}


def test_the_training_thread_is_sampled_and_so_are_other_threads_that_ran_stages() -> None:
    clock: Any = type("", (), {"ts_ns": staticmethod(lambda time: time)})()
    beside = threading.Thread(target=burn, args=(1.5,))
    beside.start()
    states = sampled().states
    beside.join()
    assert not states.why_no_stacks
    states.names.clear()
    assert "burn" in functions(line_samples(states, clock, ()))
    (training,) = line_samples(states, clock, ())["threads"]
    assert training["training"]
    assert line_samples(states, clock, ())["holders"] == []
    states.names[beside.native_id or 0] = "burner"
    known = line_samples(states, clock, ())
    (holder,) = known["holders"]
    assert known["holder_names"] == ["burner"] and holder["tid"] == beside.native_id and not holder["training"]
    assert line_samples(states, clock, {beside.native_id or 0})["holders"] == []
    both = line_samples(states, clock, {beside.native_id or 0})["threads"]
    assert [thread["training"] for thread in both] == [True, False]
    assert all(len({len(thread[name]) for name in ("stack", "since_us", "state")}) == 1 for thread in both)


def test_lines_that_are_not_wanted_cost_nothing_and_say_so() -> None:
    watch = Watch()
    watch.begin()
    try:
        watch.open()
        watch.close()
    finally:
        watch.end()
    assert watch.states.stacks == b""
    assert line_samples(watch.states, None, ()) == {"version": 1, "why_not": "lines=False"}


def test_a_sampler_that_was_killed_costs_its_samples_and_nothing_else(recwarn: pytest.WarningsRecorder) -> None:
    watch = Watch(with_stacks=True)
    watch.begin()
    watch.open()
    process = watch._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    while Path(f"/proc/{process.pid}").exists() and "Z" not in Path(f"/proc/{process.pid}/status").read_text():
        os.sched_yield()
    watch.close()
    watch.end()
    assert "refused" in line_samples(watch.states, None, ())["why_not"]
    assert not recwarn.list


class Slow(Dataset[int]):
    def __len__(self) -> int:
        return 4000

    def __getitem__(self, index: int) -> int:
        burn(0.002)
        if index == self.ends_at():
            os._exit(3)
        return index

    def ends_at(self) -> int:
        return -1


class Backwards(Sampler[int]):
    def __init__(self, dataset: Slow) -> None:
        self.dataset = dataset

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.dataset) - 1, -1, -1))

    def __len__(self) -> int:
        return len(self.dataset)


class Ending(Slow):
    def ends_at(self) -> int:
        return 399


@pytest.mark.parametrize("workers", (0, 2))
def test_a_capture_carries_the_stacks_of_whoever_loads_the_data(tmp_path: Path, workers: int) -> None:
    loader = annotate.loader(DataLoader(Slow(), batch_size=8, num_workers=workers))
    with annotate.profile(tmp_path, wait=2, warmup=1, active=40) as prof:
        for _ in prof.steps(loader):
            if prof.trace_files:
                break
    lines = load(prof.trace_files[0])["dataPipeline"]["lines"]
    assert "burn" in functions(lines)
    assert len(lines["threads"]) == 1 + workers
    assert "sum(range(100))" in {lines["names"][text] for text in lines["frames"]["source"] if text >= 0}
    assert lines["sampler"] == "outside"
    assert not lines["unseen"]


def test_under_the_users_own_profiler_lines_are_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    loader = annotate.loader(DataLoader(Slow(), batch_size=8, num_workers=1))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        for number, _ in enumerate(loader):
            if number == 30:
                break
    prof.export_chrome_trace(str(path))
    lines = json.loads(path.read_text())["dataPipeline"]["lines"]
    assert "burn" in functions(lines)
    assert len(lines["threads"]) == 2


def test_stages_know_where_they_are_defined(tmp_path: Path) -> None:
    def doubled_in_this_test(value: int) -> int:
        return 2 * value

    slow = Slow()
    loader = annotate.loader(DataLoader(slow, batch_size=8, sampler=Backwards(slow), collate_fn=annotate.collate(list)))
    transform = annotate.compose([doubled_in_this_test])
    with annotate.profile(tmp_path, wait=0, warmup=1, active=2) as prof:
        for _ in prof.steps(loader):
            transform(1)
            with annotate.stage("user", "log"):
                pass
            if prof.trace_files:
                break
    places = load(prof.trace_files[0])["dataPipeline"]["stages_at"]
    here = f"{__file__}:"  # other tests in this process have stages as well
    known = {name: int(place.removeprefix(here)) for name, place in places.items() if place.startswith(here)}
    assert known["transform::doubled_in_this_test"] == doubled_in_this_test.__code__.co_firstlineno
    assert known["sampler::Backwards"] == Backwards.__iter__.__code__.co_firstlineno
    assert known["sample::Slow"] == Slow.__getitem__.__code__.co_firstlineno
    assert (
        Path(__file__).read_text().splitlines()[known["user::log"] - 1].strip() == 'with annotate.stage("user", "log"):'
    )
    assert "collate::list" not in known


def test_a_capture_without_lines_has_the_reason(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=2, lines=False) as prof:
        for _ in prof.steps(DataLoader(range(12), batch_size=2)):  # type: ignore[arg-type]
            pass
    assert load(prof.trace_files[0])["dataPipeline"]["lines"] == {"version": 1, "why_not": "lines=False"}


@pytest.mark.parametrize("workers", [0, 1])
def test_where_no_process_may_look_a_thread_samples_and_says_what_it_cannot_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(Watch, "reads_stacks", property(lambda _: False))
    loader = annotate.loader(DataLoader(Slow(), batch_size=8, num_workers=workers))
    before = threading.active_count()
    with annotate.profile(tmp_path, wait=2, warmup=1, active=60) as prof:
        for _ in prof.steps(loader):
            if prof.trace_files:
                break
    lines = load(prof.trace_files[0])["dataPipeline"]["lines"]
    assert lines["sampler"] == "inside"
    assert workers or "burn" in functions(lines)
    assert [thread["training"] for thread in lines["threads"]] == [True]
    assert set(lines["threads"][0]["state"]) == {-1}
    assert any("DataLoader workers were not sampled" in each for each in lines["unseen"]) is bool(workers)
    assert threading.active_count() == before


def test_a_thread_that_cannot_sample_costs_one_warning_and_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise ValueError("no frames")

    monkeypatch.setattr(Watch, "reads_stacks", property(lambda _: False))
    monkeypatch.setattr(stack_thread._Seen, "sample", fail)
    with (
        pytest.warns(RuntimeWarning, match="stopped sampling stacks") as warned,
        annotate.profile(tmp_path, wait=0, warmup=1, active=10) as prof,
    ):
        for _ in prof.steps(DataLoader(Slow(), batch_size=8)):
            if prof.trace_files:
                break
    assert len(warned) == 1
    assert "too short" in load(prof.trace_files[0])["dataPipeline"]["lines"]["why_not"]


def test_lines_is_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match='lines must be True, False or "native"'):
        annotate.profile(tmp_path, lines=100)  # type: ignore[arg-type]


def test_a_worker_that_dies_while_it_is_sampled_fails_as_it_does_without_us(tmp_path: Path) -> None:
    # Lists: a tensor comes through a socket of the worker, whose end torch shows in another way.
    loader = annotate.loader(DataLoader(Ending(), batch_size=8, num_workers=1, collate_fn=list))
    with (
        pytest.raises(RuntimeError, match=r"exited unexpectedly"),
        annotate.profile(tmp_path, wait=2, active=4000) as prof,
    ):
        for _ in prof.steps(loader):
            pass


@pytest.mark.parametrize(("scope", "allowed"), (("1\n", True), ("0\n", False), (None, False)))
def test_workers_allow_the_watcher_where_the_kernel_wants_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str | None, allowed: bool
) -> None:
    setting, seen = tmp_path / "ptrace_scope", tmp_path / "seen"
    if scope is not None:
        setting.write_text(scope)
    monkeypatch.setattr(watching, "_YAMA", setting)
    monkeypatch.setattr(worker_side, "let_look", lambda pid: seen.write_text(str(pid)))
    with annotate.profile(tmp_path / "run", wait=0, warmup=1, active=2) as prof:
        watcher_pid = str(watching._watchers[os.getpid()])
        for _ in prof.steps(
            annotate.loader(DataLoader(Slow(), batch_size=4, num_workers=1, multiprocessing_context="fork"))
        ):
            if prof.trace_files:
                break
    assert (seen.read_text() if seen.exists() else "") == (watcher_pid if allowed else "")
    assert not watching._watchers


def test_what_counts_as_the_recorders_own_is_in_the_recorder() -> None:
    names = {*vars(span_recorder), *vars(sizes), "flush_or_drop"}
    assert names >= RECORDERS_OWN


def test_a_stack_that_was_read_long_after_its_moment_is_none() -> None:
    stacks = object.__new__(thread_stacks.Stacks)
    stacks.took, stacks.unread = [], 0

    class Sampled:
        read_ns = 5 * stack_reader.LATE_NS

        @staticmethod
        def stack(tid: int) -> int:
            return tid

    thread: Any = SimpleNamespace(tid=7, process=Sampled)
    assert stacks.stack(thread, Sampled.read_ns - stack_reader.LATE_NS // 2) == 7
    assert (stacks.stack(thread, 0), stacks.unread) == (-1, 1)
