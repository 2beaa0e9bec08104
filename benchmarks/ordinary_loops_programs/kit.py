"""The user's own clocks, the planted work, and the few lines that switch annotate on or off.

Nothing here wraps an iterator but the clock of the plain run's prof.steps(): a program writes
`for batch in prof.steps(loader)` itself, and calls run.got() as the first and run.done() as the last line of the loop's
body. perf_counter is CLOCK_MONOTONIC on Linux: comparable over all processes of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import torch

OUT: str | None = None
CAP = float(os.environ.get("ORDINARY_LOOPS_CAP_S", "15"))  # of an un-annotated run of 300 steps
IS_CAPPED = "ORDINARY_LOOPS_CAP_S" in os.environ  # a longer one has a cap where it is asked for
EPOCH_T0 = 0.0  # when the loop last asked for an iterator; forked workers inherit it
PLANTED = os.environ.get("ORDINARY_LOOPS_UNPLANTED") != "1"
_fd: int | None = None
_fd_pid: int | None = None


def note(tag: str, t0: float, t1: float | None = None) -> None:
    """One line per clocked interval, in a file per process, with one write each."""
    global _fd, _fd_pid
    t1 = time.perf_counter() if t1 is None else t1
    if OUT is None:
        return
    if _fd_pid != os.getpid():
        _fd_pid = os.getpid()
        _fd = os.open(f"{OUT}/clock.{_fd_pid}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        from torch.utils.data import get_worker_info

        info = get_worker_info()
        if info is not None:
            os.write(_fd, f"worker 0 0 {info.id}\n".encode())
    os.write(_fd, f"{tag} {t0:.7f} {t1:.7f} {threading.get_native_id()}\n".encode())


_DATA = np.random.default_rng(0).random(6000)
_IMAGE: list[Any] = []


def work(ms: float, mode: str) -> None:
    """ms of sleeping, or of CPU time of this thread (so that a crowded CPU makes it longer, as with real work)."""
    if ms <= 0:
        return
    if mode == "sleep":
        time.sleep(ms / 1e3)
        return
    if mode == "pil" and not _IMAGE:
        from PIL import Image, ImageFilter

        pixels = (np.random.default_rng(1).random((90, 90, 3)) * 255).astype("uint8")
        _IMAGE.extend([Image.fromarray(pixels), ImageFilter.GaussianBlur(2)])
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        if mode == "numpy":
            np.sort(_DATA)
        elif mode == "pil":
            _IMAGE[0].filter(_IMAGE[1])
        else:
            x = 0
            for i in range(2500):
                x += i * i % 7


def plant(ms: float, mode: str, tag: str = "plant") -> None:
    if not PLANTED and tag == "plant":
        return
    t0 = time.perf_counter()
    work(ms, mode)
    note(tag, t0)


def slow_call(ms: float, mode: str, function: Callable[[], Any]) -> Any:
    """What the function returns, after the planted work; the clock covers both, as a span of the caller does."""
    if not ms or not PLANTED:
        return function()
    t0 = time.perf_counter()
    work(ms, mode)
    result = function()
    note("plant", t0)
    return result


class _Plain:
    """Stands for the profile in the run without annotate. It clocks next() alone: what the loop's own clock has beside
    that (Python releases the batch before) is no data wait.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    def __enter__(self) -> _Plain:
        return self

    def __exit__(self, *a: object) -> bool:
        return False

    def steps(self, it: Iterable[Any]) -> Iterable[Any]:
        iterator = iter(it)
        while True:
            t0 = time.perf_counter()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            self.run.next_s = time.perf_counter() - t0
            yield batch
            del batch

    def step(self) -> None:
        pass


