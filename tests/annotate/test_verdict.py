"""The verdict in the line at a capture's end: asked for outside of the program, which is as without it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.capture import session, verdict, verdict_reader
from annotate.capture.sentences import written
from annotate.capture.verdict import Answer, ask
from annotate.options import is_first_rank
from tb_dataplugin import read_report
from tests.support import warm
from tests.support.torchs_lines import is_torchs_own

CAPTURE = "annotate_workers2.pt.trace.json.gz"
SENTENCE = "The training thread waits for data."


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files that a verdict was asked on; each has the same."""
    paths: list[str] = []

    def answer(path: str) -> Answer:
        paths.append(path)
        return Answer(SENTENCE)

    monkeypatch.setattr(verdict, "ask", answer)
    return paths


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine of the test is."""
    monkeypatch.setattr(verdict, "PATIENCE_S", 60)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """What is run in the place of the reader: an empty script."""
    script = tmp_path / "reader.py"
    script.touch()
    monkeypatch.setattr(verdict_reader, "__file__", str(script))
    monkeypatch.setattr(verdict, "ask", ask)
    before = _children()
    yield script
    assert _children() <= before


def _children() -> set[int]:
    """Of this process, those included that have ended and were not waited for; another test's may be among them."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found |= {int(pid) for pid in (task / "children").read_text().split()}
    return found


class Numbers(Dataset[int]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return index


def capture(folder: Path, error: BaseException | None = None, **schedule: Any) -> Any:
    with annotate.profile(folder, **{"wait": 0, "warmup": 1, "active": 1, **schedule}) as prof:
        for _ in prof.steps(annotate.loader(DataLoader(Numbers()))):
            pass
        if error is not None:
            raise error
    return prof


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("annotate: ")]


# ----------------------------------------------------------------------------------------------------------------------
# the sentence


@pytest.mark.usefixtures("patient")
def test_it_is_the_reports(golden: Path) -> None:
    assert ask(str(golden / CAPTURE)) == Answer(read_report(golden / CAPTURE)[0].verdict.sentence)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "script", ["", "raise ImportError('no tb_dataplugin')", "raise SystemExit(2)", "import os; os.abort()"]
)
def test_there_is_none_where_the_reader_fails(script: str, reader: Path, capfd: pytest.CaptureFixture[str]) -> None:
    reader.write_text(script)
    assert ask("trace") == Answer()
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("patient")
def test_there_is_none_of_a_file_that_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "x.pt.trace.json").write_text("no JSON")
    assert ask(str(tmp_path / "x.pt.trace.json")) == Answer()
    assert ask(str(tmp_path / "missing.pt.trace.json")) == Answer()


def test_what_fails_here_costs_the_verdict_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any, **keywords: Any) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", fails)
    assert ask("trace") == Answer()


def test_a_program_that_is_its_own_python_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(verdict, "_start", lambda path: pytest.fail("started"))
    assert ask("trace") == Answer()


def test_nobody_waits_for_longer_than_is_patient(reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader.write_text("import signal\nsignal.pause()")
    monkeypatch.setattr(verdict, "PATIENCE_S", 0)
    assert ask("trace") == Answer(is_late=True)


def test_a_verdict_that_takes_too_long_is_said_to_and_one_that_failed_is_not(tmp_path: Path) -> None:
    paths = [str(tmp_path / "a.pt.trace.json.gz")]
    late = written(paths, tmp_path, found=Answer(is_late=True))
    said_late = "wrote 1 capture. No verdict here: computing it takes longer than 3 s; the report has it. Look at it: "
    assert late.startswith(said_late)
    assert written(paths, tmp_path, found=Answer()).startswith("wrote 1 capture. Look at it: ")


def test_a_reader_that_is_late_to_start_is_late(monkeypatch: pytest.MonkeyPatch, reader: Path) -> None:
    """It has not forked yet when nobody waits any longer."""
    reader.write_text("import os, signal\nos.close(1)\nsignal.pause()")
    monkeypatch.setattr(verdict, "PATIENCE_S", 1)
    assert ask("trace") == Answer(is_late=True)


def test_the_reader_ends_itself_where_nobody_listens_any_more(golden: Path, tmp_path: Path) -> None:
    """The program may have been killed. No clock decides: an alarm ends it, and the pipe says so."""
    package = tmp_path / "tb_dataplugin"
    package.mkdir()
    (package / "__init__.py").write_text("import signal, sys\nprint('waits', flush=True)\nsignal.pause()")
    script = (sys.executable, "-I", str(verdict_reader.__file__), "1", str(golden / CAPTURE), str(tmp_path))
    done = subprocess.run(script, stdout=subprocess.PIPE, check=True, preexec_fn=ignore_alarms)
    assert done.stdout == b"waits\n"


def ignore_alarms() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])


