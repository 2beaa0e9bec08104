"""`tb-dataplugin run` around programs without torch: what is seen from outside is as if we were not there."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tb_dataplugin.drive import child
from tb_dataplugin.drive.outcome import Between, Note, Outcome, verdict
from tb_dataplugin.drive.program import Program
from tb_dataplugin.drive.witness import call_witness
from tb_dataplugin.errors import CannotStart
from tb_dataplugin.report.report_pb2 import Capture, Verdict
from tests.tb_dataplugin.drive.launched import OURS, environment, launched, plain, split, tool

PROGRAMS = {
    "clean": "print('out'); import sys; print('err', file=sys.stderr)",
    "reads stdin": "print(input()[::-1])",
    "exit status": "import sys; sys.exit(3)",
    "text as status": "raise SystemExit('over')",
    "exception": "def f(): raise KeyError('x')\nf()",
    "hard exit": "import os; print('a', flush=True); os._exit(7)",
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "aborted": "import os; os.abort()",
    "broken pipe": "import signal; print(signal.getsignal(signal.SIGPIPE), signal.getsignal(signal.SIGXFSZ))",
    "signal mask": "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    "open files": "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))",
    "path": "import sys; print(sys.path, sys.argv, sys.flags)\n"
    "kinds = [each if isinstance(each, type) else type(each) for each in sys.meta_path]\n"
    "print([kind for kind in kinds if kind.__module__ != '_annotate_watch'])",
    "sitecustomize": "import sys; print('sitecustomize' in sys.modules)",
    "modules": "import sys; print(sorted(sys.modules.keys() - {'_annotate_watch'}))",
    "subprocess": "import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', 'print(5)']))",
    "fork": "import os\npid = os.fork()\nif pid: print(os.waitpid(pid, 0)[1])\nelse: os._exit(4)",
    "pool": "from multiprocessing import get_context\nif __name__ == '__main__':\n"
    "    for method in ('fork', 'spawn'):\n"
    "        with get_context(method).Pool(1) as pool: print(pool.map(abs, [-1]))",
    "atexit": "import atexit; atexit.register(print, 'end')",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_what_it_is_without_us(name: str, folder: Path) -> None:
    file = folder / "program.py"
    file.write_text(PROGRAMS[name])
    command = [sys.executable, str(file), "--flag", "a b"]
    alone = plain(command, input="abc\n", cwd=folder)
    ours = launched(command, input="abc\n", cwd=folder, logdir=folder / "runs")
    assert (ours.status, ours.out, ours.err) == (alone.status, alone.out, alone.err)
    assert ours.line == "nothing was recorded: the program did not import torch.utils.data"
    assert sorted(path.name for path in folder.rglob("*")) == ["nothing-recorded.txt", "program.py", "runs"]


def test_quiet_leaves_the_last_line_out(folder: Path) -> None:
    ours = launched(["sh", "-c", "echo a >&2; exit 9"], "--quiet", logdir=folder)
    assert (ours.status, ours.err, ours.line) == (9, "a\n", "")


def test_scripts_modules_and_shells_are_programs(folder: Path) -> None:
    (folder / "mod.py").write_text("import sys; print('mod', sys.argv[1:])")
    script = folder / "script"
    script.write_text(f"#!{sys.executable}\nimport sys; print('script', sys.argv[1:])")
    bare = folder / "bare"
    bare.write_text("echo bare $1")
    for file in (script, bare):
        file.chmod(0o755)
    keywords = {"cwd": folder, "env": environment(PATH=f"{folder}:{os.environ['PATH']}")}
    assert launched([sys.executable, "-m", "mod", "x"], logdir=folder, **keywords).out == "mod ['x']\n"
    assert launched(["script", "x"], logdir=folder, **keywords).out == "script ['x']\n"
    assert launched(["./script", "x"], logdir=folder, **keywords).out == "script ['x']\n"
    assert launched(["bare", "x"], logdir=folder, **keywords).out == "bare x\n"
    assert launched(["bash", "-c", "python -m mod y"], logdir=folder, **keywords).out == "mod ['y']\n"


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (["no-such-program"], 127, "there is no such program"),
        (["./nothing"], 127, "there is no such program"),
        (["./plain.py"], 126, "did you mean `python ./plain.py`?"),
        (["."], 126, "it is a folder"),
        (["./headless"], 127, "its interpreter does not exist"),
        (["python", "-I", "x.py"], 125, "-I"),
        (["python3.11", "-uE", "x.py"], 125, "-E"),
        (["python", "-X", "dev", "-Wd", "-BS", "x.py"], 125, "-S"),
        (["env", "-u", "A", "B=1", "python", "-I", "x.py"], 125, "-I"),
        (["./isolated"], 125, "-E"),
        ([], 125, "no program is given"),
    ],
)
def test_what_cannot_be_started_is_one_line(command: list[str], status: int, words: str, folder: Path) -> None:
    (folder / "plain.py").write_text("")
    for name, head in (("headless", "#!/no/python\n"), ("isolated", "#!/usr/bin/env -S python3 -sE\n")):
        (folder / name).write_text(head)
        (folder / name).chmod(0o755)
    ours = launched(command, logdir=folder, cwd=folder)
    assert (ours.status, ours.out, ours.err) == (status, "", "")
    assert words in ours.line


@pytest.mark.parametrize(
    "command", [["python", "-c", "pass", "-I"], ["python", "-m", "platform", "-E"], ["python", "-Wi", "-XE", "-c", ""]]
)
def test_options_of_the_program_are_its_own(command: list[str], folder: Path) -> None:
    assert launched([sys.executable, *command[1:]], logdir=folder, cwd=folder).status == 0


def test_bad_usage_is_125_as_2_may_be_the_programs(folder: Path) -> None:
    done = subprocess.run(tool("run", "--wait", "x", "--", "true"), capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stdout) == (125, "")
    assert "a whole number of batches" in done.stderr
    blocked = folder / "file"
    blocked.write_text("")
    assert launched(["true"], logdir=blocked / "runs").status == 125


@pytest.mark.parametrize("logdir", ["/proc/nowhere/runs", "file/runs"])
def test_a_log_directory_that_cannot_be_written_is_said_before_the_program_starts(logdir: str, folder: Path) -> None:
    (folder / "file").write_text("")
    ours = launched(["echo", "started"], logdir=Path(logdir), cwd=folder)
    assert (ours.status, ours.out, ours.err) == (125, "", "")
    assert ours.line.startswith("cannot write traces to /") and ours.line.endswith("; give another --logdir")


def test_a_report_of_a_run_that_recorded_nothing_says_why(folder: Path) -> None:
    ours = launched(["true"], logdir=folder / "runs")
    said = plain(tool("report", str(folder / "runs")))
    assert (said.status, said.out) == (1, "")
    assert said.line == f"no traces below {folder / 'runs'}: {ours.line}"


def test_a_run_in_a_folder_of_its_own_choice_leaves_none_behind(folder: Path) -> None:
    done = plain(tool("run", "--", "true"), cwd=folder)
    assert done.line.startswith("nothing was recorded")
    assert list(folder.iterdir()) == []


def test_a_long_pause_for_writing_the_trace_is_said() -> None:
    capture = Capture(verdict=Verdict(sentence="The device is busy."))
    note = Note("recorded", "", 40, None, (), (), 6.1)
    line = verdict([capture], Path("runs"), Outcome((note, replace(note, paused_s=0.2)), "", ""))
    assert line.startswith("The device is busy. The program was paused for 6.10 s while the trace was written. More: ")
    assert "stood" not in verdict([capture], Path("runs"), Outcome((replace(note, paused_s=0.2),), "", ""))


def test_much_time_between_epochs_is_said_of_the_process_with_most_of_it() -> None:
    capture = Capture(verdict=Verdict(sentence="The device is busy."))
    note = Note("recorded", "", 40, None, (), (), between=Between(7, 4.48, 0.7, 8.96, 8))
    others = (replace(note, between=None), replace(note, between=Between(1, 2.0, 2.0, 4.0, 1)))
    line = verdict([capture], Path("runs"), Outcome((note, *others), "", ""))
    assert line.startswith(
        "The device is busy. Between two epochs the program spends 640 ms (7 times, at most 700 ms), 50.0% "
        "of the time from epoch to epoch, and makes its DataLoader anew (8 times in all). More: "
    )
    assert "2.00 s (once), 50.0% of the time from epoch to epoch. More" in (
        verdict([capture], Path("runs"), Outcome(others, "", ""))
    )
    little = replace(note, between=Between(7, 0.5, 0.1, 8.0, 8))
    assert "epoch" not in verdict([capture], Path("runs"), Outcome((little,), "", ""))


def with_the_folder(folder: Path, program: str) -> list[str]:
    """A Python program, and no other process, with modules of `folder`."""
    script = 'PYTHONPATH="$PYTHONPATH:$0" exec "$1" -c "$2"'
    return ["sh", "-c", script, str(folder), sys.executable, program]


def test_the_programs_own_sitecustomize_runs_as_python_would_run_it(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import sys; print('own', __name__, __file__)")
    (folder / "usercustomize.py").write_text("print('usercustomize')")
    command = with_the_folder(folder, "import sys, sitecustomize as s; print(s.__file__, s.__spec__.name, sys.path)")
    alone, ours = plain(command), launched(command, logdir=folder)
    assert (ours.out, ours.err) == (alone.out, alone.err)
    assert "own sitecustomize" in ours.out


@pytest.mark.parametrize(
    "text", ["raise ValueError('own')", "raise SystemExit(5)", "import no_such_module", "syntax error", "1/0"]
)
def test_what_the_programs_sitecustomize_raises_is_as_without_us(text: str, folder: Path) -> None:
    (folder / "sitecustomize.py").write_text(text)
    command = with_the_folder(folder, "print(1)")
    alone, ours = plain(command), launched(command, logdir=folder)
    assert (ours.status, ours.out) == (alone.status, alone.out)
    if text == "raise SystemExit(5)":  # which ends Python with a traceback: through us
        assert ours.err.splitlines()[-1] == alone.err.splitlines()[-1]
    else:
        assert ours.err == alone.err


WAITS = """
import signal, sys, time
caught, said = [], 0
for number in {numbers}:
    signal.signal(number, lambda number, frame: caught.append(number))  # no more: another handler may interrupt it