class Run:
    """One run of a program: its clocks, what its seed plants, and annotate on or off."""

    def __init__(self, name: str, seed: int, logdir: str | None, steps: int, out: str) -> None:
        self.name, self.seed, self.logdir, self.limit, self.out = name, seed, logdir, steps, out
        self.annotated = logdir is not None
        self.rng = random.Random(f"{name}/{seed}")
        self.rows: list[list[Any]] = []
        self.declared: dict[str, Any] = {}
        self.step, self.over, self.last = 0, False, time.perf_counter()
        self._window: tuple[int, int] | None = None
        self._profile: Any = None
        self._recorded: int | None = None
        self.next_s: float | None = None
        self._first, self._batches, self._since = True, 0, time.perf_counter()

    # what varies by seed
    def ms(self, low: float, high: float) -> float:
        return round(self.rng.uniform(low, high), 2)

    def pick(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def mode(self, *modes: str) -> str:
        return self.rng.choice(modes or ("sleep", "numpy", "pil"))

    # annotate, as its README tells
    def loader(self, loader: Any) -> Any:
        if not self.annotated:
            return loader
        import annotate

        return annotate.loader(loader)

    def profile(self, wait: int | Literal["auto"] = "auto", warmup: int = 2, active: int = 16) -> Any:
        """With "auto", annotate's default, only its report tells which steps were recorded."""
        if wait != "auto":
            self._window = (wait + warmup, wait + warmup + active)
        if not self.annotated:
            return _Plain(self)
        import annotate

        self._profile = annotate.profile(self.logdir, wait=wait, warmup=warmup, active=active)
        return self._profile

    # the user's clocks
    def begin(self) -> None:
        """Directly before each `for`."""
        global EPOCH_T0
        self.last = EPOCH_T0 = time.perf_counter()
        self._first = True

    def got(self, what: str = "train") -> None:
        now = time.perf_counter()
        self.rows.append([what, self.step, self.last, now, None, self._first, self.next_s])
        self._first, self.next_s = False, None

    def done(self, steps: int = 1) -> bool:
        """End of the loop's body; steps=0 where a step has several batches, or for validation. True: enough."""
        now = self.last = self.rows[-1][4] = time.perf_counter()
        self._batches += 1
        self.step += steps
        if self.annotated:
            self.over = self._is_recorded()
        else:
            # a crowded machine: fewer steps rather than minutes
            late = now - self._since > CAP and self._batches >= 140
            self.over = self._batches >= self.limit + 20 or (late and (IS_CAPPED or self.limit <= 300))
        return self.over

    def _is_recorded(self) -> bool:
        """Four steps ago, at least."""
        if self._recorded is None and self._profile is not None and self._profile.trace_files:
            self._recorded = self.step
        end = self._recorded if self._window is None else self._window[1]
        return end is not None and self.step >= end + 4

    # the truth
    def truth(
        self,
        place: str,
        accept: Sequence[str] = (),
        verdict: Sequence[str] = (),
        words: str = "",
        tag: str = "plant",
        what: str = "wait",
        about: str = "",
    ) -> None:
        """Declares what is planted.

        place: what the report should name first. accept: regular expressions of stage names that mean it; verdict:
        bounds that do (for host); words: a regular expression for the first finding's text that means it too; what:
        "wait" if the truth time is the overlap of `tag` with the data wait, "all" if it is the data wait as a whole,
        "time" if it is the tag's time.
        """
        self.declared = {
            "place": place,
            "accept": list(accept),
            "verdict": list(verdict),
            "words": words,
            "tag": tag,
            "what": what,
            "about": about,
        }

    def save(self) -> None:
        saved = {
            "name": self.name,
            "seed": self.seed,
            "annotated": self.annotated,
            "window": self._window,
            "truth": self.declared,
            "rows": self.rows,
        }
        with open(f"{self.out}/run.json", "w") as f:
            json.dump(saved, f)


def main(build: Callable[..., None], file: str) -> None:
    global OUT
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--logdir", help="capture with annotate into this folder")
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--out", default=None, help="where the clocks go; without it, a folder of temporary files")
    p.add_argument("--variant", default="")
    a = p.parse_args()
    OUT = a.out or str(Path(tempfile.gettempdir()) / "ordinary_loops_by_hand")
    Path(OUT).mkdir(parents=True, exist_ok=True)
    for clock in Path(OUT).glob("clock.*"):
        clock.unlink()
    import torch

    torch.manual_seed(a.seed)
    run = Run(Path(file).stem + (f"/{a.variant}" if a.variant else ""), a.seed, a.logdir, a.steps, OUT)
    if a.variant:
        build(run, a.variant)
    else:
        build(run)
    run.save()
    if not a.out:
        w = sum(r[3] - r[2] for r in run.rows[20:])
        t = run.rows[-1][4] - run.rows[20][2]
        print(
            f"{run.name} seed {a.seed}: {run.declared.get('place')} {run.declared.get('about')}: "
            f"{len(run.rows)} batches, {1e3 * t / len(run.rows[20:]):.1f} ms each, data wait {100 * w / t:.1f}%",
            file=sys.stderr,
        )


def work_torch(a: torch.Tensor, ms: float) -> None:
    end = time.perf_counter() + ms / 1e3
    while time.perf_counter() < end:
        (a @ a).sum().item()
