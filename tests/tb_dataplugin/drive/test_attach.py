"""`tb-dataplugin attach`: who can be asked for a capture, and how torch's Kineto is asked."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_dataplugin.drive import asking, joining, kineto_daemon, processes
from tb_dataplugin.drive import attach as attaching
from tb_dataplugin.drive.attach import Ask, attach
from tb_dataplugin.drive.kineto_daemon import Message
from tb_dataplugin.errors import BadRequest, NothingToReport
from tests.tb_dataplugin.drive.launched import environment, tool

KEEPS = "print('ready', flush=True); input()"


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A Python that does nothing, with a folder of a `run` in its environment."""
    (tmp_path / "run").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", KEEPS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(ANNOTATE_RUN=str(tmp_path / "run")),
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def give(folder: Path, *, standby: bool) -> None:
    facts = {"logdir": str(folder.parent / "logs"), "wait": None, "active": 10, "standby": standby}
    (folder / "order.json").write_text(json.dumps(facts))


def note(folder: Path, pid: int, **facts: object) -> None:
    (folder / f"{pid}.json").write_text(json.dumps({"state": "waiting", "reason": "", "files": [], **facts}))


def test_a_process_that_is_not_there() -> None:
    with pytest.raises(BadRequest, match="there is no process 4194999"):
        attach(4194999, Ask(1, None))


def test_a_process_without_torch(program: subprocess.Popen[str]) -> None:
    with pytest.raises(BadRequest, match="has not loaded torch"):
        attach(program.pid, Ask(1, None))


def test_a_torch_that_cannot_be_asked(program: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "has_torch", lambda pid: True)
    with pytest.raises(BadRequest, match="has not iterated a DataLoader yet"):
        attach(program.pid, Ask(1, None))


def test_a_program_that_records_by_itself(program: subprocess.Popen[str], tmp_path: Path) -> None:
    give(tmp_path / "run", standby=False)
    note(tmp_path / "run", program.pid)
    with pytest.raises(BadRequest, match="--standby"):
        attach(program.pid, Ask(1, None))


def answer(folder: Path, pid: int, **facts: object) -> threading.Thread:
    """What the process does once it is asked."""

    def wait() -> None:
        while not (folder / f"{pid}.ask").exists():
            time.sleep(0.01)
        asked = json.loads((folder / f"{pid}.ask").read_text())
        assert asked == {"seconds": 2.5, "logdir": str(folder.parent / "logs")}
        note(folder, pid, **facts)
        (folder / f"{pid}.ask").unlink()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_a_program_on_standby_is_asked_by_its_pid_or_one_above(program: subprocess.Popen[str], tmp_path: Path) -> None:
    give(tmp_path / "run", standby=True)
    note(tmp_path / "run", program.pid, files=["/logs/earlier"])
    thread = answer(tmp_path / "run", program.pid, state="recorded", files=["/logs/earlier", "/logs/new"])
    assert attach(os.getpid(), Ask(2.5, None)).traces == [Path("/logs/new")]
    thread.join()


def test_why_nothing_was_recorded(program: subprocess.Popen[str], tmp_path: Path) -> None:
    give(tmp_path / "run", standby=True)
    note(tmp_path / "run", program.pid)
    thread = answer(tmp_path / "run", program.pid, state="nothing", reason="its own profiler was at work")
    with pytest.raises(NothingToReport, match="its own profiler was at work"):
        attach(program.pid, Ask(2.5, None))
    thread.join()


def test_a_program_that_takes_no_batch(
    program: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "OTHERS_S", 0.0)
    give(tmp_path / "run", standby=True)
    note(tmp_path / "run", program.pid)
    with pytest.raises(NothingToReport, match="took no batch meanwhile"):
        attach(program.pid, Ask(0.01, None))
    assert not list((tmp_path / "run").glob("*.ask"))


def test_an_older_python_is_not_joined(program: subprocess.Popen[str], tmp_path: Path) -> None:
    if sys.version_info >= (3, 14):
        pytest.skip("it would be")
    with pytest.raises(joining.CannotJoin, match=r"^$"):
        joining.join([program.pid], 1, tmp_path)
    assert not (tmp_path / "logs").exists()


def test_the_ranks_of_a_launcher_are_joined_and_not_their_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = {1: 0, 2: 1, 3: 1, 4: 2, 5: 3}
    ranks = {2: "0", 3: "1", 4: "0", 5: "1"}
    monkeypatch.setattr(processes, "parents", lambda: parents)
    monkeypatch.setattr(processes, "environment", lambda pid: {"RANK": ranks[pid]} if pid in ranks else {})
    assert joining.trainers([1, 2, 3, 4, 5]) == [2, 3]
    ranks.clear()
    assert joining.trainers([1, 2]) == [1]
    assert joining.trainers([2, 4]) == [2]