print("ready", flush=True)
while signal.SIGTERM not in caught[:said]:
    time.sleep(0.02)
    new = sorted(caught[said:])
    said += len(new)
    for number in new:
        print(number, flush=True)
sys.exit(6)
"""


def start(command: list[str], folder: Path, **keywords: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [*tool("run", "--logdir", str(folder)), "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        **keywords,  # type: ignore[call-overload]
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process  # type: ignore[no-any-return]


@pytest.fixture
def hears_all() -> Iterator[None]:
    """As a program in the foreground: what runs behind nohup or in the background ignores some signals."""
    ignored = [each for each in signal.valid_signals() if signal.getsignal(each) == signal.SIG_IGN]
    ignored = [each for each in ignored if each not in (signal.SIGPIPE, signal.SIGXFSZ)]  # Python's own choice
    for each in ignored:
        signal.signal(each, signal.SIG_DFL)
    yield
    for each in ignored:
        signal.signal(each, signal.SIG_IGN)


@pytest.mark.usefixtures("hears_all")
def test_signals_are_forwarded(folder: Path) -> None:
    sent = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH]
    text = WAITS.format(numbers=[*map(int, sent), int(signal.SIGTERM)])
    process = start([sys.executable, "-c", text], folder)
    assert process.stdout is not None
    for number in (*sent, signal.SIGTERM):
        process.send_signal(number)
        assert process.stdout.readline() == f"{int(number)}\n"
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, split(err)[0]) == (6, "", "")


@pytest.mark.usefixtures("hears_all")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR1, signal.SIGHUP])
@pytest.mark.parametrize("to_all", [False, True])
def test_a_signal_reaches_the_program_once_whether_sent_to_us_or_to_the_group(
    number: signal.Signals, to_all: bool, folder: Path
) -> None:
    text = WAITS.format(numbers=[int(number), int(signal.SIGTERM)])
    process = start([sys.executable, "-c", text], folder, start_new_session=True)
    for sent in (number, signal.SIGTERM):  # the lower number is dealt with first
        (os.killpg if to_all else os.kill)(process.pid, sent)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, split(err)[0]) == (6, f"{int(number)}\n15\n", "")


def test_a_signal_to_each_process_of_the_group_reaches_the_program_once(folder: Path) -> None:
    """As SLURM does: one after the other, to us first."""
    process = start([sys.executable, "-c", WAITS.format(numbers=[10, 15])], folder, start_new_session=True)
    with_us = {int(stat.parent.name): stat for stat in Path("/proc").glob("[0-9]*/stat")}
    group = [pid for pid, stat in sorted(with_us.items()) if _group_of(stat) == process.pid]
    assert group[0] == process.pid and len(group) == 3
    for pid in group:
        os.kill(pid, signal.SIGUSR1)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[0] == "10\n15\n"


EARLY = """
import os, shutil, signal
from tb_dataplugin.drive import child
from tb_dataplugin.drive.program import Program
call_witness = child.call_witness
def late():
    witness = call_witness()
    os.killpg(0, signal.SIGINT)
    return witness
