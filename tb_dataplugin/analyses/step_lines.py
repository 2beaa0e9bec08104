"""What the training thread does outside the data wait, by samples of its stacks: code around the loader, the model's
work, and lines of the step that are neither.

*around*: a generator or ``__next__`` that calls the loader's ``next()`` is on the stack. No step ends in it: else it is
the training loop itself.
*iterators*: torch makes an iterator of a DataLoader, or drops one, and starts or ends its DataLoader workers.
*ranks*: it waits, blocked, while a collective goes on that other ranks have to join.
*compute*: forward, backward, optimizer, and operators that lines of the step call: the work itself.
The rest is by line; lines that call the same are one. A line that computes as well, or calls what does (a trainer's
``fit``), is in no row. Waiting for Python's lock is nobody's work, but time at its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import THREAD_STATES, THREAD_WAITS_FOR_LOCK
from tb_dataplugin.analyses.code_places import Home, Place, home_of, place_of, plain, python_part
from tb_dataplugin.analyses.collectives import find_collectives
from tb_dataplugin.analyses.first_operator import before_first_operator
from tb_dataplugin.analyses.host_activity import matching, synchronising_calls
from tb_dataplugin.analyses.line_hits import Hits
from tb_dataplugin.analyses.line_rows import Estimate, LineRow, Mask, estimate, line_rows
from tb_dataplugin.analyses.line_work import (
    MAKES_ITERATOR,
    TAKES_BATCH,
    Work,
    computes,
    copies_or_writes,
    loops_over_a_tensor,
    makes_iterators,
    runs_the_model,
    work_of,
)
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.lock_holders import libraries_below
from tb_dataplugin.analyses.spread_lines import Together, is_plain, of_same_call, spread
from tb_dataplugin.analyses.steps import find_steps
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import EMPTY, Intervals
from tb_dataplugin.model.line_samples import Caller, Frame
from tb_dataplugin.model.trace import Trace

MOST_LINES: Final = 10

FEWEST_STEPS: Final = 4
"""In a window, from which it can be said that something happens in one step only."""
FEWEST_OF_ONE: Final = 5
"""Samples of a line, for the same."""

READBACK: Final = re.compile(r"aten::(item|_local_scalar_dense|is_nonzero)")
_BLOCKED: Final = THREAD_STATES.index("blocked")
_COMPUTING: Final = 1 / 3
"""Part of a line's time in operators, from which the line is the model's work."""

MANY_OPERATORS: Final = 500
"""Operators of one line of the user's in a step, from which it is a loop over elements, and no work of the model: a
model's layers are called in torch's own code.
"""


@dataclass(frozen=True, slots=True)
class AroundLoader:
    """The own code of a generator or iterator around the loader. `part`: of the window; `idle`: of the window, while
    the first device was idle, None without one. `row`: its hottest line, as a share of its own time.

    `is_certain`: steps were seen to end outside of it, or the model to run there; else it may be the loop itself.
    """

    place: Place
    is_generator: bool
    part: Estimate
    idle: Estimate | None
    row: LineRow | None
    is_certain: bool


@dataclass(frozen=True, slots=True)
class IteratorTime:
    """Making and dropping iterators of DataLoaders. `part`: of the time outside the data wait, which has so many
    `samples`; `idle`: the same while the first device was idle, None without one. `row`: the line of the user's that
    does so, also where only its ``next()`` was seen.
    """

    samples: int
    part: Estimate
    idle: Estimate | None
    row: LineRow | None


@dataclass(frozen=True, slots=True)
class StepLine:
    """A line outside the data wait, or several of one function that stand together: `rows`, the hottest first, as in
    `spread_lines`; or all of a file that call the same. Their shares are of the samples in the window, without waiting
    for Python's lock, as `own` is; `part`, of the window too, is with that.

    `libraries`: names of those whose code they call. `in_steps`: in so few of the steps all of it lies, as of what is
    saved now and then, or in one, as a first call that loads or compiles something; None where that may be chance.
    """

    rows: Together
    work: Work
    own: Estimate
    part: Estimate
    libraries: frozenset[str] = frozenset()
    in_steps: int | None = None

    @property
    def idle_share(self) -> float | None:
        """Of the device's idle time; None without a device."""
        known = [row.idle_share for row in self.rows if row.idle_share is not None]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class StepLines:
    """`samples`: of the training thread in the window. `lines`: the hottest first. `ranks`: None where the sampler
    could not see whether the thread was blocked.
    """

    samples: int
    compute: Estimate
    ranks: Estimate | None
    iterators: IteratorTime
    around: tuple[AroundLoader, ...]
    lines: tuple[StepLine, ...]


