"""The watcher against real threads and processes. Shares have wide margins: the machine may be busy."""

from __future__ import annotations

import gc
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import annotate
from annotate.host import garbage, interpreter_lock, watcher, watcher_process
from annotate.host.watching import States, Watch
from annotate.trace.thread_states import thread_samples

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what threads wait for")

SECONDS = 1.5


def watchers_of(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[-3:-1] == [watcher.__file__.encode(), str(pid).encode()]:
                found.append(int(folder.name))
    return found


def gone(pid: int, seconds: float = 10.0) -> bool:
    """Whether nothing watches a process any more, soon."""
    until = time.monotonic() + seconds
    while watchers_of(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not watchers_of(pid)


@contextmanager
def busy_thread() -> Iterator[None]:
    stop = False

    def work() -> None:
        while not stop:
            sum(range(1000))

    thread = threading.Thread(target=work, name="metrics")
    thread.start()
    try:
        yield
    finally:
        stop = True
        thread.join()


def watched(work: Callable[[], object], seconds: float = SECONDS) -> States:
    watch = Watch()
    watch.begin()
    try:
        watch.open()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            work()
        watch.close()
    finally:
        watch.end()
    assert not watch.states.why_not
    return watch.states


def lock_share(states: States) -> float:
    count = Counter(record[2] for record in watcher.RECORD.iter_unpack(states.records))
    assert count.total() >= 8
    return count[watcher.LOCKED] / count.total()


def compute() -> None:
    sum(range(2000))


def test_the_address_of_the_lock_is_found_and_stays() -> None:
    address = interpreter_lock.address()
    assert isinstance(address, int)
    interpreter_lock._found.clear()
    assert interpreter_lock.address() == address


def test_an_address_that_was_not_seen_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """On full CPUs the first window may come without it; what never can be known is not asked again."""
    answers: list[int | str] = [interpreter_lock._NOT_SEEN, 5, "no thread"]
    monkeypatch.setattr(interpreter_lock, "_found", {})
    monkeypatch.setattr(interpreter_lock, "_why_not", lambda: "")
    monkeypatch.setattr(interpreter_lock, "_measure", lambda: answers.pop(0))
    assert [interpreter_lock.address() for _ in range(3)] == [interpreter_lock._NOT_SEEN, 5, 5]
    interpreter_lock._found.clear()
    assert [interpreter_lock.address() for _ in range(2)] == ["no thread", "no thread"]


def test_a_busy_thread_makes_the_training_thread_wait_for_the_lock_and_is_named() -> None:
    with busy_thread():
        states = watched(lambda: time.sleep(0.0002))
    assert lock_share(states) > 0.3
    assert "metrics" in states.names.values()


@pytest.mark.parametrize("work", (compute, lambda: time.sleep(0.001)), ids=("running", "sleeping"))
def test_a_thread_on_its_own_does_not_wait_for_the_lock(work: Callable[[], object]) -> None:
    assert lock_share(watched(work)) < 0.1


def test_a_lock_of_the_users_is_not_pythons() -> None:
    lock = threading.Lock()
    with lock:
        assert lock_share(watched(lambda: lock.acquire(timeout=0.05))) < 0.1


def test_it_leaves_nothing_behind_and_is_no_child() -> None:
    files, threads = sorted(os.listdir("/proc/self/fd")), threading.active_count()  # noqa: PTH208
    watch = Watch()
    watch.begin()
    (pid,) = watchers_of(os.getpid())
    assert int((Path(f"/proc/{pid}/stat")).read_text().rpartition(")")[2].split()[1]) != os.getpid()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    watch.open()
    watch.close()
    watch.end()
    assert gone(os.getpid())
    assert sorted(os.listdir("/proc/self/fd")) == files  # noqa: PTH208
    assert threading.active_count() == threads


@pytest.mark.parametrize("end", ("os._exit(0)", "os.kill(os.getpid(), 9)", "time.sleep(60)"))
def test_it_ends_with_its_program(end: str) -> None:
    """Also where a child that was forked keeps the pipe open; the last one is killed from outside."""
    code = (
        "import os, time; from annotate.host.watching import Watch; watch = Watch(); watch.begin(); watch.open(); "
        f"os.fork() or (time.sleep(4), os._exit(0)); print(os.getpid(), flush=True); {end}"
    )
    program = subprocess.Popen((sys.executable, "-c", code), stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert program.stdout is not None
    try:
        pid = int(program.stdout.readline())
        if "sleep" in end:
            assert watchers_of(pid)
            program.kill()
        program.wait(30)
        assert gone(pid)
    finally:
        os.killpg(program.pid, signal.SIGKILL) if program.poll() is None else None
        program.stdout.close()


def test_a_capture_carries_the_samples_of_its_window(tmp_path: Path) -> None:
    batches: Iterable[Any] = DataLoader(range(64), batch_size=4)  # type: ignore[arg-type]
    with busy_thread(), annotate.profile(tmp_path, wait=0, warmup=1, active=12) as prof:
        for _ in prof.steps(batches):
            for _ in range(20):
                time.sleep(0.0005)
    trace = json.loads(gzip.decompress(Path(prof.trace_files[0]).read_bytes()))["dataPipeline"]
    (thread,) = trace["thread_samples"]["threads"]
    assert thread["training"]
    assert sum(state >= 2 for state in thread["state"]) > 0.3 * len(thread["state"])
    assert "metrics" in trace["thread_samples"]["holders"]
    assert set(trace["collections"]) == {"start_us", "length_us"}
    assert gone(os.getpid())


def test_a_program_that_waits_for_its_children_does_not_meet_it() -> None:
    code = (
        "import os, signal; from annotate.host.watching import Watch; seen = []\n"
        "signal.signal(signal.SIGCHLD, lambda *_: seen.append(1)); watch = Watch(); watch.begin(); watch.open()\n"
        "try: os.wait()\nexcept ChildProcessError: print('none', len(seen))\nwatch.close(); watch.end()"
    )
    program = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=60, check=False)
    assert (program.stdout, program.stderr, program.returncode) == ("none 1\n", "", 0)


def test_an_interrupt_from_the_terminal_is_not_for_it() -> None:
    code = (
        "import os, signal, time; from annotate.host.watching import Watch; watch = Watch(); watch.begin()\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background jobs\n"
        "watch.open()\ntry:\n os.killpg(0, signal.SIGINT); time.sleep(60)\n"
        "except KeyboardInterrupt:\n time.sleep(0.3); watch.close(); print(watch.states.why_not or 'fine'); watch.end()"
    )
    program = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, timeout=90, check=False, start_new_session=True
    )
    assert (program.stdout, program.stderr, program.returncode) == ("fine\n", "", 0)


def test_a_watcher_that_was_killed_costs_its_samples_and_nothing_else(recwarn: pytest.WarningsRecorder) -> None:
    watch = Watch()
    watch.begin()
    watch.open()
    for pid in watchers_of(os.getpid()):
        os.kill(pid, signal.SIGKILL)
    assert gone(os.getpid())
    watch.close()
    watch.end()
    assert "refused" in watch.states.why_not
    assert not recwarn.list


def test_a_watcher_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher_process, "_PATIENCE_S", 0.2)
    watch = Watch()
    watch.begin()
    (pid,) = watchers_of(os.getpid())
    os.kill(pid, signal.SIGSTOP)
    watch.end()
    assert gone(os.getpid())


