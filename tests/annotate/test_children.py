from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from annotate.host.children import LOADER_WORKER, Children, lasting_ns, passing_ns, read_children

pytestmark = pytest.mark.skipif(
    not Path(f"/proc/self/task/{Path('/proc/self').resolve().name}/children").exists(), reason="needs /proc"
)

WORK_NS = 200_000_000
SPIN = f"""
import sys, time
while time.process_time_ns() < {WORK_NS}:
    pass
print("done", flush=True)
sys.stdin.read()
"""


@contextmanager
def child() -> Iterator[None]:
    """A process that has used `WORK_NS` and waits, until the block ends."""
    with subprocess.Popen([sys.executable, "-c", SPIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield


def now() -> Children:
    read = read_children()
    assert read is not None
    return read


def test_children_that_come_and_go_are_counted_and_those_that_live_on_are_not() -> None:
    with child():
        before = now()
        with child():
            while_it_lives = passing_ns(before, now())
        assert while_it_lives >= 0.9 * WORK_NS
        assert while_it_lives <= passing_ns(before, now()) <= while_it_lives + WORK_NS
        assert passing_ns(now(), now()) == 0


def test_a_child_that_was_there_before_counts_from_then_on() -> None:
    with child():
        before = now()
    assert passing_ns(before, now()) < 0.5 * WORK_NS


ON_DEMAND = f"""
import sys, time
print("begun", flush=True)
sys.stdin.readline()
begin = time.process_time_ns()
while time.process_time_ns() < begin + {WORK_NS}:
    pass
print("done", flush=True)
sys.stdin.read()
"""


def test_a_child_that_lives_on_has_what_it_used_meanwhile() -> None:
    command = [sys.executable, "-c", ON_DEMAND]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        before = now()
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        after = now()
        assert lasting_ns(before, after) >= 0.9 * WORK_NS > passing_ns(before, after)
        process.stdin.close()


NAMED = f"""
import os, subprocess, sys
from pathlib import Path
Path("/proc/self/comm").write_bytes({LOADER_WORKER!r})
below = os.fork()
if below == 0:
    sys.stdin.read()
    os._exit(0)
print("begun", flush=True)
sys.stdin.read()
os.waitpid(below, 0)
"""


def test_dataloader_workers_are_known_by_their_name_and_not_what_they_started() -> None:
    others = set(now().loader_workers)  # an earlier test may have left some
    with subprocess.Popen([sys.executable, "-c", NAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        with child():
            assert set(now().loader_workers) - others == {process.pid}
        process.stdin.close()
