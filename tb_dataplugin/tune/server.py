"""Loops in processes of their own, which `python -m annotate tune-worker` serves: one for each setting.

A server has a process group of its own, so that Ctrl-C reaches the search alone, and so that everything that the
user's code has started ends with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tb_dataplugin.tune.running import CannotRun, Facts, Window
from tb_dataplugin.tune.setting import Changes
from tb_dataplugin.units import duration, percent

STARTS_WITHIN: Final = 300.0
"""Seconds in which the user's module has to be imported, and the loader made."""

ANSWERS_WITHIN: Final = 120.0
"""Seconds that a window may take beyond the longest that it should (`windows.LONGEST`)."""

LEAVES_WITHIN: Final = 2.0
"""Seconds in which a server ends by itself, once its input has; then it is asked to, and killed."""

ENDS_WITHIN: Final = 5.0


@dataclass(frozen=True, slots=True)
class Program:
    """What is run: the loader that `target` names (``module:name``), and a step of `step_ms`.

    python          the interpreter that has torch
    step_cpu        share of the step that keeps a CPU busy
    step_without    names what the step of the capture has beside these; "" where it was given
    device          batches are copied there: "" for none
    arguments       what the module finds in ``sys.argv``
    seconds         that a window is timed
    """

    target: str
    step_ms: float = 0.0
    step_cpu: float = 0.0
    step_without: str = ""
    device: str = ""
    arguments: tuple[str, ...] = ()
    python: str = sys.executable
    seconds: float = 2.0

    @property
    def step_text(self) -> str:
        """A sentence."""
        length = duration(self.step_ms * 1e3) if self.step_ms else "nothing"
        busy = f", {percent(self.step_cpu)} of it busy on a CPU" if self.step_ms and self.step_cpu else ""
        beside = f" ({self.step_without})" if self.step_ms and self.step_without else ""
        return f"The training step was simulated: it takes {length}{beside}{busy}, and computes nothing."

    def start(self, changes: Changes) -> Server:
        """Raises CannotRun where the loader cannot be made with these settings."""
        return Server(self, changes)

    def command(self, changes: Changes) -> Sequence[str]:
        values = json.dumps(changes.as_dict())
        step = ["--step-ms", f"{self.step_ms:.6g}", "--step-cpu", f"{self.step_cpu:.3g}", "--device", self.device]
        command = [self.python, "-m", "annotate", "tune-worker", self.target, "--change", values, *step]
        return [*command, "--", *self.arguments] if self.arguments else command


class Server:
    """A running loop; see `running.Loop`."""

    def __init__(self, program: Program, changes: Changes) -> None:
        self._program = program
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the process)
        try:
            self._process = subprocess.Popen(
                program.command(changes),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            raise CannotRun(f"cannot start {program.python}: {error.strerror or error}") from None
        self._unread = b""
        try:
            self._first = self._answer(STARTS_WITHIN)
        except BaseException:
            self.close()
            raise

    def facts(self, cpus: int) -> Facts:
        first = self._first
        return Facts(
            made=first["settings"],
            cpus=cpus,
            takes=frozenset(first["takes"]),
            batch_size=first["batch_size"],
            device=self._program.device,
            opencv=bool(first["opencv"]),
            file=first["file"],
            line=int(first["line"]),
            note=first["note"],
            iterable=first["iterable"],
            undivided=first["undivided"],
        )

    def window(self) -> Window:
        return self._window({"do": "window", "seconds": self._program.seconds})

    def same(self, count: int = 0) -> Window:
        """Of the same samples each time; of so many batches, or (0) as many as there is time for."""
        return self._window({"do": "same", "seconds": self._program.seconds, "count": count})

    def loaderless(self, count: int) -> Window:
        """Of so many batches from memory."""
        return self._window({"do": "loaderless", "count": count})

    def _window(self, question: dict[str, Any]) -> Window:
        answer = self._ask(question)
        if not answer.get("batches"):
            raise CannotRun("the window was too short for a single batch: give it more time (--seconds)")
        return Window(**answer)

    def record(self, batches: int, logdir: str) -> str:
        """A capture of the loop, which is not to be timed afterwards; its path. Raises CannotRun."""
        return str(self._ask({"do": "record", "batches": batches, "logdir": logdir})["trace"])

    def close(self) -> None:
        """Ends the process, and all that it started."""
        process = self._process
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LEAVES_WITHIN)
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                continue
            except OSError:  # nobody is left in the group
                break
        self._errors.close()

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._died() from None
        return self._answer(ANSWERS_WITHIN + 5 * self._program.seconds)

    def _answer(self, within: float) -> dict[str, Any]:
        line = self._line(time.monotonic() + within)
        if line is None:
            raise CannotRun(f"no answer within {within:.0f} s")
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise self._died() from None
        if "error" in answer:
            raise CannotRun(answer["error"])
        return answer

    def _line(self, until: float) -> bytes | None:
        """b"" where the process has ended; None where there is none by then."""
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            ready, _, _ = select.select([handle], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            piece = os.read(handle, 1 << 16)
            if not piece:
                return b""
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _died(self) -> CannotRun:
        """With the last line that it wrote."""
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        return CannotRun(f"{self._program.python} ended: {last[:300]}")