def test_the_reader_has_nothing_of_the_programs_but_its_packages(
    reader: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANNOTATE", str(tmp_path / "runs"))
    monkeypatch.setenv("PYTHONPATH", "nowhere")
    packages = [os.path.abspath(entry) for entry in sys.path]  # noqa: PTH100
    seen = "os.getcwd(), sys.stdin.read(), 'ANNOTATE' in os.environ or 'PYTHONPATH' in os.environ, sys.argv[4:]"
    reader.write_text(f"import os, sys\nprint(({seen}) == ('/', '', False, {packages!r}))")
    assert ask("trace") == Answer("True")


# ----------------------------------------------------------------------------------------------------------------------
# the line, and the program around it


def test_the_line_has_what_was_written_the_verdict_and_how_to_look_at_it(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prof = capture(tmp_path)
    (line,) = said(capsys)
    look = f"Look at it: tb-dataplugin report {prof.trace_files[0]}"
    assert line == f"annotate: wrote 1 capture. The training thread waits for data. {look}"
    assert asked == prof.trace_files


def test_of_several_windows_the_last_one_is_judged(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prof = capture(tmp_path, repeat=2)
    (line,) = said(capsys)
    assert "wrote 2 captures. The last one: The training thread waits for data. Look at it: " in line
    assert asked == prof.trace_files[-1:]


def test_it_is_asked_for_after_the_loop_when_nothing_of_ours_is_in_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = DataLoader.__iter__
    seen: list[bool] = []

    def answer(path: str) -> Answer:
        seen.append(DataLoader.__iter__ is before and Path(path).exists() and not session.is_on())
        return Answer()

    monkeypatch.setattr(verdict, "ask", answer)
    capture(tmp_path)
    annotate.off()
    assert len(seen) == 1


@pytest.mark.parametrize("error", [ValueError("of the user's"), KeyboardInterrupt(), SystemExit(3)])
def test_whoever_leaves_by_an_error_does_not_wait(
    error: BaseException, asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(type(error)):
        capture(tmp_path, error)
    (line,) = said(capsys)
    assert line.startswith("annotate: wrote 1 capture. Look at it: ")
    assert not asked


def test_nobody_is_asked_where_it_is_not_wanted_or_another_rank_speaks(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    capture(tmp_path, verdict=False)
    assert len(said(capsys)) == 1
    monkeypatch.setenv("RANK", "1")
    capture(tmp_path)
    assert said(capsys) == []
    assert not asked
    with pytest.raises(TypeError, match="verdict must be True or False, not 1"):
        annotate.profile(tmp_path, verdict=1)  # type: ignore[arg-type]


def test_ranks_without_variables_are_known_from_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    assert is_first_rank()
    torchs = SimpleNamespace(is_initialized=lambda: True, get_rank=lambda: 1)
    monkeypatch.setitem(sys.modules, "torch.distributed", torchs)
    assert not is_first_rank()
    monkeypatch.setitem(sys.modules, "torch.distributed", SimpleNamespace())  # a build of torch without it
    assert is_first_rank()


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_what_a_signal_raises_meanwhile_is_the_users(
    error: type[BaseException],
    reader: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def strike(*args: Any) -> bytes:
        signal.raise_signal(signal.SIGUSR1)
        return b""

    def handler(number: int, frame: object) -> None:
        raise error

    reader.write_text("import signal\nsignal.pause()")
    monkeypatch.setattr(verdict, "_read", strike)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(error):
            capture(tmp_path)
    finally:
        signal.signal(signal.SIGUSR1, before)
    (line,) = said(capsys)
    assert line.startswith("annotate: wrote 1 capture. Look at it: ")


def test_a_program_is_as_without_it_and_all_that_is_said_is_one_line(tmp_path: Path) -> None:
    """Its SIGCHLD handler meets no process of ours that it could take for its own, and none stays."""
    program = f"""
import os, signal, sys, annotate
from torch.utils.data import DataLoader
def handler(number, frame):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
{{}}
with annotate.profile({str(tmp_path / "runs")!r}, wait=0, warmup=1, active=1) as prof:
    for batch in prof.steps(DataLoader(list(range(4)))): pass
try: os.waitpid(-1, 0)
except ChildProcessError: print("no child")
print(sorted(os.listdir("/proc/self/fd")), flush=True)
sys.exit(7)
"""
    for disposition in ("", "signal.signal(signal.SIGCHLD, handler)", "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"):
        fds = set()
        for keyword in ("verdict=True", "verdict=False"):
            text = program.replace("{}", disposition).replace("active=1", f"active=1, {keyword}")
            done = warm.run([sys.executable, "-c", text])
            assert done.returncode == 7
            first, second = done.stdout.splitlines()
            assert first == "no child"
            fds.add(second)
            (line,) = [line for line in done.stderr.splitlines() if not is_torchs_own(line)]
            assert line.startswith("annotate: wrote 1 capture. ")
            assert line.startswith("annotate: wrote 1 capture. Look at it") == (keyword == "verdict=False")
        assert len(fds) == 1


def test_a_program_that_ends_within_the_block_does_not_wait(tmp_path: Path) -> None:
    program = f"""
import annotate
from annotate.capture import session, verdict, verdict_reader
from torch.utils.data import DataLoader
verdict.ask = lambda path: print("asked")
prof = annotate.profile({str(tmp_path / "runs")!r}, wait=0, warmup=1, active=1).__enter__()
for batch in prof.steps(DataLoader(list(range(4)))): pass
"""
    done = warm.run([sys.executable, "-c", program])
    assert done.stdout == ""
    assert "annotate: wrote 1 capture. Look at it: " in done.stderr
