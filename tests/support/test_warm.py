"""A program in a fork of a warm Python is what it is in a new one, as far as it is to be seen from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import warm

LIGHT = ("json", "random", "multiprocessing")
"""Modules of a server that takes no time to start."""

PROGRAMS = {
    "what it is given": """
import os, sys
print(sys.argv, os.getcwd(), os.environ["OWN"], __name__, __file__, sys.path[:2], sys.stdin.read())
print("é", file=sys.stderr)""",
    "an exception": "def inner(): raise KeyError('own')\ntry: 1 / 0\nexcept ZeroDivisionError: inner()",
    "no Python": "1 +",
    "sys.exit with a text": "import sys; sys.exit('own words')",
    "an exit handler and a thread": """
import atexit, sys, threading, time
atexit.register(print, "at exit")
threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
sys.exit(3)""",
    "its own excepthook": "import sys; sys.excepthook = lambda kind, _, frames: print(kind, frames.tb_lineno)\n1 / 0",
    "ctrl-c": "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); signal.raise_signal(2)",
    "a signal": "import os, signal; print('before', flush=True); os.kill(os.getpid(), signal.SIGTERM)",
    "a session": "import os; print(os.getsid(0) == os.getpgid(0) == os.getpid())",
    "workers": """
import multiprocessing
def double(number): return 2 * number
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool: print(pool.map(double, [1, 2]))""",
    "a customised site": "import sys; print(sys.modules['sitecustomize'].__file__)",
    "a warning": "import warnings; warnings.warn('own', DeprecationWarning); warnings.warn('own too')",
    "the end of the interpreter": "class Ends:\n    def __del__(self): print('gone')\nkept = Ends()",
}


def new(command: list[str], cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_what_it_is_in_a_new_interpreter(name: str, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("")
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    env = {**os.environ, "OWN": "own", "PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "program.py", "--flag", "a b"]
    ours, theirs = warm.run(command, cwd=tmp_path, env=env, modules=LIGHT), new(command, tmp_path, env)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


@pytest.mark.parametrize(
    "options", [["-c", "import sys; print(sys.argv, sys.path[0], __name__)\n1 / 0"], ["-m", "mod"]]
)
def test_so_is_a_text_and_a_module(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "mod.py").write_text("import sys; print(sys.argv, sys.path[0], __name__, __spec__.name)\n1 / 0")
    command = [sys.executable, *options, "x"]
    env = dict(os.environ)
    ours, theirs = warm.run(command, cwd=tmp_path, env=env, modules=LIGHT), new(command, tmp_path, env)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)
    assert "ZeroDivisionError" in ours.stderr


def test_filters_of_warnings_are_those_of_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", "import warnings; warnings.warn('own')"]
    assert "UserWarning: own" in warm.run(command, cwd=tmp_path, modules=LIGHT).stderr


def test_programs_draw_random_numbers_of_their_own() -> None:
    command = [sys.executable, "-c", "import random; print(random.random())"]
    assert len({warm.run(command, modules=LIGHT).stdout for _ in range(3)}) == 3


def test_a_program_that_takes_too_long_is_killed() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run(command, timeout=0.1, modules=LIGHT)


def test_a_program_that_goes_on_is_waited_for() -> None:
    command = [sys.executable, "-c", "import sys, time; print('on', file=sys.stderr, flush=True); time.sleep(60)"]
    program = warm.start(command, stderr=subprocess.PIPE, modules=LIGHT)
    assert program.stderr is not None
    assert program.stderr.readline() == "on\n"
    os.kill(program.pid, signal.SIGTERM)
    assert program.wait(60) == -signal.SIGTERM
    program.close()


@pytest.mark.parametrize("command", [["sleep", "1"], [sys.executable, "-X", "dev", "x.py"], [sys.executable]])
def test_what_takes_a_new_interpreter_is_refused(command: list[str]) -> None:
    with pytest.raises(ValueError, match="takes a new interpreter"):
        warm.run(command, modules=LIGHT)
