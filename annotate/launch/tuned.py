"""The loop of a program that `tb-dataplugin tune -- PROGRAM` runs: timed in short windows, and kept waiting in between.

At the first batch the process connects to the socket of its order. Whenever a window has ended, ``next()`` does not
return until another one is asked for, so that two programs can be timed by turns; once nobody asks any longer, the loop
gets a KeyboardInterrupt, as for Ctrl-C.
"""

from __future__ import annotations

import inspect
import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import torch

from annotate.hooks.loaders import is_iterable, undivided
from annotate.loop_windows import LEAST, LONGEST, SETTLING, Delivered, batch_bytes, worker_bytes
from annotate.monitoring import next_calls
from annotate.saying import guard

LOADERS: Final = "loaders.jsonl"
SETTINGS: Final = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "in_order")
_LOST: Final = "annotate does not time this program"
_calls: Final[list[TunedLoop]] = []
"""One at most: that of the loader that is tuned."""


def iterated(loader: Any, iterator: Any, began: float, order: Mapping[str, Any]) -> None:
    """An iterator was made, which began at `began`. Never raises."""
    with guard(_LOST):
        if not order["place"]:
            _leave_line(loader, Path(order["folder"]))
            return
        if not _calls:
            _calls.append(TunedLoop(_connected(order["socket"]), describe(loader)))
        _calls[0].begins(began, perf_counter(), settling(loader), int(loader.num_workers))
        next_calls.time_next(iterator, _calls[0])


def describe(loader: Any) -> dict[str, Any]:
    """What is known of it before anything is timed."""
    return {
        "place": vars(loader).get("_annotate_place", ""),
        "settings": {name: getattr(loader, name) for name in SETTINGS if hasattr(loader, name)},
        "batch_size": loader.batch_size,
        "takes": sorted(inspect.signature(inspect.unwrap(torch.utils.data.DataLoader.__init__)).parameters),
        "device": "cuda" if torch.cuda.is_initialized() else "",  # type: ignore[no-untyped-call]
        "trains": torch.is_grad_enabled(),
        "pid": os.getpid(),
        "iterable": is_iterable(loader),
        "undivided": undivided(loader),
    }


def settling(loader: Any) -> int:
    """Batches until queues that filled while the loop was kept waiting are in their steady state."""
    return SETTLING + 3 * int(loader.num_workers) * int(loader.prefetch_factor or 0)


def _leave_line(loader: Any, folder: Path) -> None:
    with (folder / LOADERS).open("a") as file:
        file.write(json.dumps(describe(loader)) + "\n")


def _connected(path: str) -> socket.socket | None:
    """None: another process of the program was first."""
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(path)
    except OSError:
        line.close()
        return None
    return line


class TunedLoop:
    """Of one loader, over its epochs; a `next_calls.NextCall`."""

    def __init__(self, line: socket.socket | None, facts: Mapping[str, Any]) -> None:
        self._asked: Final = None if line is None else line.makefile("r")
        self._answers: Final = None if line is None else line.makefile("w")
        self._facts: Mapping[str, Any] | None = facts
        self._delivered: Final = Delivered(facts["settings"]["num_workers"] if facts["iterable"] else 0)
        self._seconds = 0.0
        self._settling = self._workers = 0
        self._left = -1
        """Batches until the clock starts; negative: nothing is asked for."""
        self._from = self._waited = self._ended_at = 0.0
        self._count = self._epochs = 0

    def begins(self, began: float, now: float, settling: int, workers: int) -> None:
        """An epoch. What the program did between two of them (validation) does not count, its beginning does."""
        self._settling, self._workers = settling, workers
        self._delivered.broken_off()
        if self._ended_at:
            self._from += began - self._ended_at
            self._waited += now - began
            self._ended_at = 0.0

    def next_of(self, iterator: Any, method: Callable[[Any], Any]) -> Any:
        began = perf_counter()
        try:
            batch = method(iterator)
        except StopIteration:
            self._epochs, self._ended_at = self._epochs + 1, perf_counter()
            self._delivered.ended()
            raise
        if self._answers is not None:
            with guard(_LOST):
                self._got(batch, began, perf_counter())
        return batch

    def _got(self, batch: Any, began: float, now: float) -> None:
        self._delivered.saw(batch)
        if self._left < 0:
            self._wait_for_question()
        elif self._left > 0:
            self._left -= 1
            self._from, self._waited, self._count, self._epochs = now, 0.0, 0, 0
        else:
            self._count += 1
            self._waited += now - began
            total = now - self._from
            is_enough = total >= self._seconds and self._count >= LEAST + 2 * self._workers
            if is_enough or total >= LONGEST * self._seconds:
                self._answer(batch, total)
                self._wait_for_question()

    def _answer(self, batch: Any, total: float) -> None:
        window = {"batches": self._count, "total": total, "wait": self._waited, "epochs": self._epochs}
        self._tell(
            {**window, "worker_bytes": worker_bytes(), "batch_bytes": batch_bytes(batch), **self._delivered.facts()}
        )

    def _wait_for_question(self) -> None:
        """Raises KeyboardInterrupt once there are none any more."""
        if self._facts is not None:
            self._tell(self._facts)
            self._facts = None
        assert self._asked is not None
        try:
            question = self._asked.readline()
        except OSError:
            question = ""
        if not question:
            raise KeyboardInterrupt
        self._seconds = float(json.loads(question)["seconds"])
        self._left = self._settling

    def _tell(self, facts: Mapping[str, Any]) -> None:
        assert self._answers is not None
        try:
            print(json.dumps(facts), file=self._answers, flush=True)
        except OSError:
            raise KeyboardInterrupt from None
