"""Programs that cannot be asked are looked at from outside, by the Python that runs them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_dataplugin.cli import looked, main
from tb_dataplugin.drive import attach as attaching
from tb_dataplugin.drive import onlooker, processes
from tb_dataplugin.drive.onlooker import CannotLook, Looked, look
from tb_dataplugin.errors import BadRequest
from tests.tb_dataplugin.drive.launched import environment

LOADER = """
class Iterator:
    def __next__(self):
        return sum(range(100))
"""
TRAINS = """
import sys
from torch.utils.data.dataloader import Iterator

print("ready", flush=True)
batches = Iterator()
while True:
    next(batches)
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """It is always in a "DataLoader", and knows nothing of us."""
    folder = tmp_path / "torch" / "utils" / "data"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent, folder.parent.parent):
        (package / "__init__.py").touch()
    (folder / "dataloader.py").write_text(LOADER)
    (tmp_path / "train.py").write_text(TRAINS)
    command = [sys.executable, str(tmp_path / "train.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.skipif(sys.platform != "linux" or sys.version_info < (3, 11), reason="stacks are read on Linux, from 3.11")
def test_a_program_that_cannot_be_asked_is_looked_at(
    program: subprocess.Popen[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(processes, "has_torch", lambda pid: True)
    assert main(["attach", str(program.pid), "--seconds", "0.5", "--logdir", str(tmp_path / "logs")]) == 0
    said = capsys.readouterr().out
    assert f"Process {program.pid}: the training thread waits for data for" in said
    (stacks,) = (tmp_path / "logs").iterdir()
    assert stacks.name in said
    frames = {frame["name"] for frame in json.loads(stacks.read_text())["shared"]["frames"]}
    assert {"Iterator.__next__", "<module>"} <= frames
    assert program.poll() is None


def test_a_python_that_cannot_be_started_says_what_to_do(
    program: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "has_torch", lambda pid: True)
    monkeypatch.setattr(onlooker, "_command", lambda *_: ("/nowhere/python3",))
    with pytest.raises(BadRequest, match=r"cannot be read \(/nowhere/python3 .*; start it by"):
        attaching.attach(program.pid, attaching.Ask(1, None))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"why_not": "no reason"}', "no reason"),
        (b"", "not valid"),
        (b'{"threads": 3}', "not valid"),
        (b"{}", "none was seen"),
        (b'{"unseen": ["It is hidden."]}', "It is hidden."),
    ],
)
def test_stacks_that_say_nothing(text: bytes, why: str, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=f"{re.escape(why)}.*; start it by `tb-dataplugin run"):
        looked.say(Looked(text, 7, {}), tmp_path)


def test_a_program_of_another_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "exe").symlink_to("/bin/sh")
    monkeypatch.setattr(processes, "PROC", tmp_path)
    with pytest.raises(CannotLook, match="not a Python that can run a script of ours"):
        look(7, 7, 1.0)
