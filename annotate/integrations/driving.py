"""`Driver`: an `annotate.profile` that the hooks of a framework enter, step and leave.

Frameworks call hooks in the middle of a training, so nothing is raised into one: what `annotate.profile` refuses, and
any fault of ours, is one warning, and the training goes on without a capture.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import fields
from inspect import signature
from typing import Any, Final

from annotate.capture.profiling import Profile, profile
from annotate.options import CaptureOptions, absolute
from annotate.recording import switch
from annotate.saying import guard, one_line, tell
from annotate.trace_format import StageKind


class Driver:
    """A capture for each training that a framework runs, one after the other.

    Pickles and copies without the capture that is on: frameworks send their callbacks to other processes.
    """

    def __init__(self, name: str, logdir: str | os.PathLike[str], keywords: dict[str, Any]) -> None:
        """
        Args:
            name: the class that the user knows, for messages.
            keywords: those of `annotate.profile`.

        Raises:
            ValueError, TypeError: as `annotate.profile` does, in the user's own line.
        """
        _check(logdir, keywords)
        self.trace_files: Final[list[str]] = []
        """Paths of the files of all trainings so far, oldest first."""
        self._name = name
        self._logdir = os.fspath(logdir)
        self._keywords = keywords
        self._profile: Profile | None = None
        self._in_step = False
        self._open: list[AbstractContextManager[object]] = []

    @property
    def is_on(self) -> bool:
        return self._profile is not None

    def enter(self) -> None:
        """A training begins: every DataLoader that is iterated from now on is followed."""
        self.leave()
        new = None
        try:
            new = profile(self._logdir, **self._keywords)
            new.follow_all()
            new.__enter__()
        except (RuntimeError, OSError) as error:
            tell(f"annotate: {self._name} does not record this training: {error}")
        except Exception as error:
            tell(f"annotate: {self._name} does not record this training. Internal error: {one_line(error)}")
        else:
            self._profile = new
            self._in_step = False

    def follow(self, loader: object) -> None:
        """These batches are trained on."""
        if self._profile is not None and loader is not None:
            self._profile.step_by(loader)

    def leave_out_step(self, why: str) -> None:
        """The step that has just begun is not like the others."""
        if self._profile is not None:
            self._profile.leave_out_step(why)

    def batch_begins(self) -> None:
        """A batch is there, and is going to be trained on."""
        self._in_step = True

    def batch_ends(self) -> None:
        """It has been: a step ends."""
        if self._profile is not None:
            with guard(f"annotate: {self._name} stops recording"):
                self._in_step = False
                self._profile.advance()

    def opens(self, kind: StageKind, label: str) -> None:
        """A span begins, which `closes` ends; one inside of the other."""
        if self._profile is not None and switch.RECORDING:
            with guard(f"annotate: {self._name} does not record a {kind}"):
                self._open.append(switch.opened(switch.hand_out(kind, label)))
                switch.thread.open.waiting = kind == "wait"

    def closes(self) -> None:
        """The span that was opened last ends. Harmless when there is none."""
        if self._open:
            with guard(f"annotate: {self._name} does not record a stage"):
                switch.thread.open.waiting = False
                self._open.pop().__exit__(None, None, None)

    def leave(self, error: BaseException | None = None) -> None:
        """The training has ended, with `error` where it failed. Harmless when no capture is on."""
        ours, self._profile = self._profile, None
        if ours is None:
            return
        while self._open:
            self.closes()
        try:
            if not self._in_step:
                ours.leave_out_step()
            ours.__exit__(None if error is None else type(error), error, None)
        except Exception as fault:
            tell(f"annotate: {self._name} lost a capture: {one_line(fault)}")
        self.trace_files.extend(ours.trace_files)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_profile": None, "_open": [], "_in_step": False}


def _check(logdir: str | os.PathLike[str], keywords: dict[str, Any]) -> None:
    """As `profile` would, without the warnings that torch's profiler has: those come when a training begins."""
    from torch.profiler import profile as torchs

    counts = {field.name for field in fields(CaptureOptions)} - {"workers", "mode"}
    CaptureOptions(logdir=absolute(logdir), **{name: value for name, value in keywords.items() if name in counts})
    others = {name: value for name, value in keywords.items() if name not in {*counts, "workers"}}
    signature(torchs).bind_partial(**others)


def missing(library: str, what: str, error: ImportError) -> ImportError:
    """The one line to raise where a framework cannot be imported."""
    return ImportError(f"{what} needs {library}: pip install {library}  ({one_line(error)})", name=library)
