"""A program as our child: its signals, its terminal and its end are as if it had been started without us."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Mapping, Set
from contextlib import suppress
from typing import Final, NoReturn

from tb_dataplugin.drive.program import Program, as_script
from tb_dataplugin.drive.witness import Witness, call_witness
from tb_dataplugin.errors import CannotStart

_LEFT_ALONE: Final = ("SIGCHLD", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT", "SIGSTOP", "SIGKILL")
"""Stopping and going on is for the whole process group, which a shell sees to."""
_OUR_OWN: Final = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS", "SIGPIPE", "SIGXFSZ")
"""Of what this process does."""
_OF_THE_KERNEL: Final = 0
"""Above this, ``si_code`` is the kernel's: Ctrl-C in a terminal reaches all processes in the foreground."""


def run(program: Program, environment: Mapping[str, str]) -> int:
    """Start it, forward the signals that have not reached it, and wait for its end: the status that `os.waitpid` gives.

    Raises:
        CannotStart: the system refuses to start it, or lacks what this needs.
    """
    if not hasattr(signal, "sigwaitinfo") or not hasattr(os, "posix_spawn"):
        raise CannotStart(
            125, "`run` needs Linux; with ANNOTATE=runs/exp1 a program that imports annotate records itself"
        )
    signals = _forwarded()
    waited_for = {*signals, signal.SIGCHLD}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would take the status away
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    witness = call_witness()
    try:
        early = signal.sigpending() & (waited_for - {signal.SIGCHLD})
        pid = _start(program, environment, mask)
        _forward_early(pid, early, witness)
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
            came = signal.sigwaitinfo(waited_for)
            if came.si_signo != signal.SIGCHLD and _is_for_us_alone(came, witness):
                with suppress(ProcessLookupError):
                    os.kill(pid, came.si_signo)
    finally:
        if witness is not None:
            witness.dismiss()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _forward_early(pid: int, early: Set[int], witness: Witness | None) -> None:
    """What came before there was a program cannot have reached it, whomever it was sent to. What came after it may have
    been caught by now, even twice: the loop asks the witness about it.
    """
    for number in early:
        signal.sigtimedwait({number}, 0)
        if witness is not None:
            witness.saw(number)
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _is_for_us_alone(came: signal.struct_siginfo, witness: Witness | None) -> bool:
    """False where it has been sent to the program as well."""
    has_witness = None if witness is None else witness.saw(came.si_signo)
    return not has_witness and came.si_code <= _OF_THE_KERNEL


def _forwarded() -> set[signal.Signals]:
    """All that may be sent to us but those that we were started to ignore (`nohup`), which the program ignores too."""
    kept = {getattr(signal, name) for name in (*_LEFT_ALONE, *_OUR_OWN) if hasattr(signal, name)}
    sent = {number for number in signal.valid_signals() if isinstance(number, signal.Signals)}
    return {number for number in sent - kept if signal.getsignal(number) != signal.SIG_IGN}


def _start(program: Program, environment: Mapping[str, str], mask: set[int] | set[signal.Signals]) -> int:
    """With the signals that we were started with: Python ignores two of them for itself."""
    ours = [signal.SIGPIPE, signal.SIGXFSZ]
    for attempt in (program, as_script(program)):
        try:
            return os.posix_spawn(attempt.path, attempt.arguments, environment, setsigmask=list(mask), setsigdef=ours)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                status = 127 if error.errno == errno.ENOENT else 126
                why = "its interpreter does not exist" if status == 127 else error.strerror or str(error)
                raise CannotStart(status, f"cannot run {program.arguments[0]}: {why}; check its first line") from None
    raise CannotStart(126, f"cannot run {program.arguments[0]}: no program and no script; check the file")


def end_as(status: int) -> NoReturn:
    """End this process as the child ended: with its exit status, or by its signal."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    if os.WIFSIGNALED(status):
        import resource

        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # it has its own
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
        os._exit(128 + number)
    os._exit(os.WEXITSTATUS(status))