def test_the_order_goes_unless_its_script_may_still_be_read(tmp_path: Path) -> None:
    """A process that comes to it later finds an empty one."""
    ours = {name: asking.Ours(7, tmp_path / name) for name in ("answered", "refused", "silent")}
    for each in ours.values():
        each.folder.mkdir()
        (each.folder / "join.py").write_text("1 / 0")
    note(ours["answered"].folder, 7)
    (ours["refused"].folder / "refused").write_text("annotate is not there for it")
    joining.leave(list(ours.values()))
    assert [path.name for path in tmp_path.iterdir()] == ["silent"]
    assert (ours["silent"].folder / "join.py").read_text() == ""


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A socket of this test's own."""
    name = f"\0test-{os.getpid()}-{time.time_ns()}\0".encode()
    monkeypatch.setattr(kineto_daemon, "_ADDRESS", name)
    return name


def request(kinds: int, *pids: int) -> Message:
    return Message("req", struct.pack("<iiq", kinds, len(pids), 0) + struct.pack(f"<{len(pids)}i", *pids))


def test_messages_are_read_as_they_are_written() -> None:
    for message in (Message("ctxt", b"\1\0\0\0"), request(3, 7, 8), Message("req", b"")):
        assert kineto_daemon.unpacked(kineto_daemon.packed(message)) == message
    assert kineto_daemon.unpacked(b"short") is None
    assert kineto_daemon.unpacked(kineto_daemon.packed(request(3, 7))[:-1]) is None


def test_who_asks_for_a_trace_is_the_first_process_named() -> None:
    assert kineto_daemon.asker(request(3, 7, 8)) == 7
    assert kineto_daemon.asker(request(1, 7)) is None
    assert kineto_daemon.asker(Message("req", b"")) is None
    assert kineto_daemon.asker(Message("ctxt", b"\0" * 40)) is None


def test_only_the_process_that_is_meant_gets_the_configuration(address: bytes) -> None:
    answers: dict[str, bytes] = {}

    def client() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind(address[:-1] + b"-client\0")
            for name, message in {
                "registers": Message("ctxt", b"\0" * 16),
                "another": request(3, 8),
                "meant": request(2, 7),
            }.items():
                sock.sendto(kineto_daemon.packed(message), address)
                answered = kineto_daemon.unpacked(sock.recv(1 << 16))
                assert answered is not None
                answers[name] = answered.body

    with kineto_daemon.listening() as sock:
        thread = threading.Thread(target=client)
        thread.start()
        assert kineto_daemon.ask(sock, 7, "A=1\n", time.monotonic() + 30)
        thread.join()
    assert answers == {"registers": struct.pack("<i", 1), "another": b"", "meant": b"A=1\n"}


def test_nobody_asks(address: bytes) -> None:
    with kineto_daemon.listening() as sock:
        assert not kineto_daemon.ask(sock, 7, "", time.monotonic())


def test_a_socket_that_another_daemon_holds_is_one_line(address: bytes) -> None:
    with kineto_daemon.listening(), pytest.raises(BadRequest, match="another daemon"), kineto_daemon.listening():
        pass


def test_kinetos_file_gets_our_name(tmp_path: Path) -> None:
    asked = tmp_path / ".attach-1.json"
    text = kineto_daemon.configuration(asked, 1.5)
    assert "ACTIVITIES_DURATION_MSECS=1500\n" in text
    assert f"ACTIVITIES_LOG_FILE={asked}\n" in text
    written = kineto_daemon.written_file(asked, 7)
    assert written == tmp_path / ".attach-1_7.json"
    written.write_text('{"traceEvents": [')
    assert not attaching._is_whole(written)
    written.write_text('{"traceEvents": []}\n')
    assert attaching._is_whole(written)
    packed = attaching._pack(written, 7)
    assert packed.name.endswith(".pt.trace.json.gz")
    assert "_7." in packed.name


@pytest.mark.parametrize("arguments", [["x"], ["0"], ["1", "--seconds", "0"], ["1", "--seconds", "x"], []])
def test_bad_usage_is_one_line(arguments: list[str]) -> None:
    done = subprocess.run(tool("attach", *arguments), capture_output=True, text=True, env=environment(), check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("tb-dataplugin attach: error: ")
