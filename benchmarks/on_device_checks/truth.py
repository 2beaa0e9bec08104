"""The truth of a loop: clocks in the user's code, and CUDA events on the same clock. Nothing of ours is in it.

All times are seconds of perf_counter.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import torch


class Span(NamedTuple):
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return max(0.0, self.end - self.begin)


NOTHING: Final = Span(0.0, 0.0)


def overlap(left: Iterable[Span], right: Iterable[Span]) -> float:
    """Seconds in both; the spans of each side must not overlap one another."""
    right = list(right)
    return sum(Span(max(a.begin, b.begin), min(a.end, b.end)).seconds for a in left for b in right)


def gaps(busy: Iterable[Span], window: Span) -> list[Span]:
    """What `busy` leaves free in the window."""
    found, reached = list[Span](), window.begin
    for span in sorted(busy):
        if span.begin > reached:
            found.append(Span(reached, min(span.begin, window.end)))
        reached = max(reached, span.end)
        if reached >= window.end:
            return found
    return [*found, Span(reached, window.end)]


class DeviceClock:
    """When CUDA events happened, on the host's clock: an event on an idle stream happens when it is recorded.

    Two such moments, at the beginning and (`close`) at the end, take out the drift of the clocks. To some 10 us.
    """

    def __init__(self) -> None:
        self._zero, self._host = _anchor()
        self._rate = 1.0

    def close(self) -> None:
        """Synchronises the device."""
        event, host = _anchor()
        elapsed = float(self._zero.elapsed_time(event)) / 1e3
        if elapsed > 0.1:
            self._rate = (host - self._host) / elapsed

    def when(self, event: torch.cuda.Event) -> float:
        """Of an event that has happened."""
        return self._host + self._rate * float(self._zero.elapsed_time(event)) / 1e3


def _anchor() -> tuple[torch.cuda.Event, float]:
    """The tightest of some."""
    best: tuple[float, torch.cuda.Event, float] | None = None
    for _ in range(8):
        torch.cuda.synchronize()
        event = _event()
        before = time.perf_counter()
        event.record()
        after = time.perf_counter()
        event.synchronize()
        if best is None or after - before < best[0]:
            best = (after - before, event, (before + after) / 2)
    assert best is not None
    return best[1], best[2]


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call, unused-ignore]


def mark() -> torch.cuda.Event:
    """An event that happens when the device comes to it."""
    event = _event()
    event.record()
    return event


@dataclass(slots=True)
class Step:
    """What the user's code notes of one step. `begun`: the body of the step before has ended, the wait for the batch
    begins; `got`: it is here. `late_s`, `data_late_s`: how long the loop and the maker of the batch have waited for a
    CPU since they began. The events stand around the copy to the device (`copy`), before the gate (`gated`), behind
    it (`open`) and behind the optimizer (`done`).
    """

    begun: float
    got: float
    ended: float = 0.0
    copied: Span = NOTHING
    launched: float = 0.0
    planted: Span = NOTHING
    synced: Span = NOTHING
    in_data: list[Span] = field(default_factory=list)
    late_s: float = 0.0
    data_late_s: float = 0.0
    copy: tuple[torch.cuda.Event, torch.cuda.Event] | None = None
    gated: torch.cuda.Event | None = None
    open: torch.cuda.Event | None = None
    done: torch.cuda.Event | None = None

    @property
    def wait(self) -> Span:
        return Span(self.begun, self.got)

    @property
    def whole(self) -> Span:
        return Span(self.begun, self.ended)


@dataclass(frozen=True, slots=True)
class Truth:
    """Of some steps that follow one another. `late`: steps whose launching took longer than the gate, so that the
    device may have had gaps that no event shows.
    """

    idle: tuple[Span, ...]
    late: int

    @property
    def idle_s(self) -> float:
        return sum(span.seconds for span in self.idle)

    def during(self, spans: Iterable[Span]) -> float:
        """Idle seconds in `spans`."""
        return overlap(self.idle, spans)


def truth_of(steps: Sequence[Step], chosen: slice, clock: DeviceClock) -> Truth:
    """Of the `chosen` steps; the others' device work may reach into them."""
    busy, late = list[Span](), 0
    for step in steps:
        if step.copy is None or step.gated is None or step.open is None or step.done is None:
            raise ValueError("a step without its events")
        busy.append(Span(clock.when(step.copy[0]), clock.when(step.copy[1])))
        busy.append(Span(clock.when(step.gated), clock.when(step.done)))
    for step in steps[chosen]:
        assert step.open is not None
        late += step.launched > clock.when(step.open)
    window = Span(steps[chosen][0].begun, steps[chosen][-1].ended)
    return Truth(tuple(gaps(busy, window)), late)
