"""`annotate.watch` in programs that are killed: what had been written is there, and the run goes on in the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.watchfile.reading import Part, read_part, runs_of
from tb_dataplugin.watchfile.summary import summary_of
from tests.support import warm

BATCH, WORKERS = 4, 2
PROGRAM = """
import itertools, os, signal, sys, time, traceback
from pathlib import Path
import annotate
from torch.utils.data import DataLoader

folder, workers, batches = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
taken = os.open(folder / f"taken.{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
keeps = {"persistent_workers": True} if workers else {}
loader = DataLoader(range(400), batch_size=4, num_workers=workers, **keeps)
annotate.watch(loader, logdir=folder, interval_s=0.1, captures=0)
number = 0
while number < batches:
    try:
        for batch in loader:
            os.write(taken, b".")
            number += 1
            time.sleep(0.001)
            if number >= batches:
                break
    except (RuntimeError, OSError, EOFError) as error:  # of torch: its queue may notice first, or a handler of signals
        try:  # the other one may come here, as a second exception
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        except RuntimeError:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        functions = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
        os.write(taken, b"!" if "__next__" in functions else b"?")
        loader._iterator = None
"""
FOR_EVER = 10**9


@contextmanager
def watched(folder: Path, workers: int, batches: int = FOR_EVER) -> Iterator[warm.Program]:
    program = warm.start([sys.executable, "-c", PROGRAM, folder, workers, batches], stderr=subprocess.PIPE)
    try:
        yield program
    finally:
        program.kill()
        program.wait(60)
        program.close()


def until(program: warm.Program, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not is_so():
        assert program.poll() is None, program.communicate(10)
        assert time.monotonic() < deadline
        time.sleep(0.005)  # between two looks; nothing depends on its length


def taken(folder: Path, program: warm.Program) -> bytes:
    """One byte for each batch that its loop has had."""
    path = folder / f"taken.{program.pid}"
    return path.read_bytes() if path.exists() else b""


def file_of(folder: Path, program: warm.Program) -> Path | None:
    return next(folder.glob(f"*_{program.pid}.*.watch.jsonl"), None)


def intervals(folder: Path, program: warm.Program) -> int:
    """Whole lines that the run's file has by now."""
    path = file_of(folder, program)
    return 0 if path is None else path.read_bytes().count(b'{"kind":"interval"')


def part_of(folder: Path, program: warm.Program) -> Part:
    path = file_of(folder, program)
    assert path is not None
    return read_part(path)


def batches_of(part: Part) -> int:
    return sum(each.samples for interval in part.intervals for each in interval.loaders) // BATCH


def steps_of_scalars(folder: Path, program: warm.Program) -> list[int]:
    """As TensorBoard reads them: one point for each interval."""
    (path,) = folder.glob(f"data_pipeline/*.{program.pid}.*")
    events = list(EventFileLoader(str(path)).Load())
    return [event.step for event in events if event.HasField("summary")]


def let_it_go_on(folder: Path, program: warm.Program) -> int:
    """For some intervals; returns a number of batches that were handed out before the last two lines began."""
    until(program, lambda: intervals(folder, program) >= 3)
    before, lines = len(taken(folder, program)), intervals(folder, program)
    until(program, lambda: intervals(folder, program) >= lines + 2)
    return before


@pytest.mark.parametrize("workers", [0, WORKERS])
def test_a_kill_costs_no_more_than_the_interval_that_was_not_written(tmp_path: Path, workers: int) -> None:
    with watched(tmp_path, workers) as program:
        before = let_it_go_on(tmp_path, program)
        lines = intervals(tmp_path, program)
        program.kill()
        assert program.wait(60) == -signal.SIGKILL
    part = part_of(tmp_path, program)
    assert part.bad_lines <= 1, "the one that was being written"
    assert not part.has_ended
    assert len(part.intervals) >= lines, "what stood in the file before the kill"
    assert before <= batches_of(part) <= len(taken(tmp_path, program)) + 1
    assert part.intervals[0].begin == part.head.t
    assert all(one.end == next_one.begin for one, next_one in pairwise(part.intervals))
    steps = steps_of_scalars(tmp_path, program)
    assert len(steps) >= lines - 1 and steps == sorted(steps), "an interval's points follow its line"
    assert steps[-1] >= before


def test_a_run_that_was_killed_and_resumed_is_one_run(tmp_path: Path) -> None:
    with watched(tmp_path, 0) as first:
        let_it_go_on(tmp_path, first)
        first.kill()
        first.wait(60)
    with watched(tmp_path, 0, batches=300) as second:
        assert second.wait(100) == 0, second.communicate(10)
    parts = part_of(tmp_path, first), part_of(tmp_path, second)
    assert [part.has_ended for part in parts] == [False, True]
    assert batches_of(parts[1]) == 300
    before, after = steps_of_scalars(tmp_path, first), steps_of_scalars(tmp_path, second)
    assert before[-1] < after[0] and after[-1] - before[-1] in (300, 300 + batches_of(parts[0]) - before[-1])
    (run,) = runs_of(parts)
    summary = summary_of(run)
    assert summary is not None and (summary.processes, summary.killed) == (2, 1)
    assert summary.steps == sum(each.steps for interval in run.intervals for each in interval.loaders)
    assert "2 processes" in runs_text([run])


def test_a_worker_that_is_killed_is_an_exception_and_the_run_goes_on(tmp_path: Path) -> None:
    with watched(tmp_path, WORKERS) as program:
        let_it_go_on(tmp_path, program)
        os.kill(min(workers_of(program.pid)), signal.SIGKILL)
        until(program, lambda: noticed(tmp_path, program) != b"")
        before = taken(tmp_path, program).count(b".")
        until(program, lambda: taken(tmp_path, program).count(b".") > before)
        lines = intervals(tmp_path, program)
        until(program, lambda: intervals(tmp_path, program) >= lines + 2)
        program.kill()
        program.wait(60)
    part = part_of(tmp_path, program)
    numbers = [each for interval in part.intervals for each in interval.loaders]
    # torch's handler of signals raises wherever the program is: in the loop's own code that is none of the loader's
    assert sum(each.raised for each in numbers) == noticed(tmp_path, program).count(b"!")
    assert batches_of(part) > before, "those of new workers too"


def noticed(folder: Path, program: warm.Program) -> bytes:
    """ "!" for each exception in ``next()``, "?" elsewhere."""
    return taken(folder, program).replace(b".", b"")


def workers_of(pid: int) -> list[int]:
    """Processes of torch's DataLoader: they are the program's own children, of its name."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = Path(f"/proc/{pid}/cmdline").read_bytes()
    return [int(child) for child in children if Path(f"/proc/{child}/cmdline").read_bytes() == own]
