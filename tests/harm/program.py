"""The user's program: a loop over the loader, with the profilers of a cell around it, until its end."""

from __future__ import annotations

import os
import random
import signal
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import torch
import torch.profiler
from torch.profiler import record_function

from tests.harm.cells import KINDS, STRUCK, Program, Stay
from tests.harm.user_code import BadSample

Log = Callable[..., None]


class Side(Protocol):
    """What annotate is in the program: nothing, or what a cell says."""

    ours: Stay | None
    enters_first: bool
    """Ours is entered before a profiler of the user's that comes at the same step."""

    def mark(self, loader: Any) -> Any: ...
    def batches(self, loader: Any) -> Any: ...
    def enter(self) -> bool: ...
    def step(self) -> None: ...
    def leave(self, *exc: Any) -> None: ...
    def body(self) -> Any: ...
    def close(self) -> None: ...
    def take_out(self) -> None:
        """Take out what stays until the process ends; the program is over."""


class UsersProfiler:
    """The user's own profiler, and what came of it."""

    def __init__(self, number: int, export: str, folder: str, log: Log) -> None:
        self.name = f"user {number}"
        self.export = export
        self.path = os.path.join(folder, f"user-{number}.json")  # noqa: PTH118
        self.log = log
        self.ready = 0
        self.prof: Any = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
            on_trace_ready=self.trace_ready,
        )

    def trace_ready(self, prof: Any) -> None:
        self.ready += 1
        if self.export == "handler":
            self.save()

    def save(self) -> None:
        try:
            self.prof.export_chrome_trace(self.path)
        except (AssertionError, RuntimeError) as error:
            self.log("export failed", self.name, type(error).__name__, str(error))

    def tell(self) -> None:
        """Say what the profiler has; a further export says what torch says."""
        if self.export == "late":
            self.save()
        try:
            names = [event.name for event in self.prof.events()]
        except (AssertionError, RuntimeError) as error:
            names = [type(error).__name__, str(error)]
        steps = sorted(name for name in names if name.startswith("ProfilerStep"))
        self.log("profiler", self.name, self.ready, names.count("user::body"), steps)
        self.save()


class Profilers:
    """Enters and leaves the profilers of a cell as the steps go by, and at the end in the reverse order."""

    def __init__(self, program: Program, side: Side, folder: str, log: Log) -> None:
        self._side = side
        self._step = 0
        self._stack = ExitStack()
        self._users = [UsersProfiler(n, program.export, folder, log) for n, _ in enumerate(program.users)]
        self._stays = [*zip(program.users, self._users, strict=True)]
        self._open: list[UsersProfiler] = []

    def __enter__(self) -> Profilers:
        self._arrive()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._stack.__exit__(kind, error, traceback)
        finally:
            self._side.close()
        for user in self._users:
            user.tell()

    def step(self) -> None:
        for user in self._open:
            user.prof.step()
        self._side.step()
        self._step += 1
        self._arrive()

    def _arrive(self) -> None:
        ours = self._side.ours
        for stay, user in self._stays:
            if stay.leave == self._step:
                self._leave(user)
        if ours is not None and ours.leave == self._step:
            self._side.leave(None, None, None)
        if self._side.enters_first:
            self._enter_ours(ours)
        for stay, user in self._stays:
            if stay.enter == self._step:
                user.prof.__enter__()
                self._open.append(user)
                self._stack.callback(self._leave, user)
        if not self._side.enters_first:
            self._enter_ours(ours)

    def _enter_ours(self, ours: Stay | None) -> None:
        if ours is not None and ours.enter == self._step and self._side.enter():
            self._stack.push(self._side.leave)

    def _leave(self, user: UsersProfiler) -> None:
        if user in self._open:
            self._open.remove(user)
            user.prof.__exit__(None, None, None)


def train(program: Program, loader: Any, side: Side, folder: str, gate: str, log: Log) -> None:
    """The program. Whatever ends it early leaves it by its exception."""
    side.mark(loader)
    kind = KINDS[program.loader]
    step = 0
    with Profilers(program, side, folder, log) as profilers:
        for epoch in range(kind.epochs):
            for batch in side.batches(loader):
                log("batch", epoch, describe(batch))
                warnings.warn("user: loop", UserWarning, stacklevel=1)
                with record_function("user::body"), side.body():
                    numbers = [random.random(), float(np.random.rand()), float(torch.rand(1))] if kind.random else []
                log("body", numbers)
                if step == program.strike and strike(program.ending):
                    return
                if program.ending == "worker_killed" and step == STRUCK - 1:
                    os.close(os.open(gate, os.O_WRONLY))
                step += 1
                profilers.step()


def strike(ending: str) -> bool:
    """The end that comes in the loop's body; True: of the loop only."""
    match ending:
        case "break":
            return True
        case "body_raises":
            raise BadSample("user: body")
        case "interrupt":
            signal.raise_signal(signal.SIGINT)
        case "terminate":
            signal.raise_signal(signal.SIGTERM)
        case "handled_terminate":
            before = signal.signal(signal.SIGTERM, _end_at_once)
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                signal.signal(signal.SIGTERM, before)
        case "hard_exit":
            os._exit(3)
    return False


def _end_at_once(number: int, frame: object) -> None:
    """A handler as jobs on clusters have it."""
    raise SystemExit(4)


def describe(batch: Any) -> Any:
    """A batch as JSON: exact types and all values."""
    if isinstance(batch, dict):
        return {key: describe(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [type(batch).__name__, *map(describe, batch)]
    if isinstance(batch, torch.Tensor):
        return [type(batch).__name__, str(batch.dtype), batch.is_pinned(), batch.tolist()]
    return [type(batch).__name__, repr(batch)]
