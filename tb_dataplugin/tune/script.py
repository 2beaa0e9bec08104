"""The user's own program as what `tune` runs: each setting in a start of its own, its loop timed from within.

`annotate.launch.tuned` sits in the program, and answers over a socket. Between windows the program waits.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tb_dataplugin.drive import orders, outcome
from tb_dataplugin.drive.program import find_program
from tb_dataplugin.tune.running import CannotRun, Facts, Window
from tb_dataplugin.tune.setting import Changes

FOLDER: Final = "ANNOTATE_TUNE"
"""In the environment. `annotate/launch/site/_annotate_settings.py` reads it."""
ORDER: Final = "tune.json"
LOADERS: Final = "loaders.jsonl"
SOCKET: Final = "socket"

STARTS_WITHIN: Final = 600.0
"""Seconds until the program has its first batch, or has been recorded."""
ANSWERS_WITHIN: Final = 300.0
"""Seconds that a window may take: an epoch may end in it, and a validation begin."""
LEAVES_WITHIN: Final = 10.0
"""Seconds that it has after each of the ways to stop it."""
LOOK_EACH_S: Final = 0.1
RECORDED: Final = 24


@dataclass(frozen=True, slots=True)
class Script:
    """A command. `place`: where it makes the loader that is tuned; "" before that is known."""

    command: tuple[str, ...]
    seconds: float = 2.0
    place: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def target(self) -> str:
        return shlex.join(self.command)

    @property
    def about(self) -> str:
        """What stood for the training step."""
        return (
            "The program was started once for each setting, and stopped after its windows; the loader made at "
            f"{place_shown(self.place)} had its settings changed."
        )

    def start(self, changes: Changes) -> ScriptLoop:
        """Raises CannotRun where it gives no batch, and CannotStart where it is no program."""
        return ScriptLoop(self, changes)


def place_shown(place: str) -> str:
    file, _, line = place.rpartition(":")
    name = os.path.relpath(file)
    return f"{file if name.startswith('..') else name}:{line}"


@dataclass(frozen=True, slots=True)
class Recorded:
    """The program's first run: a trace of it, and the loaders that it iterated, in order."""

    trace: Path
    loaders: tuple[Mapping[str, Any], ...]


