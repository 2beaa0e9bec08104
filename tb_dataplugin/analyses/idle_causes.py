"""Why a device idles: every nanosecond of every gap gets exactly one cause, by launch order.

A gap ends with the activity that ends it. Until that was launched, what the launching thread did is the cause, and
where that thread did nothing that was recorded, what the training thread did. From the launch to the activity's start
it is `launch` (the launch itself, the driver, what the activity had to wait for on the device), or `h2d` while the host
is in the call that copies to the device. Within one thread the order is: waiting for a batch, copying to the device,
communicating, synchronising, in an operator or runtime call. What remains is `host` where the thread's spans were
recorded, else `unknown`. Without any runtime call in the trace, waiting for the device looks like the rest: all of
it is `unknown` then, but for the data wait and the user's own `h2d` stages.

A gap whose launch is not in the trace is judged by the training thread alone; so is one after which nothing ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, get_args

import numpy as np

from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.host_activity import (
    NOTHING_RECORDED,
    HostActivity,
    ThreadActivity,
    copy_rows,
    read_host_activity,
)
from tb_dataplugin.analyses.launches import NONE, GapEnds, Rows, find_gap_ends
from tb_dataplugin.limits import MOST_LAUNCHERS
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, distinct, int64
from tb_dataplugin.model.trace import Trace

Cause = Literal["data_wait", "h2d", "sync", "launch", "host", "comm", "unknown"]

CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)

Layer = tuple[Cause, Intervals]

START_NS: Final = 30_000
"""Up to which the start of an activity after its launch has returned is the launch's own latency, as HTA has it."""


@dataclass(frozen=True, slots=True)
class IdleCauses:
    """`causes` are disjoint and their union is the device's gaps. A cause that cannot be known is missing.

    `ends`: what ended each gap. `unlaunched`: gaps that an activity ended whose launch is not in the trace.
    `gap_queued_ns`: of each gap, the part of `launch` in which what ended it was launched already: before the gap
    began, or by a call that had returned longer ago than a start takes (`START_NS`). The host did its part there: the
    device was late by itself, or did something that the trace does not show.
    """

    causes: Mapping[Cause, Intervals]
    ends: GapEnds
    unlaunched: int
    gap_queued_ns: Int64Array

    def per_gap(self, gaps: Intervals) -> dict[Cause, Int64Array]:
        """By cause, its time in each gap."""
        return {cause: time.overlap(gaps.start, gaps.end) for cause, time in self.causes.items()}


def find_idle_causes(trace: Trace, devices: tuple[DeviceIdle, ...], waits: Intervals | None) -> tuple[IdleCauses, ...]:
    """Per device. `waits`: the data wait of the training thread, None when it is not known."""
    if not devices:
        return ()
    host = read_host_activity(trace)
    knowable, activity_of = _knowable_causes(host, waits), cache(host.of_thread)
    inward = copy_rows(trace, to_device=True)
    return tuple(_one_device(trace, device, waits, knowable, inward, activity_of) for device in devices)


def _one_device(
    trace: Trace,
    device: DeviceIdle,
    waits: Intervals | None,
    knowable: set[Cause],
    inward: Rows,
    activity_of: Callable[[int], ThreadActivity],
) -> IdleCauses:
    gaps, ends = device.gaps, _by_few_threads(trace, find_gap_ends(trace, device.device, device.gaps))
    launch_ns = np.where(ends.launch != NONE, trace.events.start_ns[ends.launch], gaps.end)
    launched = np.clip(launch_ns, gaps.start, gaps.end)
    copied = _in_copy_until(trace, ends, launched, gaps, inward)
    parts: list[Layer] = [
        ("h2d", Intervals.union(launched, copied)),
        ("launch", Intervals.union(copied, gaps.end)),
    ]
    main = _main_thread(trace, ends)
    thread = np.where(ends.launch != NONE, trace.events.track[ends.launch], -1 if main is None else main)
    for track in np.unique(thread).tolist():
        mine = thread == track
        before = Intervals.union(gaps.start[mine], launched[mine])
        own = activity_of(track) if track >= 0 else NOTHING_RECORDED
        other = NOTHING_RECORDED if main is None or main == track else activity_of(main)
        layers = _layers(own, other, waits or EMPTY, own_waits=main == track)
        parts += _divide(before, tuple(layer for layer in layers if layer[0] in knowable))
    return IdleCauses(
        causes=_collect(parts, knowable),
        ends=ends,
        unlaunched=int(((ends.activity != NONE) & (ends.launch == NONE)).sum()),
        gap_queued_ns=_queued(trace, ends, copied, gaps),
    )


