"""Headspace: what a loop could do if its loader cost nothing, measured right after the last window.

Three phases, all without a profiler. *Own*: once the queue is as it was before the trace was written, N steps of the
loop as it is are timed. *Copying*: the next N batches are deep-copied, as far as memory goes, while the loop gets them.
*Serving*: the loader is left alone until its workers have filled their queues; then the loop gets the copies, each
once, so that it may change or empty them. The loader's iterator is not touched: it goes on where it was.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final, Literal

from annotate.capture.batch_copies import CannotCopy, copy_of, most_bytes
from annotate.options import LEAST_HEADSPACE
from annotate.trace_format import HeadspaceRecord

NO_BATCH: Final = object()

WARM_UP: Final = 2
"""Served steps that are thrown away: the first ones still find the device and the caches as the loader left them."""

LONGEST_PAUSE_S: Final = 10.0
"""For which the loop stands still while DataLoader workers fill their queues, at most."""

_Phase = Literal["off", "own", "copying", "serving", "read_clock"]


class Clock:
    """Moments of the host, and where CUDA is in use also of the device, which is never waited for. Two of them are a
    step: one and the next, or one and the next of each pair.
    """

    def __init__(self, *, in_pairs: bool = False) -> None:
        self._apart = 2 if in_pairs else 1
        self._times: list[float] = []
        self._events: list[Any] = []
        torch = sys.modules.get("torch")
        self._cuda: Any = torch.cuda if torch is not None and torch.cuda.is_initialized() else None

    def mark(self, at: float | None = None) -> None:
        """Now, or `at` that time: after a sleep of the loop's, a CPU may take 0.1 ms for what comes before this."""
        self._times.append(perf_counter() if at is None else at)
        if self._cuda is not None:
            event = self._cuda.Event(enable_timing=True)
            event.record()
            self._events.append(event)

    def __len__(self) -> int:
        """Steps."""
        return len(self._times) // 2 if self._apart == 2 else max(0, len(self._times) - 1)

    @property
    def which(self) -> Literal["host", "device"]:
        return "device" if self._events else "host"

    def is_known(self) -> bool:
        return not self._events or bool(self._events[-1].query())

    def steps_us(self) -> list[float]:
        """Raises RuntimeError where the device has not come so far."""
        if self._events:
            events = zip(self._events[:: self._apart], self._events[1 :: self._apart], strict=False)
            return [round(before.elapsed_time(after) * 1e3, 3) for before, after in events]
        times = zip(self._times[:: self._apart], self._times[1 :: self._apart], strict=False)
        return [round((after - before) * 1e6, 3) for before, after in times]


