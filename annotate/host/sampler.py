"""Samples of the host while a window is open: a thread of the training process, and counter events in the trace."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import Final, NamedTuple

from annotate.host.nvml import DeviceSource, Nvml
from annotate.host.own_threads import own_thread
from annotate.host.sources import Source, host_sources
from annotate.saying import guard
from annotate.trace_format import OWN_THREAD

_PATIENCE_S: Final = 2.0
"""For a sample that is being taken when the window closes: a driver may hang."""


class Sample(NamedTuple):
    """Values of a counter, that hold from a moment (perf_counter_ns) until its next sample."""

    time: int
    counter: str
    values: dict[str, float]


class HostSampler:
    """Takes samples from `start` to `stop`."""

    def __init__(self, interval_ms: int, pids: Callable[[], Iterable[int]]) -> None:
        """
        Args:
            interval_ms: between two samples; 0: none are taken.
            pids: the DataLoader workers known so far.
        """
        self.samples: list[Sample] = []
        """Of the window that is open, or was open last."""
        self._interval = interval_ms * 1_000_000
        self._pids = pids
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def start(self) -> None:
        """Harmless where nothing can be sampled."""
        self.samples = []
        if not self._interval or self._thread is not None or sys.platform != "linux":
            return
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(self.samples, self._ended), name=f"{OWN_THREAD}host samples", daemon=True
        )
        with contextlib.suppress(RuntimeError):  # no more threads
            self._thread.start()
            return
        self._thread = None

    def stop(self) -> None:
        """No sample is taken, or kept, after this. Harmless when nothing has started."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._ended.set()
            thread.join(_PATIENCE_S)
            self.samples = list(self.samples)  # one that hangs may go on, into a list of its own

    @own_thread()
    def _run(self, samples: list[Sample], ended: threading.Event) -> None:
        with guard("annotate stopped sampling the host: the capture lacks its CPU, disk and device load"):
            self._sample(samples, ended)

    def _sample(self, samples: list[Sample], ended: threading.Event) -> None:
        with contextlib.ExitStack() as stack:
            sources = [*host_sources(self._all_pids), *_device_sources(stack)]
            before = due = perf_counter_ns()
            take(sources, samples, before, before)
            while sources:
                due += self._interval
                is_last = ended.wait(max(0, due - perf_counter_ns()) / 1e9)
                now = perf_counter_ns()
                if is_last and now - before < self._interval // 2:  # too short for a rate
                    return
                take(sources, samples, before, now)
                before, due = now, max(due, now - self._interval)
                if is_last:
                    return

    def _all_pids(self) -> list[int]:
        return [os.getpid(), *self._pids()]


def take(sources: list[Source], samples: list[Sample], before: int, now: int) -> None:
    """Read all sources; one that fails is removed."""
    for source in list(sources):
        try:
            values = source.read((now - before) / 1e9)
        except Exception:  # unmounted, a driver that went away
            sources.remove(source)
            continue
        if values:
            samples.append(Sample(before if source.looks_back else now, source.counter, values))


def _device_sources(stack: contextlib.ExitStack) -> list[Source]:
    try:
        nvml = Nvml()
    except (OSError, AttributeError):
        return []
    stack.callback(nvml.close)
    return [DeviceSource("device::utilisation", nvml.utilisation), DeviceSource("device::memory", nvml.memory)]
