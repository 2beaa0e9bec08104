"""The samples of threads, and the collections of garbage, in the `dataPipeline` value of a trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
import numpy as np

from annotate.trace_format import THREAD_STATES
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.limits import MOST_SETTINGS, MOST_WORKERS, over
from tb_dataplugin.model.intervals import Intervals, int64
from tb_dataplugin.model.thread_samples import SampledThread, ThreadSamples
from tb_dataplugin.reader.decimals import LONGEST_NS

MOST_US = 9e15
MOST_LABEL = 200

Number = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
Micro = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Time = Annotated[float, msgspec.Meta(ge=-MOST_US, le=MOST_US)]
State = Annotated[int, msgspec.Meta(ge=0, lt=2**15)]


class Thread(msgspec.Struct):
    pid: Number
    start_us: Time
    training: bool = False
    lock_known: bool = False
    after_us: list[Micro] = []
    state: list[State] = []
    cpu_us: list[Micro] = []
    delay_us: list[Micro] = []


class Samples(msgspec.Struct):
    threads: tuple[Thread, ...] = ()
    holders: tuple[str, ...] = ()
    cpu_us: Annotated[float, msgspec.Meta(ge=0, le=MOST_US)] | None = None
    left_out: Number = 0
    why_not: str = ""
    why_no_lock: str = ""


class Collections(msgspec.Struct):
    start_us: list[Time] = []
    length_us: list[Annotated[float, msgspec.Meta(ge=0, le=MOST_US)]] = []
    pid: list[int] = []


def read_thread_samples(samples: Samples, origin_ns: int, diagnostics: DiagnosticsCollector) -> ThreadSamples:
    """Threads whose columns do not fit together are left out, which is a diagnostic."""
    holders = tuple(name[:MOST_LABEL] for name in samples.holders[:MOST_SETTINGS])
    threads = samples.threads[:MOST_WORKERS]
    if len(samples.threads) > MOST_WORKERS:
        message = (
            f"The capture has samples of {len(samples.threads):,} threads; only the first {MOST_WORKERS:,} are read"
        )
        over(diagnostics, "threads", len(samples.threads) - MOST_WORKERS, message)
    whole = [thread for thread in threads if _is_whole(thread, len(holders), origin_ns)]
    if len(whole) < len(threads):
        message = "Samples of a thread are not valid: the columns differ in length, or are not in order of time"
        diagnostics.add("bad_thread_samples", message, len(threads) - len(whole))
    return ThreadSamples(
        threads=tuple(_thread(thread, origin_ns) for thread in whole),
        holders=holders,
        cost_ns=None if samples.cpu_us is None else round(samples.cpu_us * 1e3),
        left_out=max(0, samples.left_out),
        why_not=samples.why_not[:MOST_LABEL],
        why_no_lock=samples.why_no_lock[:MOST_LABEL],
    )


def _is_whole(thread: Thread, holders: int, origin_ns: int) -> bool:
    columns = (thread.after_us, thread.state, thread.cpu_us, thread.delay_us)
    if len({len(column) for column in columns}) != 1 or not thread.after_us:
        return False
    if abs(round(thread.start_us * 1e3) - origin_ns) > LONGEST_NS:
        return False
    in_order = bool((np.diff(int64(thread.after_us)) >= 0).all())
    return in_order and max(thread.state) < len(THREAD_STATES) + holders


def _thread(thread: Thread, origin_ns: int) -> SampledThread:
    start = round(thread.start_us * 1e3) - origin_ns
    return SampledThread(
        pid=thread.pid,
        is_training=thread.training,
        lock_known=thread.lock_known,
        time_ns=start + int64(thread.after_us) * 1000,
        state=int64(thread.state),
        cpu_ns=int64(thread.cpu_us) * 1000,
        delay_ns=int64(thread.delay_us) * 1000,
    )


def read_collections(collections: Collections | None, origin_ns: int) -> Intervals | None:
    """None where they are not recorded, or the columns do not fit together."""
    if collections is None or len(collections.start_us) != len(collections.length_us):
        return None
    return _intervals(zip(collections.start_us, collections.length_us, strict=True), origin_ns)


def read_by_pid(readings: Collections | None, origin_ns: int) -> tuple[tuple[int, Intervals], ...]:
    """By pid; empty where they are not recorded, or the columns do not fit together."""
    if readings is None or not len(readings.start_us) == len(readings.length_us) == len(readings.pid):
        return ()
    found: dict[int, list[tuple[float, float]]] = {}
    for pid, time, length in zip(readings.pid, readings.start_us, readings.length_us, strict=True):
        found.setdefault(pid, []).append((time, length))
    return tuple((pid, _intervals(times, origin_ns)) for pid, times in sorted(found.items()))


def _intervals(times_us: Iterable[tuple[float, float]], origin_ns: int) -> Intervals:
    """Of starts and lengths."""
    times = [(round(time * 1e3) - origin_ns, round(length * 1e3)) for time, length in times_us]
    sane = [(start, start + length) for start, length in times if abs(start) <= LONGEST_NS and length <= LONGEST_NS]
    return Intervals.union([start for start, _ in sane], [end for _, end in sane])
