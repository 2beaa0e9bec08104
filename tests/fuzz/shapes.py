"""Traces whose structure is hostile, not their bytes: proper JSON, but one thing in it is a hundred thousand.

Each shape is a function of a size, and a file of about so many events. `random_shape` mixes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

Event = dict[str, Any]
WAIT: Final = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def event(cat: str, name: str, ts: float, dur: float, pid: int = 1, tid: int = 1, **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def mark(name: str, ts: float, dur: float, tid: int = 1) -> Event:
    return event("user_annotation", name, ts, dur, tid=tid)


def launched(ts: float, device: int = 0, stream: int = 7, tid: int = 1, name: str = "gemm") -> list[Event]:
    """A kernel with a gap before it, and the call that launched it."""
    link = int(ts)
    call = event("cuda_runtime", "cudaLaunchKernel", ts, 1, tid=tid, correlation=link)
    return [call, event("kernel", name, ts + 2, 3, pid=device, tid=stream, device=device, correlation=link)]


def around(events: list[Event], end: float, **metadata: Any) -> bytes:
    """A trace of one step with one wait in its first half, and these events."""
    frame = [mark("ProfilerStep#1", 0, end), mark(WAIT, 0, end / 2)]
    pipeline = {"version": 1, "mode": "train", "loaders": [{"batch_size": 2, "num_workers": 2}], **metadata}
    return json.dumps({"schemaVersion": 1, "traceEvents": frame + events, "dataPipeline": pipeline}).encode()


def nested(size: int) -> bytes:
    spans = [mark("transform::Crop", 1 + n, 8 * size - 2 * n) for n in range(size)]
    return around([*spans, *launched(10 * size)], 20 * size)


def nested_labels(size: int) -> bytes:
    return around([mark(f"transform::T{n}", 1 + n, 8 * size - 2 * n) for n in range(size)], 20 * size)


def nested_marks(size: int) -> bytes:
    return around([mark(f"my mark {n % 50}", 1 + n, 8 * size - 2 * n) for n in range(size)], 20 * size)


def one_interval(size: int) -> bytes:
    return around([mark("transform::Crop", 10, 50) for _ in range(size)], 1000)


def labels(size: int) -> bytes:
    spans = [mark(f"transform::T{n}", 10 * n, 8) for n in range(size)]
    gaps = [one for n in range(size // 4) for one in launched(40 * n + 5)]
    return around([*spans, *gaps], 20 * size)


def paths(size: int) -> bytes:
    """Chains of 50 spans, each chain with labels of its own."""
    spans = [mark(f"user::a{n // 50}", 100 * (n // 50) + n % 50, 100 - 2 * (n % 50)) for n in range(size)]
    return around(spans, 4 * size)


def long_labels(size: int) -> bytes:
    outer = [mark("user::" + "x" * 20_000, 10 + n, size - 2 * n) for n in range(20)]
    return around([*outer, *(mark(f"user::{n}", 100 + n / 2, 0.4) for n in range(size))], 4 * size)


def long_names(size: int) -> bytes:
    calls = [
        "cuda" + "Synchronize" * (20 * size // 11) + " ",
        "cudaMemcpy" * (2 * size) + " ",
        "aBackward1" * (2 * size),
    ]
    return around([event("cuda_runtime", name, 10 * n, 5) for n, name in enumerate(calls)], 1000)


def devices(size: int) -> bytes:
    return around([one for n in range(size) for one in launched(10 * n, device=n)], 10 * size)


def device_properties(size: int) -> bytes:
    events = [one for n in range(200) for one in launched(10 * n, device=n)]
    text = {"deviceProperties": [{"id": -n, "name": f"GPU {n}"} for n in range(size)]}
    return json.dumps({**json.loads(around(events, 2000)), **text}).encode()


def devices_and_threads(size: int) -> bytes:
    """Every device is fed by every thread."""
    return around([one for n in range(size) for one in launched(10 * n, device=n % 64, tid=n // 64)], 10 * size)


def streams(size: int) -> bytes:
    return around([one for n in range(size) for one in launched(10 * n, stream=n)], 10 * size)


def launching_threads(size: int) -> bytes:
    return around([one for n in range(size) for one in launched(10 * n, tid=n)], 10 * size)


def stage_threads(size: int) -> bytes:
    return around([mark("transform::Crop", 10 * n, 8, tid=n) for n in range(size)], 10 * size)


def waiting_threads(size: int) -> bytes:
    return around([mark(WAIT, 10 * n, 8, tid=n) for n in range(size)], 10 * size)


def steps(size: int) -> bytes:
    return around([mark(f"ProfilerStep#{n}", 10 * n, 10) for n in range(size)], 10 * size)


def waits(size: int) -> bytes:
    """Waits for first batches, each with a gap of the device in it."""
    marks = [mark("wait::DataLoader (first batch)", 20 * n, 10) for n in range(size)]
    return around([*marks, *(one for n in range(size) for one in launched(20 * n + 8))], 20 * size)


def flows(size: int) -> bytes:
    return around(
        [{"ph": "sf"[n % 2], "id": n // 2, "name": "ac2g", "ts": n, "pid": 1, "tid": 1} for n in range(size)], size
    )


def counters(size: int) -> bytes:
    return around(
        [{"ph": "C", "name": "host::cpu", "ts": n, "pid": 1, "args": {"core 0": n}} for n in range(size)], size
    )


def series(size: int) -> bytes:
    args = {f"nic{n}_bytes_per_s": n for n in range(size)}
    return around([{"ph": "C", "name": "host::network", "ts": 5, "pid": 1, "args": args}], 100)


def open_pairs(size: int) -> bytes:
    begins = [
        {"ph": "B", "cat": "user_annotation", "name": "user::x", "ts": n, "pid": 1, "tid": 1} for n in range(size)
    ]
    ends = [{"ph": "E", "ts": 3 * size - n, "pid": 1, "tid": 1} for n in range(size)]
    return around(begins + ends, 4 * size)


def workers(size: int) -> bytes:
    """Processes with a batch each, every one of an epoch and a loader of its own."""
    told = [{"loader": n, "worker": n, "pid": 100 + n, "started_us": 0} for n in range(size)]
    spans = [event("user_annotation", "sample::Pets", 10 * n, 8, pid=100 + n, tid=100 + n) for n in range(size)]
    return around(spans, 20 * size, workers=told, batches=_batches(size, loaders=size, epochs=size, pids=size))


def batches(size: int) -> bytes:
    """Batches of two workers, each in an epoch of its own, received in waits for first batches."""
    told = [{"loader": 0, "worker": n, "pid": 100 + n, "started_us": 0} for n in range(2)]
    marks = [mark("wait::DataLoader (first batch)", 10 * n, 9) for n in range(size)]
    gaps = [one for n in range(size) for one in launched(10 * n + 3)]
    return around([*marks, *gaps], 20 * size, workers=told, batches=_batches(size, loaders=1, epochs=size, pids=2))


def _batches(size: int, loaders: int, epochs: int, pids: int) -> dict[str, list[Any]]:
    numbers = range(size)
    return {
        "loader": [n % loaders for n in numbers], "epoch": [n % epochs for n in numbers], "batch": [0 for _ in numbers],
        "worker": [n % pids for n in numbers], "pid": [100 + n % pids for n in numbers],
        "drawn_us": [10 * n for n in numbers], "started_us": [10 * n + 1 for n in numbers],
        "finished_us": [10 * n + 5 for n in numbers], "arrived_us": [10 * n + 6 for n in numbers],
        "consumed_us": [10 * n + 7 for n in numbers],
    }  # fmt: skip


def settings(size: int) -> bytes:
    told = {"versions": {f"lib{n}": "1" for n in range(size)}, "notes": [f"note {n}" for n in range(size)]}
    return around(launched(10), 100, **told, loaders=[{"batch_size": n} for n in range(size)])


def open_brackets(size: int) -> bytes:
    return b"{" * (100 * size)


def open_brackets_in_events(size: int) -> bytes:
    return b'{"traceEvents":[' + b'{"a":' * (20 * size)


def open_lists_in_events(size: int) -> bytes:
    return b'{"traceEvents":[{"ph":"X","args":' + b"[" * (100 * size)


def braces_in_events(size: int) -> bytes:
    return b'{"traceEvents":[' + b"{" * (100 * size)


def lists_in_events(size: int) -> bytes:
    return b'{"traceEvents":[' + b"[" * (100 * size)


def bare_lists(size: int) -> bytes:
    return b"[" * (100 * size)


def quotes_in_events(size: int) -> bytes:
    return b'{"traceEvents":[' + b'{"' * (50 * size)


def backslashes_in_events(size: int) -> bytes:
    return b'{"traceEvents":[{"name":"' + b"\\" * (50 * size)


def unclosed_members(size: int) -> bytes:
    return b'{"a":[' * (16 * size)


def junk_events(size: int) -> bytes:
    return b'{"traceEvents":[' + b"{]," * (30 * size)


def junk_words(size: int) -> bytes:
    return b'{"traceEvents":[' + b'x "y z, ' * (12 * size)


def junk_between(size: int) -> bytes:
    return b'{"traceEvents":[' + b'{"ph":"X","ts":1,"dur":1}},' * (4 * size)


def nothing_but_commas(size: int) -> bytes:
    return b'{"traceEvents":[' + b"," * (100 * size) + b"]}"


def small_objects(size: int) -> bytes:
    return b'{"traceEvents":[' + b",".join([b"{}"] * (33 * size)) + b"]}"


def numbers(size: int) -> bytes:
    return b'{"traceEvents":[' + b",".join([b"1"] * (50 * size)) + b"]}"


def members(size: int) -> bytes:
    return b"{" + b",".join(b'"k%d":1' % n for n in range(10 * size)) + b',"traceEvents":[]}'


SHAPES: Final[dict[str, Callable[[int], bytes]]] = {
    shape.__name__: shape
    for shape in (
        nested, nested_labels, nested_marks, one_interval, labels, paths, long_labels, long_names, devices,
        device_properties, devices_and_threads, streams, launching_threads, stage_threads, waiting_threads, steps,
        waits, flows, counters, series, open_pairs, workers, batches, settings, open_brackets,
        open_brackets_in_events, open_lists_in_events, braces_in_events, lists_in_events, bare_lists,
        quotes_in_events, backslashes_in_events, unclosed_members, junk_events, junk_words, junk_between,
        nothing_but_commas, small_objects, numbers, members,
    )
}  # fmt: skip


def random_shape(random: Random, size: int) -> tuple[str, bytes]:
    """One shape, or events drawn from ranges of depth, fan-out, threads, devices, streams, names and counters."""
    if random.random() < 0.3:
        name = random.choice(sorted(SHAPES))
        return name, SHAPES[name](size)
    most = {
        what: random.choice((1, 2, 8, 100, 3000, size))
        for what in ("depth", "threads", "devices", "streams", "names", "series", "steps", "workers")
    }
    events = [one for n in range(size // 2) for one in _drawn(random, n, most)]
    told = [{"loader": n % 3, "worker": n, "pid": 100 + n, "started_us": 0} for n in range(most["workers"])]
    table = _batches(min(size, 10 * most["workers"]), 3, most["steps"], most["workers"])
    name = "mixed " + " ".join(f"{what}={count}" for what, count in most.items())
    return name, around(events, 20 * size, workers=told, batches=table)


def _drawn(random: Random, n: int, most: dict[str, int]) -> list[Event]:
    def some(what: str) -> int:
        return random.randrange(most[what])

    choice, ts = random.randrange(6), 10.0 * n
    if choice == 0:
        return launched(ts, some("devices"), some("streams"), 1 + some("threads"), f"k{some('names')}")
    if choice == 1:
        args = {f"nic{some('series')}_bytes_per_s": 1.0}
        return [{"ph": "C", "name": "host::network", "ts": ts, "pid": 1, "args": args}]
    if choice == 2:
        return [mark(f"ProfilerStep#{some('steps')}", ts, 10)]
    if choice == 3:
        pid = 100 + some("workers")
        return [event("user_annotation", f"decode::D{some('names')}", ts, 8, pid=pid, tid=pid)]
    kind = random.choice(("sample", "transform", "wait", "user"))
    depth = some("depth")
    return [mark(f"{kind}::N{some('names')}", ts - depth, 9.0 + 2 * depth, 1 + some("threads"))]