class Running:
    """A start of the program, in a session of its own, so that Ctrl-C reaches the search alone."""

    def __init__(self, script: Script, order: Mapping[str, Any], environment: Mapping[str, str], folder: Path) -> None:
        (folder / ORDER).write_text(json.dumps({"folder": str(folder), **order}))
        program = find_program(script.command, environment)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the process)
        try:
            self.process = subprocess.Popen(
                program.arguments,
                executable=program.path,
                env={**environment, FOLDER: str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self._said.close()
            raise CannotRun(f"cannot start {script.command[0]}: {error.strerror or error}") from None

    def ended(self) -> CannotRun | None:
        """With the last line that it wrote; None while it runs."""
        status = self.process.poll()
        if status is None:
            return None
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        said = f"; its last line: {last[:300]}" if last else ""
        if status:
            return CannotRun(f"the program ended with status {status}{said}")
        return CannotRun("the program ended: tuning needs a loop of a few hundred steps, so give it more epochs")

    def stop(self) -> None:
        """As Ctrl-C would; then harder. All that it has started ends with it."""
        process = self.process
        with contextlib.suppress(OSError):
            os.kill(process.pid, signal.SIGINT)
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                process.wait(LEAVES_WITHIN)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LEAVES_WITHIN)
        with contextlib.suppress(OSError):  # what it has left behind
            os.killpg(process.pid, signal.SIGKILL)
        self._said.close()


class ScriptLoop:
    """A start of the program whose windows can be timed; see `running.Loop`."""

    def __init__(self, script: Script, changes: Changes) -> None:
        self._seconds = script.seconds
        self._folder = Path(tempfile.mkdtemp(prefix="tb-dataplugin-tune-"))
        self._running: Running | None = None
        self._line: socket.socket | None = None
        self._unread = b""
        try:
            with socket.socket(socket.AF_UNIX) as door:
                door.bind(str(self._folder / SOCKET))
                door.listen(1)
                order = {"place": script.place, "changes": changes.as_dict(), "socket": str(self._folder / SOCKET)}
                self._running = Running(script, order, orders.with_site(script.environment), self._folder)
                self._line = self._come_in(door)
            self.first = self._answer(STARTS_WITHIN)
        except BaseException:
            self.close()
            raise

    def window(self) -> Window:
        assert self._line is not None
        try:
            self._line.sendall(json.dumps({"seconds": self._seconds}).encode() + b"\n")
        except OSError:
            raise self._gone() from None
        return Window(**self._answer(ANSWERS_WITHIN + 5 * self._seconds))

    def close(self) -> None:
        """Without its line the loop gets a KeyboardInterrupt at its next batch."""
        if self._line is not None:
            self._line.close()
        if self._running is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._running.process.wait(LEAVES_WITHIN if self._line is not None else 0)
            self._running.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _come_in(self, door: socket.socket) -> socket.socket:
        until = time.monotonic() + STARTS_WITHIN
        door.settimeout(LOOK_EACH_S)
        while time.monotonic() < until:
            with contextlib.suppress(TimeoutError):
                return door.accept()[0]
            assert self._running is not None
            ended = self._running.ended()
            if ended is not None:
                raise ended
        raise CannotRun(f"the program had no batch within {STARTS_WITHIN:.0f} s")

    def _answer(self, within: float) -> dict[str, Any]:
        assert self._line is not None
        until = time.monotonic() + within
        while b"\n" not in self._unread:
            self._line.settimeout(max(LOOK_EACH_S, until - time.monotonic()))
            try:
                piece = self._line.recv(1 << 16)
            except TimeoutError:
                raise CannotRun(f"no answer within {within:.0f} s") from None
            except OSError:
                piece = b""
            if not piece:
                raise self._gone()
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _gone(self) -> CannotRun:
        assert self._running is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._running.process.wait(LEAVES_WITHIN)
        return self._running.ended() or CannotRun("the program closed its connection")


def record(script: Script, changes: Changes, logdir: Path) -> Recorded:
    """Runs it until a window of its steady loop is recorded. Raises CannotRun."""
    order = orders.Order(logdir=logdir, wait=None, active=RECORDED, standby=False)
    folder = orders.give_order(order)
    running: Running | None = None
    try:
        environment = orders.environment_for(order, folder, script.environment)
        running = Running(
            script, {"place": script.place, "changes": changes.as_dict(), "socket": ""}, environment, folder
        )
        until = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < until:
            ended = running.ended()
            found = outcome.read_outcome(folder)
            if any(note.state in ("recorded", "nothing") for note in found.notes) or ended is not None:
                break
            time.sleep(LOOK_EACH_S)
        traces = outcome.traces(found)
        if not traces:
            raise CannotRun(_why(found, running))
        return Recorded(traces[0], tuple(_loaders(folder)))
    finally:
        if running is not None:
            running.stop()
        orders.take_back(folder)


def _why(found: outcome.Outcome, running: Running) -> str:
    ended = running.ended()
    if ended is not None and (running.process.returncode or found.notes):
        return str(ended)
    return outcome.why_nothing(found, running.process.returncode or 0, standby=False)


def _loaders(folder: Path) -> list[dict[str, Any]]:
    try:
        lines = (folder / LOADERS).read_text().splitlines()
    except OSError:
        return []
    return [json.loads(line) for line in lines]


def chosen(loaders: Sequence[Mapping[str, Any]], workers: int, batch_size: int | None) -> Mapping[str, Any]:
    """The loader that was recorded: by its settings, the first that was iterated to train. Raises CannotRun."""
    if not loaders:
        raise CannotRun("the program's loader was not made by torch's DataLoader")
    alike = [one for one in loaders if one["settings"]["num_workers"] == workers and one["batch_size"] == batch_size]
    return next((one for one in alike or loaders if one["trains"]), (alike or loaders)[0])


def facts_of(loader: Mapping[str, Any], cpus: int) -> Facts:
    file, _, line = str(loader["place"]).rpartition(":")
    made = {name: value for name, value in loader["settings"].items() if name != "multiprocessing_context"}
    return Facts(
        made=made,
        cpus=cpus,
        takes=frozenset(loader["takes"]),
        batch_size=loader["batch_size"],
        device=loader["device"],
        file=file,
        line=int(line),
        iterable=loader["iterable"],
        undivided=loader["undivided"],
    )


def at_place(script: Script, loader: Mapping[str, Any]) -> Script:
    return replace(script, place=str(loader["place"]))