def _queued(trace: Trace, ends: GapEnds, copied: Int64Array, gaps: Intervals) -> Int64Array:
    """From when the call that launched what ended each gap has returned, where it had by the gap's start, or by long
    before its end. `copied`: until when the gap's cause is another than `launch`.
    """
    returned = np.where(ends.launch != NONE, trace.events.end_ns[ends.launch], gaps.end)
    after = gaps.end - np.clip(np.maximum(copied, returned), gaps.start, gaps.end)
    return int64(np.where((returned <= gaps.start) | (after > START_NS), after, 0))


def _by_few_threads(trace: Trace, ends: GapEnds) -> GapEnds:
    """Without the launches of threads beyond the `MOST_LAUNCHERS` that launched most; the training thread's stay."""
    known = np.flatnonzero(ends.launch != NONE)
    track = trace.events.track[ends.launch[known]]
    threads, place, count = np.unique(track, return_inverse=True, return_counts=True)
    if len(threads) <= MOST_LAUNCHERS:
        return ends
    count[threads == (-1 if trace.training_track is None else trace.training_track)] = len(track) + 1
    kept = np.zeros(len(threads), dtype=np.bool_)
    kept[np.argsort(-count, kind="stable")[:MOST_LAUNCHERS]] = True
    launch = ends.launch.copy()
    launch[known[~kept[place]]] = NONE
    return GapEnds(ends.activity, launch)


def _main_thread(trace: Trace, ends: GapEnds) -> int | None:
    """The training thread; in a trace without one, the thread that launched what ended the most gaps."""
    if trace.training_track is not None:
        return trace.training_track
    launchers, count = np.unique(trace.events.track[ends.launch[ends.launch != NONE]], return_counts=True)
    tracks = trace.tracks
    ranked = sorted(zip(launchers.tolist(), count.tolist(), strict=True), key=lambda one: (-one[1], tracks[one[0]].tid))
    return ranked[0][0] if ranked else None


def _in_copy_until(trace: Trace, ends: GapEnds, launched: Int64Array, gaps: Intervals, inward: Rows) -> Int64Array:
    """Per gap, until when the host was in the call that copies to the device; `launched` where it was no such copy.

    `inward`: rows of the copies to a device.
    """
    copying = (ends.launch != NONE) & np.isin(ends.activity, inward)
    return np.where(copying, np.clip(trace.events.end_ns[ends.launch], launched, gaps.end), launched)


def _layers(own: ThreadActivity, other: ThreadActivity, waits: Intervals, own_waits: bool) -> Iterator[Layer]:
    """What decides, the strongest first. `own` is the launching thread, `other` the training thread if it is another.

    `waits` are the training thread's.
    """
    if own_waits:
        yield ("data_wait", waits)
    yield from _calls(own)
    if not own_waits:
        yield ("data_wait", waits)
        yield from _calls(other)
    yield ("host", Intervals.union_of((own.recorded, other.recorded)))


def _calls(thread: ThreadActivity) -> Iterator[Layer]:
    yield ("unknown", thread.unclear)
    yield ("h2d", thread.copying)
    yield ("comm", thread.communicating)
    yield ("sync", thread.synchronising)
    yield ("launch", thread.launching)


def _divide(whole: Intervals, layers: tuple[Layer, ...]) -> list[Layer]:
    """Cuts `whole` up: each time goes to the first layer that holds it, and to `unknown` where none does."""
    if not len(whole):
        return []
    layers = tuple((cause, whole.intersect(time)) for cause, time in layers)
    sets = (whole, *(time for _, time in layers))
    edges = distinct(np.concatenate([part for time in sets for part in (time.start, time.end)]))
    inside = whole.contains(edges[:-1])
    left, right = edges[:-1][inside], edges[1:][inside]
    chosen = np.full(len(left), len(layers))
    for number in reversed(range(len(layers))):
        chosen[layers[number][1].contains(left)] = number
    causes: tuple[Cause, ...] = (*(cause for cause, _ in layers), "unknown")
    return [(causes[n], Intervals.union(left[chosen == n], right[chosen == n])) for n in np.unique(chosen).tolist()]


def _knowable_causes(host: HostActivity, waits: Intervals | None) -> set[Cause]:
    """Causes whose time is known, be it none."""
    knowable: set[Cause] = {"unknown"}
    if waits is not None:
        knowable.add("data_wait")
    if host.has_calls:
        knowable |= {"launch", "comm"}
        knowable |= {"host"} if host.has_spans else set()
        knowable |= {"sync"} if host.has_clear_copies or host.synchronises.any() else set()
    if host.copies_in.any() or (host.has_calls and host.has_clear_copies):
        knowable.add("h2d")
    return knowable


def _collect(parts: list[Layer], knowable: set[Cause]) -> dict[Cause, Intervals]:
    """By cause; time of a cause that cannot be known is unknown."""
    layers = [(name if name in knowable else "unknown", time) for name, time in parts]
    return {
        cause: Intervals.union_of(time for name, time in layers if name == cause)
        for cause in CAUSES
        if cause in knowable
    }
