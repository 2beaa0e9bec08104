"""Analysing in processes of their own: they answer, die, hang, rest, and never outlive who started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tb_dataplugin.cache import Store
from tb_dataplugin.tb.processes import AnalystProcess, command_line
from tests.trace_builder import training_run


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Another process is awaited, so there is a clock to look at."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def lives(pid: int) -> bool:
    """Whether that process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def analyst(tmp_path: Path) -> Iterator[AnalystProcess]:
    made = AnalystProcess(tmp_path / "spare", limit_s=60)
    yield made
    made.rest()


def acting(tmp_path: Path, script: str, limit_s: float = 60) -> AnalystProcess:
    """A process that does what `script` says with its first request."""
    return AnalystProcess(
        tmp_path, limit_s, [sys.executable, "-c", f"import os, sys, time; sys.stdin.readline(); {script}"]
    )


def pid_of(analyst: AnalystProcess) -> int:
    assert analyst._process is not None
    return analyst._process.pid


def test_one_process_serves_many_captures(analyst: AnalystProcess, tmp_path: Path) -> None:
    pids = set()
    for name in "abc":
        path = training_run().write(tmp_path / f"{name}.pt.trace.json")
        answer = analyst.analyse(path, name)
        assert (answer.state, answer.mode) == ("ready", "train")
        capture = Store(Path(answer.folder)).capture(answer.key)
        assert capture is not None and capture.name == name
        pids.add(pid_of(analyst))
    assert len(pids) == 1


def test_without_a_cache_entries_go_to_the_spare_folder(analyst: AnalystProcess, tmp_path: Path) -> None:
    answer = analyst.analyse(training_run().write(tmp_path / "a.json"), "a")
    assert answer.folder == str(tmp_path / "spare")


def test_a_bad_file_is_one_line_and_costs_no_process(analyst: AnalystProcess, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    answer = analyst.analyse(tmp_path / "bad.json", "bad")
    assert answer.state == "error" and "bad.json" in answer.error and "\n" not in answer.error
    assert lives(pid_of(analyst))


def test_a_pipe_is_refused(analyst: AnalystProcess, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in analyst.analyse(tmp_path / "pipe", "pipe").error


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("os.kill(os.getpid(), 9)", "memory runs out"),
        ("os.kill(os.getpid(), 11)", "crashed"),
        ("sys.exit(3)", "status 3"),
        ("print('what a library prints', flush=True)", "please report this"),
        ("os.close(1); time.sleep(60)", "please report this"),
    ],
)
def test_a_process_that_dies_is_an_error_of_that_capture(tmp_path: Path, script: str, words: str) -> None:
    answer = acting(tmp_path, script).analyse(Path("big.json"), "big")
    assert answer.state == "error" and "big.json" in answer.error and words in answer.error
    assert "\n" not in answer.error


def test_the_next_capture_gets_a_new_process(analyst: AnalystProcess, tmp_path: Path) -> None:
    path = training_run().write(tmp_path / "a.json")
    analyst.analyse(path, "a")
    before = pid_of(analyst)
    os.kill(before, signal.SIGKILL)
    until(lambda: not lives(before))
    answers = [analyst.analyse(path, "a").state for _ in range(2)]
    assert answers[-1] == "ready"
    assert pid_of(analyst) != before


def test_an_analysis_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    analyst = acting(
        tmp_path, f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)", limit_s=1
    )
    answer = analyst.analyse(Path("slow.json"), "slow")
    assert answer.state == "error" and "longer than 1 s" in answer.error
    until(lambda: not lives(int((tmp_path / "pid").read_text())))


def test_an_interpreter_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    answer = AnalystProcess(tmp_path, command=["/nowhere/python"]).analyse(Path("a.json"), "a")
    assert answer.state == "error" and "no process can be started" in answer.error


def test_a_process_that_needed_much_memory_makes_way_for_a_new_one(tmp_path: Path) -> None:
    command = command_line(tmp_path / "spare")
    command[2] = command[2].replace("analyst.main", "analyst.LEAVE_ABOVE_BYTES = 1; analyst.main")
    analyst = AnalystProcess(tmp_path / "spare", command=command)
    path = training_run().write(tmp_path / "a.json")
    for _ in range(2):
        assert analyst.analyse(path, "a").state == "ready"
        assert analyst._process is None


def test_a_rest_ends_the_process_and_keeps_what_it_made(tmp_path: Path) -> None:
    analyst = AnalystProcess(tmp_path / "spare")
    answer = analyst.analyse(training_run().write(tmp_path / "a.json"), "a")
    pid = pid_of(analyst)
    analyst.rest()
    analyst.rest()
    assert not lives(pid)
    assert Store(tmp_path / "spare").capture(answer.key) is not None


@pytest.mark.parametrize("busy", [False, True])
def test_no_process_outlives_a_killed_parent(tmp_path: Path, busy: bool) -> None:
    """Also one that is busy: here it waits in the middle of an analysis."""
    path = training_run().write(tmp_path / "a.json")
    spare = tmp_path / "spare"
    script = (
        "import sys, threading, time; from pathlib import Path\n"
        "from tb_dataplugin.tb.processes import AnalystProcess, command_line\n"
        f"spare, path = Path({str(spare)!r}), Path({str(path)!r})\n"
        "command = command_line(spare)\n"
        "analyst = AnalystProcess(spare)\n"
        "analyst.analyse(path, 'a')\n"
        f"if {busy}:\n"
        "    analyst.rest()\n"
        "    never = 'import time; analyst.answer_to = lambda *a: time.sleep(600); analyst.main'\n"
        "    command[2] = command[2].replace('analyst.main', never)\n"
        "    analyst = AnalystProcess(spare, command=command)\n"
        "    threading.Thread(target=analyst.analyse, args=(path, 'a')).start()\n"
        "    while analyst._process is None: time.sleep(0.01)\n"
        "    time.sleep(1)\n"
        "print(analyst._process.pid, flush=True); time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert lives(child) and spare.is_dir()
    parent.kill()
    parent.communicate()
    until(lambda: not lives(child))
    until(lambda: not spare.exists())