@pytest.mark.parametrize(
    ("name", "value", "why"),
    (
        ("sys.platform", "darwin", "only Linux"),
        ("sys.executable", "/opt/app/program", "not run by a Python"),
        ("sys.frozen", True, "not run by a Python"),
    ),
)
def test_where_it_cannot_run_the_reason_is_kept(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, why: str
) -> None:
    monkeypatch.setattr(name, value, raising=False)
    watch = Watch()
    watch.begin()
    watch.open()
    watch.close()
    watch.end()
    assert why in thread_samples(watch.states, None)["why_not"]


def test_without_a_global_lock_everything_else_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter_lock, "_found", {})
    monkeypatch.setattr("sys._is_gil_enabled", lambda: False, raising=False)
    states = watched(lambda: time.sleep(0.001), 0.3)
    assert states.records
    assert not states.threads[0].lock_known
    assert "without a global lock" in states.why_no_lock


def test_two_windows_are_two_sets_of_samples() -> None:
    watch = Watch()
    watch.begin()
    try:
        counts = []
        for seconds in (0.6, 0.1):
            watch.open()
            time.sleep(seconds)
            watch.close()
            counts.append(len(watch.states.records))
            assert len(watch.states.threads) == 1
    finally:
        watch.end()
    assert counts[0] > counts[1] > 0


