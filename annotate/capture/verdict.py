"""The verdict on a capture, for the line at its end: `tb_dataplugin` is asked, as a program of its own.

That takes about a second of one CPU, most of it for importing the reader, and so it is done once, when the ``with``
block ends. While the loop runs, the second would be taken from its steps, its DataLoader workers and the next windows;
at the end of the program the line could be hours late, and the process wants to end. When the block ends nothing is
recorded any more, all hooks are out, and whoever looks on waits for the result. The program waits `PATIENCE_S` at most,
and not at all where an error, Ctrl-C or the program's end has left the block.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO, Final

from annotate.capture import verdict_reader
from annotate.host.watcher_process import ENVIRONMENT, can_run_scripts
from annotate.signals import came_by_a_signal

PATIENCE_S: Final = 3
"""As `sentences.LONG_PAUSE_S`: who looks on takes no shorter pause for a fault."""
_MOST: Final = 1000
"""Bytes of a sentence."""
_ONE_THREAD: Final = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


@dataclass(frozen=True, slots=True)
class Answer:
    """`sentence`: "" where there is none."""

    sentence: str = ""
    is_late: bool = False
    """There is none since it took longer than `PATIENCE_S`."""


def ask(path: str) -> Answer:
    """The verdict on the capture in `path` in one sentence.

    None where `tb_dataplugin` is not installed, fails, or needs longer. Raises nothing but what signals do.
    """
    try:
        return _answer(path) if can_run_scripts() and hasattr(os, "fork") else Answer()
    except subprocess.TimeoutExpired:
        return Answer(is_late=True)
    except Exception as error:
        if came_by_a_signal(error):
            raise
        return Answer()


def _answer(path: str) -> Answer:
    """Raises: OSError, SubprocessError: it could not be started, or was late to fork."""
    until = monotonic() + PATIENCE_S
    started = _start(path)
    if started.stdout is None:
        return Answer()
    with started.stdout as answer:
        try:
            text = _read(answer, until)
            started.wait(max(0.0, until - monotonic()))  # it has forked, and is gone
        except BaseException:
            started.kill()
            started.wait()
            raise
    if text is None:
        return Answer(is_late=True)
    return Answer(" ".join(text.decode("utf-8", "replace").split()))


def _start(path: str) -> subprocess.Popen[bytes]:
    """With the packages of this process, and nothing else of the user's: no variables, folder or streams."""
    root = str(Path(__file__).parents[2])
    packages = [os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)]  # noqa: PTH100
    environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return subprocess.Popen(
        (sys.executable, "-I", verdict_reader.__file__, str(PATIENCE_S), path, root, *packages),
        bufsize=0,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={**environment, **_ONE_THREAD, "TB_DATAPLUGIN_CACHE": "off"},
    )


def _read(answer: IO[bytes], until: float) -> bytes | None:
    """Until it has closed its end; None where that takes too long."""
    poll = select.poll()
    poll.register(answer, select.POLLIN)
    text = b""
    while poll.poll(max(0.0, until - monotonic()) * 1e3):
        part = os.read(answer.fileno(), _MOST)
        if not part or len(text) > _MOST:
            return text[:_MOST]
        text += part
    return None
