"""Tells whether a signal that has come to us was sent to us alone, or to our whole process group.

``kill -INT PID`` is for us, and the program has to be told; ``kill -INT -- -PGID`` has reached the program as well, and
nothing of a signal says which it was. So a process of ours stands in the group and does nothing but keep the signals
that it gets: what it has, the program has too. That also holds for what is sent to each process by its number (SLURM,
``pkill -f``), which arrives one after the other: hence the grace.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

GRACE_S: Final = 0.05
"""By how much later the witness may get a signal than we. To a group the kernel sends at once, the newest process
first."""
_ANSWER_S: Final = 2.0
"""A witness that is stopped, or gone, does not answer."""
_ALL_FILES: Final = 1 << 20


@dataclass(slots=True)
class Witness:
    """A process in our group. `saw` asks it."""

    pid: int
    _questions: int
    _answers: int
    _is_there: bool = True

    def saw(self, number: int) -> bool | None:
        """Whether it has got this signal too, which is then forgotten; None where it is gone."""
        if not self._is_there:
            return None
        with suppress(OSError):
            os.write(self._questions, bytes([number]))
            if select.select([self._answers], [], [], _ANSWER_S)[0]:
                answer = os.read(self._answers, 1)
                if answer:
                    return answer == _YES
        self._is_there = False  # what it may still answer would be about another signal
        return None

    def dismiss(self) -> None:
        """End it. It ends by itself when we do."""
        self._is_there = False
        os.close(self._questions)
        os.close(self._answers)
        with suppress(OSError):
            os.waitpid(self.pid, 0)


_YES: Final = b"y"
_NO: Final = b"n"


def call_witness() -> Witness | None:
    """Start it. None where the system allows no process more."""
    try:
        (asked, questions), (answers, told) = os.pipe(), os.pipe()
        pid = os.fork()
    except OSError:
        return None
    if pid == 0:
        _stand(asked, told)
    os.close(asked)
    os.close(told)
    return Witness(pid, questions, answers)


def _stand(asked: int, told: int) -> NoReturn:
    """In the process of the witness: keeps all signals, answers, and ends when the pipe does. It has no file open."""
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        os.chdir("/")
        asked, told = os.dup2(os.dup(asked), 0), os.dup2(os.dup(told), 1)
        os.closerange(2, _ALL_FILES)
        while number := os.read(asked, 1):
            os.write(told, _NO if signal.sigtimedwait(set(number), GRACE_S) is None else _YES)
    finally:
        os._exit(0)