def test_collections_are_remembered_with_their_times_those_of_one_thread_apart() -> None:
    garbage.start()
    try:
        garbage.remember(threading.get_ident())
        keep = [[number] for number in range(300_000)]
        begin = time.perf_counter_ns()
        gc.collect()
        end = time.perf_counter_ns()
        elsewhere = threading.Thread(target=gc.collect)
        elsewhere.start()
        elsewhere.join()
        found = [times for times in garbage.collections if times[0] >= begin]
        others = [times for times in garbage.elsewhere if times[0] >= end]
    finally:
        garbage.remember(0)
        garbage.stop()
    assert len(keep) == 300_000
    assert len(found) == 1
    assert begin <= found[0][0] < found[0][1] <= end
    assert len(others) == 1


class Clocks:
    """Stands for the watcher's clocks: rounds of samples that cost so much, taken when they are due."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.cpu = 0
        monkeypatch.setattr(watcher, "perf_counter_ns", lambda: self.now)
        monkeypatch.setattr(watcher, "process_time_ns", lambda: self.cpu)

    def mean_pause(self, cost_ns: int, late_ns: int = 0, rounds: int = 60, delayed: float = 0.0) -> float:
        seen = watcher.Watcher(os.getpid())
        seen.stacks, seen.credit = Any, float(watcher.SAVED_WITH_STACKS_NS)
        seen.used, seen.seen, seen.due = self.cpu, self.now, self.now
        pauses = []
        for _ in range(rounds):
            self.now, self.cpu = seen.due + late_ns + cost_ns, self.cpu + cost_ns
            seen.waited_ns = int(delayed * (self.now - seen.seen))
            pauses.append(seen.pause())
        os.close(seen.parent)
        return sum(pauses[-40:]) / 40


def test_stacks_are_read_as_often_as_they_are_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks(monkeypatch)
    assert clocks.mean_pause(50_000) == pytest.approx(2e6, rel=0.15)
    assert clocks.mean_pause(300_000) == pytest.approx(3e6, rel=0.15)
    assert clocks.mean_pause(900_000, rounds=50) == pytest.approx(5e6, rel=0.15)


def test_where_no_cpu_is_free_they_are_read_seldom_whatever_they_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Clocks(monkeypatch).mean_pause(50_000, late_ns=4_000_000) == pytest.approx(10e6, rel=0.15)


def test_where_the_threads_themselves_wait_for_a_cpu_they_are_read_no_more_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Clocks(monkeypatch).mean_pause(50_000, delayed=0.3) == pytest.approx(5e6, rel=0.15)


def test_in_the_long_run_they_take_their_share_of_a_cpu_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks(monkeypatch)
    clocks.mean_pause(200_000, rounds=2000)
    assert clocks.cpu / clocks.now < watcher.SHARE_WITH_STACKS + watcher.SAVED_WITH_STACKS_NS / clocks.now + 0.002