child.call_witness = late
status = child.run(Program(shutil.which("sleep"), ("sleep", "60")), dict(os.environ))
print(os.WIFSIGNALED(status) and os.WTERMSIG(status))
"""


@pytest.mark.usefixtures("hears_all")
def test_ctrl_c_before_the_program_is_started_is_not_lost() -> None:
    """`sleep` dies of the signal whenever it comes; Python, which only just begins, would end in ways of its own."""
    done = plain([sys.executable, "-c", EARLY], start_new_session=True)
    assert (done.status, done.out, done.err) == (0, "2\n", "")


def _group_of(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[2])
    except OSError:  # it has ended meanwhile
        return 0


def test_a_witness_that_is_gone_leaves_signals_to_be_forwarded() -> None:
    witness = call_witness()
    assert witness is not None
    assert witness.saw(signal.SIGUSR1) is False
    os.kill(witness.pid, signal.SIGKILL)
    assert witness.saw(signal.SIGUSR1) is None
    assert witness.saw(signal.SIGUSR1) is None
    witness.dismiss()


def test_nothing_of_ours_outlives_a_program_that_is_killed_with_us(folder: Path) -> None:
    process = start([sys.executable, "-c", WAITS.format(numbers=[])], folder, start_new_session=True)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)  # all that held its streams is gone
    assert process.returncode == -signal.SIGKILL


def test_a_signal_that_kills_the_program_kills_us(folder: Path) -> None:
    process = start([sys.executable, "-c", WAITS.format(numbers=[])], folder)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM


def test_what_nohup_ignores_stays_ignored(folder: Path) -> None:
    text = (
        "import signal; print('ready', flush=True); input(); print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    )
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = start([sys.executable, "-c", text], folder, stdin=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGHUP, before)
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate("\n", timeout=60)
    assert (out.strip(), process.returncode) == ("True", 0)


def test_ctrl_c_in_a_terminal_reaches_the_program_once(folder: Path) -> None:
    """The program and we are one process group, which the terminal sends it to."""
    text = textwrap.dedent("""
        import os, signal, sys
        caught = []
        signal.signal(signal.SIGINT, lambda *_: caught.append(1))
        print("ready", os.isatty(0), os.isatty(1), os.tcgetpgrp(0) == os.getpgrp(), flush=True)
        while input() != "end": pass
        print("caught", len(caught), flush=True)
    """)
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(environment())
        os.execv(sys.executable, [*tool("run", "--logdir", str(folder)), "--", sys.executable, "-c", text])
    seen = ""
    while "ready" not in seen or "\n" not in seen.partition("ready")[2]:
        seen += os.read(terminal, 1000).decode()
    assert "ready True True True" in seen
    os.write(terminal, b"\x03")
    os.write(terminal, b"more\n")
    os.write(terminal, b"end\n")
    while True:
        try:
            block = os.read(terminal, 1000)
        except OSError:
            break
        if not block:
            break
        seen += block.decode()
    assert os.waitpid(pid, 0)[1] == 0
    assert "caught 1" in seen
    assert seen.count(OURS) == 1


def test_a_system_that_lacks_what_it_takes_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "sigwaitinfo")
    with pytest.raises(CannotStart, match="needs Linux") as caught:
        child.run(Program("/bin/true", ("true",)), {})
    assert caught.value.exit_status == 125


def test_older_pythons_pass_our_sitecustomize_by() -> None:
    """It has only what every Python can read, and nothing of ours is loaded by an old one."""
    from tb_dataplugin.drive.orders import _site

    text = (_site() / "sitecustomize.py").read_text()
    assert "annotations" not in text
    assert 'f"' not in text
    compile(text, "sitecustomize.py", "exec", dont_inherit=True)