class Headspace:
    """Decides at the end of each step what the loop gets next. Harmless where no steps are asked for."""

    def __init__(self, asked: int, sleep: Callable[[float], None] = time.sleep) -> None:
        self._asked = asked
        self._sleep = sleep
        self._phase: _Phase = "off"
        self._loader: object = None
        self._ahead = 0
        self._left_out = 0
        self._own, self._served = Clock(), Clock(in_pairs=True)
        self._copies: deque[Any] = deque()
        self._bytes = 0
        self._most_bytes = 0
        self.record: HeadspaceRecord | None = None
        """What was measured, once it is known."""
        self.why_not = self._too_short()
        """Why there is no record."""

    @property
    def is_on(self) -> bool:
        return self._phase != "off"

    @property
    def is_timing(self) -> bool:
        """Work of ours between two steps would be part of what is measured."""
        return self._phase in ("own", "serving")

    def begin(self, ahead: int) -> None:
        """The last window was written; `ahead` batches are prefetched at most."""
        self._ahead, self.why_not = ahead, self._too_short()
        self._restart()
        self._phase = "own" if self._asked else "off"

    def _too_short(self) -> str:
        """While the queue gets as it was, steps are timed, and batches are copied, the loop takes the loader's own."""
        own = 3 * self._ahead + self._asked + 1
        return (
            f"the loop ended before its steps. After the last window it takes at least {own + self._asked} batches, "
            f"{own} of them in one epoch: run more steps inside the `with` block, or ask for fewer (at least "
            f"headspace={LEAST_HEADSPACE})"
        )

    def give_up(self, why: str) -> None:
        self._phase, self.why_not = "off", why
        self._let_go()

    def loop_begins(self, loader: object) -> None:
        """With the start of an epoch in between, steps are none of a steady loop."""
        if self._loader is not None and loader is not self._loader:
            return
        if self._phase == "own":
            self._restart()
        elif self._phase == "serving":
            self._finish()

    def step(self, loader: object) -> Any:
        """A step has ended: the copy that the loop gets next, or `NO_BATCH`."""
        if self._loader is None:
            self._loader = loader
        if loader is not self._loader:
            return NO_BATCH
        if self._phase == "own":
            self._own_step()
        elif self._phase == "copying" and len(self._copies) >= self._asked:
            self._begin_serving()
        if self._phase == "serving":
            if self._copies:
                return self._copies.popleft()
            self._finish()
        if self._phase == "read_clock" and self._served.is_known():
            self._read_clock()
        return NO_BATCH

    def mark(self, loader: object, at: float | None = None) -> None:
        """The loop over `loader` is about to get a batch, or asked for the next one, `at` that time. What lies between
        is its own time; what follows, once it gets copies, is ours.
        """
        if self._phase == "serving" and loader is self._loader:
            self._served.mark(at)

    def took(self, loader: object, batch: object) -> bool:
        """The loader's own batch, which the loop gets next; whether it was to be copied."""
        if self._phase != "copying" or loader is not self._loader:
            return False
        try:
            copied = copy_of(batch, self._most_bytes - self._bytes)
        except CannotCopy as error:
            self.give_up(str(error))
            return True
        if copied is not None:
            self._copies.append(copied.batch)
            self._bytes += copied.bytes
        elif len(self._copies) >= LEAST_HEADSPACE:
            self._asked = len(self._copies)
        else:
            self.give_up(
                f"copies of {LEAST_HEADSPACE} batches do not fit into {self._most_bytes >> 20} MiB (a quarter of the "
                "free memory, at most 1 GiB)"
            )
        return True

    def end(self) -> None:
        """The capture is left."""
        if self._phase == "serving":
            self._finish()
        if self._phase == "read_clock" and self._served.is_known():
            self._read_clock()
        self._phase = "off"
        self._let_go()

    def _restart(self) -> None:
        self._left_out = 3 * self._ahead
        self._own = Clock()

    def _own_step(self) -> None:
        if self._left_out > 0:
            self._left_out -= 1
            return
        self._own.mark()
        if len(self._own) >= self._asked:
            self._most_bytes = most_bytes()
            self._phase = "copying"

    def _begin_serving(self) -> None:
        """What the workers can have built by then, they have: in the steady state one batch per step at least."""
        if self._ahead:
            own_s = sum(self._own.steps_us()) / len(self._own) / 1e6 if self._own.is_known() else LONGEST_PAUSE_S
            self._sleep(min(LONGEST_PAUSE_S, self._ahead * own_s))
        self._phase = "serving"

    def _finish(self) -> None:
        """All copies were served, or the loop was left: the clock may have to be read later."""
        self._copies.clear()
        self._phase = "read_clock"
        if len(self._served) < LEAST_HEADSPACE:
            self.give_up("the loop was left before its steps")

    def _read_clock(self) -> None:
        self.record = {
            "asked": self._asked,
            "own_us": self._own.steps_us(),
            "step_us": self._served.steps_us()[WARM_UP:],
            "memory_bytes": self._bytes,
            "clock": self._served.which,
        }
        self._phase = "off"
        self._let_go()

    def _let_go(self) -> None:
        self._copies.clear()
        self._loader = None
