"""What the watcher saw in a window, and when garbage was collected, as the trace carries it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from annotate.host import watcher
from annotate.host.watching import States
from annotate.recording.training_thread import Ledger
from annotate.trace.clock import Clock
from annotate.trace_format import (
    THREAD_WAITS_FOR_LOCK,
    Collections,
    PipelineMetadata,
    SampledThread,
    ThreadSamples,
)

MOST_SAMPLES: Final = 200_000
"""Of all threads together; some 3 MB of the trace before it is packed."""


def thread_samples(states: States, clock: Clock | None) -> ThreadSamples:
    if clock is None:
        return {"why_not": states.why_not or "torch's profiler recorded no CPU activity, so its clock is unknown"}
    if states.why_not or not states.records:
        return {"why_not": states.why_not or "the window was too short for a sample"}
    rows = sample_rows(states)
    left_out, rows = max(0, len(rows) - MOST_SAMPLES), rows[:MOST_SAMPLES]
    holders: list[str] = []
    found: ThreadSamples = {
        "threads": [
            _columns(thread, rows[rows["thread"] == number], clock, states.names, holders)
            for number, thread in enumerate(states.threads)
            if not thread.beside and (rows["thread"] == number).any()
        ],
        "holders": holders,
        "cpu_us": round(states.cpu_ns / 1000, 3),
        "left_out": left_out,
    }
    if states.why_no_lock:
        found["why_no_lock"] = states.why_no_lock
    return found


def sample_rows(states: States) -> Any:
    """An array with the columns of `watcher.RECORD`."""
    import numpy as np

    kinds = [
        ("time", "<i8"),
        ("thread", "<u2"),
        ("state", "<u2"),
        ("holder", "<i4"),
        ("cpu", "<i8"),
        ("delay", "<i8"),
        ("stack", "<i4"),
    ]
    size = watcher.RECORD.size
    return np.frombuffer(states.records[: len(states.records) // size * size], dtype=np.dtype(kinds))


def _columns(thread: Any, rows: Any, clock: Clock, names: dict[int, str], holders: list[str]) -> SampledThread:
    import numpy as np

    times = clock.ts_ns(rows["time"])
    first = int(times[0])
    return {
        "pid": thread.pid,
        "tid": thread.tid,
        "training": thread.training,
        "lock_known": thread.lock_known,
        "start_us": round(first / 1000, 3),
        "after_us": np.rint((times - first) / 1000).astype(int).tolist(),
        "state": list(_states(zip(rows["state"].tolist(), rows["holder"].tolist(), strict=True), names, holders)),
        "cpu_us": _growth(rows["cpu"]),
        "delay_us": _growth(rows["delay"]),
    }


def _states(rows: Iterable[tuple[int, int]], names: dict[int, str], holders: list[str]) -> Iterable[int]:
    """Who held the lock is asked in one of several samples of a wait: until the next answer it is the same one."""
    holder = 0
    for state, seen in rows:
        if state != THREAD_WAITS_FOR_LOCK:
            yield state
            continue
        if seen >= 0:
            name = names.get(seen, "")
            if name and name not in holders:
                holders.append(name)
            holder = holders.index(name) + 1 if name else 0
        yield THREAD_WAITS_FOR_LOCK + holder


def _growth(total: Any) -> list[int]:
    """In microseconds, from what is counted in nanoseconds; the rounded totals' differences, so nothing adds up."""
    import numpy as np

    rounded = np.rint((total - total[0]) / 1000).astype(int)
    return [0, *np.diff(rounded).tolist()]


def thread_records(states: States, ledger: Ledger, clock: Clock | None) -> PipelineMetadata:
    """All that is recorded of threads beside their spans."""
    records: PipelineMetadata = {"thread_samples": thread_samples(states, clock)}
    if ledger.costs:
        records["training_thread"] = ledger.costs
    if clock is not None:
        records["collections"] = collections(ledger.collections, clock)
        records["collections_elsewhere"] = collections(ledger.collections_elsewhere, clock)
    return records


def collections(spans: Iterable[tuple[int, int]], clock: Clock) -> Collections:
    times = [(int(clock.ts_ns(start)), end - start) for start, end in spans]
    return {
        "start_us": [round(start / 1000, 3) for start, _ in times],
        "length_us": [round(length / 1000, 3) for _, length in times],
    }