def find_step_lines(
    trace: Trace,
    hits: Hits,
    frames_of: Callable[[int], list[Frame]],
    loader: LoaderWait | None,
    no_step: Intervals = EMPTY,
    *,
    has_device: bool,
) -> StepLines | None:
    """None where the data wait is unknown: any of the lines might wait for data. What runs in `no_step`, outside of the
    training loop, is of no line.
    """
    hits = hits.where(hits.is_training)
    if loader is None or not len(hits):
        return None
    sorted_out = _SortedOut(trace, hits, frames_of, loader.waits, no_step, has_device)
    return StepLines(
        samples=len(hits),
        compute=estimate(hits.weight_ns, hits.weight_ns * sorted_out.compute),
        ranks=estimate(hits.weight_ns, hits.weight_ns * sorted_out.ranks) if (hits.state >= 0).any() else None,
        iterators=sorted_out.iterators(),
        around=tuple(sorted_out.around()),
        lines=tuple(sorted_out.lines())[:MOST_LINES],
    )


class _SortedOut:
    """The samples of the training thread, each in the waits, around the loader, computing, or of a line."""

    def __init__(
        self,
        trace: Trace,
        hits: Hits,
        frames_of: Callable[[int], list[Frame]],
        waits: Intervals,
        no_step: Intervals,
        has_device: bool,
    ) -> None:
        stacks, self.stack = np.unique(hits.stack, return_inverse=True)
        self.hits, self.has_device = hits, has_device
        steps = find_steps(trace)
        self.step_starts_ns = np.zeros(0, np.int64) if isinstance(steps, Unavailable) else steps.start_ns
        whole = [frames_of(stack) for stack in stacks.tolist()]
        self.homes = [home_of(frames) for frames in whole]
        self.frames = list(map(python_part, whole))
        self.callers = _callers(trace)
        pipeline = trace.info.pipeline
        self.has_loader = any(one.num_workers is not None for one in (pipeline.loaders if pipeline else ()))
        in_wait = waits.contains(hits.time_ns)
        outside = ~in_wait & ~no_step.contains(hits.time_ns)
        makes = np.array([makes_iterators(frames) for frames in self.frames], dtype=np.bool_)[self.stack]
        self.outside, self.making = outside, outside & makes
        self.caller = np.where(
            outside & ~makes, np.array([self._caller_of(frames) for frames in self.frames])[self.stack], -1
        )
        """Per sample: the number of the innermost caller that runs; -1: none."""
        self.drawing = self._places_in(in_wait)
        """Lines that were on the stack while the loop waited for data."""
        self.early: Mask = before_first_operator(trace, waits, hits.time_ns)
        step = outside & (self.caller < 0)
        reads = _during(trace, matching(trace, READBACK) | synchronising_calls(trace), hits)
        operates = _during(trace, trace.events.is_category(Category.CPU_OP), hits)
        by_stack = np.array([computes(frames) for frames in self.frames], dtype=np.bool_)[self.stack]
        users = np.array([frames[-1].origin == "user" for frames in self.frames], dtype=np.bool_)[self.stack]
        copies = np.array([copies_or_writes(frames) for frames in self.frames], dtype=np.bool_)[self.stack]
        loops = np.array([loops_over_a_tensor(frames) for frames in self.frames], dtype=np.bool_)[self.stack]
        read_here = (reads & users) | loops
        elements = self._loops_over_elements(trace, operates & users & ~by_stack)
        self.ranks: Mask = step & (hits.state == _BLOCKED) & _collectives(trace).contains(hits.time_ns)
        locked = hits.state == THREAD_WAITS_FOR_LOCK
        own = step & ~self.ranks & ~locked
        self.compute: Mask = own & ~self.making & ~read_here & ~copies & ~elements & (by_stack | operates)
        self.reads = read_here
        self.rest: Mask = own & ~self.compute
        self.locked: Mask = step & locked

    def iterators(self) -> IteratorTime:
        hits, mine, outside = self.hits, self.making, self.outside
        weights = hits.weight_ns * outside
        calls = [home is not None and bool(MAKES_ITERATOR.search(home.place.source)) for home in self.homes]
        seen = mine if mine.any() else ~outside & np.array(calls, dtype=np.bool_)[self.stack]
        rows = (
            line_rows(hits.where(seen), self.homes, self.stack[seen], has_device=self.has_device) if seen.any() else ()
        )
        return IteratorTime(
            samples=int(outside.sum()),
            part=estimate(weights, weights * mine),
            idle=estimate(weights, hits.idle_ns * mine) if self.has_device else None,
            row=next((row for row in rows if row.is_user and row.samples), None),
        )

    def _loops_over_elements(self, trace: Trace, operates: Mask) -> Mask:
        """Operators that a line of the user's calls one by one, for each element: hundreds per step. A sample in one of
        them stands for as many as fit into its time.
        """
        ops = _intervals(trace, trace.events.is_category(Category.CPU_OP))
        at = np.searchsorted(ops.start, self.hits.time_ns[operates], side="right") - 1
        each = self.hits.weight_ns[operates] / np.maximum(1, ops.end[at] - ops.start[at])
        counts: dict[Place, float] = {}
        for stack, count in zip(self.stack[operates].tolist(), each.tolist(), strict=True):
            place = place_of(self.frames[stack][-1])
            counts[place] = counts.get(place, 0.0) + count
        least = MANY_OPERATORS * max(1, len(self.step_starts_ns))
        loops = [bool(frames) and counts.get(place_of(frames[-1]), 0.0) >= least for frames in self.frames]
        return operates & np.array(loops, dtype=np.bool_)[self.stack]

    def _caller_of(self, frames: list[Frame]) -> int:
        for frame in reversed(frames):
            for number, caller in enumerate(self.callers):
                if _is_of(frame, caller):
                    return number
        return -1

    def around(self) -> Iterator[AroundLoader]:
        """The one with most time first."""
        found = []
        for number, caller in enumerate(self.callers):
            mine: Mask = self.caller == number
            if mine.any():
                found.append(self._around(caller, mine))
        yield from sorted(found, key=lambda each: -each.part.share)

    def _around(self, caller: Caller, mine: Mask) -> AroundLoader:
        hits = self.hits
        rows = line_rows(hits.where(mine), self.homes, self.stack[mine], has_device=self.has_device)
        used = [row for row in rows if row.samples]
        models = np.array([runs_the_model(frames) for frames in self.frames], dtype=np.bool_)[self.stack]
        is_outside = caller.steps > 0 or int((models & ~mine).sum()) > int((models & mine).sum())
        return AroundLoader(
            place=Place(plain(caller.function), caller.file, caller.first),
            is_generator=caller.is_generator,
            part=estimate(hits.weight_ns, hits.weight_ns * mine),
            idle=estimate(hits.weight_ns, hits.idle_ns * mine) if self.has_device else None,
            row=used[0] if used else None,
            is_certain=is_outside,
        )

    def lines(self) -> Iterator[StepLine]:
        homes = self.homes
        works = [work_of(frames, home) for frames, home in zip(self.frames, homes, strict=True)]
        containers = _containers(homes, self._time_by_stack(self.compute))
        kept = [None if home is None or not home.is_user or _key(home) in containers else home for home in homes]
        of_rest = np.array([home is not None for home in kept], dtype=np.bool_)[self.stack] & self.rest
        # A stack may be of the rest at one time and in an operator at another: it is two, for the rows.
        place = np.where(of_rest, self.stack, len(kept)).astype(np.intp)
        rows = line_rows(self.hits, [*kept, None], place, has_device=self.has_device)
        computed, called = self._time_by_place(homes, self.compute), self._time_below()
        own: dict[Place, Mask] = {}
        for row in rows:
            operators = max(computed.get(row.place, 0.0), called.get(row.place, 0.0))
            if row.time_ns > 0 and operators <= _COMPUTING * (operators + row.time_ns):
                here = [home is not None and home.place == row.place for home in kept]
                own[row.place] = of_rest & np.array(here)[self.stack]
        plain = {place for place, mine in own.items() if self._work(works, mine, place) == "python"}
        alone = spread(
            (row for row in rows if row.place in own), joins=lambda row: row.place in plain and is_plain(row)
        )
        for together in of_same_call(alone):
            yield self._line(together, np.logical_or.reduce([own[row.place] for row in together]), works)

    def _line(self, rows: Together, own: Mask, works: list[Work]) -> StepLine:
        weights, places = self.hits.weight_ns, {row.place for row in rows}
        here = np.array([home is not None and home.place in places for home in self.homes], dtype=np.bool_)[self.stack]
        mine = own | (self.locked & here)
        return StepLine(
            rows=rows,
            work=self._work(works, own, rows[0].place),
            own=estimate(weights, weights * own),
            part=estimate(weights, weights * mine),
            libraries=frozenset().union(
                *(libraries_below(self.frames[stack]) for stack in set(self.stack[mine].tolist()))
            ),
            in_steps=self._in_steps(own),
        )

    def _in_steps(self, mine: Mask) -> int | None:
        """None where as many samples, spread over all steps, would leave half of these without one, too."""
        steps, samples = len(self.step_starts_ns), int(mine.sum())
        if steps < FEWEST_STEPS or samples < FEWEST_OF_ONE:
            return None
        found = len(np.unique(np.searchsorted(self.step_starts_ns, self.hits.time_ns[mine], side="right")))
        by_chance = steps * (1 - np.exp(-samples / steps))
        return found if found == 1 or 2 * found <= by_chance else None

    def _work(self, works: list[Work], mine: Mask, place: Place) -> Work:
        """What most of these samples, of that line, are about."""
        times: dict[Work, float] = {"readback": float(self.hits.weight_ns[mine & self.reads].sum())}
        for stack, time in self._time_by_stack(mine & ~self.reads).items():
            times[works[stack]] = times.get(works[stack], 0.0) + time
        most = max(times, key=lambda work: times[work])
        return "freeing" if most == "python" and self._takes_batch(mine, place) else most

    def _takes_batch(self, mine: Mask, place: Place) -> bool:
        """Where waits are short no sample may lie in one; then the line is known by its time, right behind them."""
        if not self.has_loader or not TAKES_BATCH.search(place.source):
            return False
        weights = self.hits.weight_ns
        return place in self.drawing or float(weights[mine & self.early].sum()) > float(weights[mine].sum()) / 2

    def _time_by_stack(self, mine: Mask) -> dict[int, float]:
        times = np.bincount(self.stack[mine], self.hits.weight_ns[mine], len(self.frames))
        return {stack: float(times[stack]) for stack in np.flatnonzero(times).tolist()}

    def _places_in(self, mine: Mask) -> set[Place]:
        stacks = self._time_by_stack(mine)
        return {place_of(frame) for stack in stacks for frame in self.frames[stack] if frame.origin == "user"}

    def _time_below(self) -> dict[Place, float]:
        """By line of the user's, the time in which it computed or called what does. Such a line, ``loss =
        criterion(model(x))``, also frees what the step before had computed: that is the model's work as well.
        """
        found: dict[Place, float] = {}
        for stack, time in self._time_by_stack(self.compute).items():
            for place in {place_of(frame) for frame in self.frames[stack] if frame.origin == "user"}:
                found[place] = found.get(place, 0.0) + time
        return found

    def _time_by_place(self, homes: list[Home | None], mine: Mask) -> dict[Place, float]:
        found: dict[Place, float] = {}
        for stack, time in self._time_by_stack(mine).items():
            home = homes[stack]
            if home is not None:
                found[home.place] = found.get(home.place, 0.0) + time
        return found


def _callers(trace: Trace) -> tuple[Caller, ...]:
    """Without those that steps end in: they are the training loop."""
    found = trace.info.pipeline.callers if trace.info.pipeline else ()
    return tuple(caller for caller in found if not caller.steps_inside)


def _is_of(frame: Frame, caller: Caller) -> bool:
    return (frame.file, frame.first) == (caller.file, caller.first) and plain(frame.function) == plain(caller.function)


def _during(trace: Trace, rows: npt.NDArray[np.bool_], hits: Hits) -> Mask:
    """Which samples lie in those events of the training thread."""
    inside: Mask = _intervals(trace, rows).contains(hits.time_ns)
    return inside


def _collectives(trace: Trace) -> Intervals:
    """When one was under way that this rank had joined."""
    found = find_collectives(trace, None)
    return EMPTY if isinstance(found, Unavailable) else Intervals.union(found.arrival_ns, found.end_ns)


def _intervals(trace: Trace, rows: npt.NDArray[np.bool_]) -> Intervals:
    chosen = np.flatnonzero(rows & (trace.events.track == trace.training_track))
    return Intervals.union(trace.events.start_ns[chosen], trace.events.end_ns[chosen])


def _key(home: Home) -> tuple[Place, str]:
    return home.place, home.calls


def _containers(homes: list[Home | None], computed: dict[int, float]) -> set[tuple[Place, str]]:
    """Lines with what they call, where that is what the model's work is called by: ``trainer.fit(model)``."""
    keys = (_key(home) for stack in computed if (home := homes[stack]) is not None)
    return {key for key in keys if key[1]}
