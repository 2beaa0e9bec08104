"""Builds small Kineto traces for tests: ``TraceBuilder().step(0, 100).kernel(10, 20)``. Times in microseconds."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.reader.kineto import trace_from_json

WAIT = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

Number = int | float | str

BATCH_COLUMNS = (
    "loader", "epoch", "batch", "worker", "pid", "drawn_us", "started_us", "finished_us", "arrived_us", "consumed_us",
)  # fmt: skip


class TraceBuilder:
    """Every method adds one event and returns the builder. Host events go to thread 1 unless told otherwise."""

    def __init__(self, **top_level: Any) -> None:
        self.top_level = top_level
        self.events: list[dict[str, Any]] = []
        self.workers: list[dict[str, Any]] = []
        self.batches: dict[str, list[Any]] = {name: [] for name in BATCH_COLUMNS}
        self.costs: dict[str, list[float | None]] = {}
        self.epoch = 0
        self.pids: dict[int, int] = {}
        self._steps = 0

    def add(
        self, cat: str, name: str, ts: Number, dur: Number, pid: int | str = 1, tid: int | str = 1, **args: Any
    ) -> TraceBuilder:
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
        )
        return self

    def step(self, ts: Number, dur: Number) -> TraceBuilder:
        self._steps += 1
        return self.add("user_annotation", f"ProfilerStep#{self._steps}", ts, dur)

    def wait(self, ts: Number, dur: Number, name: str = WAIT) -> TraceBuilder:
        return self.add("user_annotation", name, ts, dur)

    def stage(self, name: str, ts: Number, dur: Number, tid: int = 1) -> TraceBuilder:
        return self.add("user_annotation", name, ts, dur, tid=tid)

    def operator(self, ts: Number, dur: Number, name: str = "aten::mm", tid: int = 1) -> TraceBuilder:
        return self.add("cpu_op", name, ts, dur, tid=tid)

    def call(self, name: str, ts: Number, dur: Number, correlation: int = -1, tid: int = 1) -> TraceBuilder:
        """A runtime call; `correlation` ties it to the kernel or copy that it launched."""
        return self.add("cuda_runtime", name, ts, dur, tid=tid, correlation=correlation)

    def kernel(
        self,
        ts: Number,
        dur: Number,
        device: int = 0,
        stream: int = 7,
        cat: str = "kernel",
        correlation: int = 1,
        name: str = "gemm",
    ) -> TraceBuilder:
        args = {"device": device, "stream": stream, "correlation": correlation}
        return self.add(cat, name, ts, dur, pid=device, tid=stream, **args)

    def memcpy(
        self,
        ts: Number,
        dur: Number,
        device: int = 0,
        name: str = "Memcpy HtoD (Pageable -> Device)",
        correlation: int = -1,
        **args: Any,
    ) -> TraceBuilder:
        args |= {"device": device, "stream": 7, "correlation": correlation}
        return self.add("gpu_memcpy", name, ts, dur, pid=device, tid=7, **args)

    def annotated(self, mode: str = "train", **metadata: Any) -> TraceBuilder:
        """As if annotate had written it."""
        self.top_level[METADATA_KEY] = {"version": 1, "mode": mode, **metadata}
        return self

    def worker(
        self, worker: int, started: float = 0, loader: int = 0, pid: int = 0, ended: float | None = None
    ) -> TraceBuilder:
        """A DataLoader worker, whose pid is 100 + its number unless given. Its later batches are of that process."""
        pid = pid or 100 + worker
        self.pids[worker] = pid
        entry = {"loader": loader, "worker": worker, "pid": pid, "started_us": started, "dropped_spans": 0}
        if ended is not None:
            entry["ended_us"] = ended
        self.workers.append(entry)
        self.events.append(
            {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"DataLoader worker {worker}"}}
        )
        return self

    def batch(
        self,
        number: int,
        worker: int,
        drawn: float,
        started: float | None,
        finished: float | None,
        consumed: float | None,
        stages: Mapping[str, tuple[float, ...]] | None = None,
        **costs: float,
    ) -> TraceBuilder:
        """A batch of that worker; `stages`: spans in it, by name, as (start, duration), (.., CPU time), (.., bytes).

        `costs` are columns of `dataPipeline.batch_costs`.
        """
        epoch, pid = self.epoch, self.pids.get(worker, 100 + worker)
        row = (0, epoch, number, worker, pid, drawn, started, finished, finished, consumed)
        for name in self.batches.keys() - BATCH_COLUMNS:
            self.batches[name].append(None)
        for name, value in zip(BATCH_COLUMNS, row, strict=True):
            self.batches[name].append(value)
        for name, (ts, dur, *more) in (stages or {}).items():
            told = dict(zip(("cpu_us", "bytes"), more, strict=False))
            args = {"batch": number, "index": number, "epoch": epoch, **told}
            self.add("user_annotation", name, ts, dur, pid=pid, tid=pid, **args)
        for column, cost in costs.items():
            self.costs.setdefault(column, [None] * (len(self.batches["batch"]) - 1)).append(cost)
        return self

    def of_loader(self, loader: int) -> TraceBuilder:
        """The last batch is that loader's."""
        self.batches["loader"][-1] = loader
        return self

    def moments(self, **columns: float) -> TraceBuilder:
        """Columns of the last batch: serialise_us, serialised_us, deserialise_us; arrived_us (as finished_us)."""
        for name, value in columns.items():
            self.batches.setdefault(name, [None] * len(self.batches["batch"]))[-1] = value
        return self

    def sampled(
        self,
        times: Sequence[float],
        states: Sequence[int],
        pid: int = 1,
        delay_us: int = 0,
        lock_known: bool = True,
        holders: Sequence[str] = ("metrics",),
    ) -> TraceBuilder:
        """Samples of a thread: the training thread's (pid 1), or a DataLoader worker's. `annotated` comes before it.

        `states`: 0 running, 1 blocked, 2 waiting for Python's lock, from 3 on that `holders` had. Between two samples
        the thread waited for a CPU for `delay_us`, and ran for as long.
        """
        after = [round(time - times[0]) for time in times]
        delays = [0, *[delay_us] * (len(times) - 1)]
        thread = {
            "pid": pid, "tid": pid, "training": pid == 1, "lock_known": lock_known, "start_us": times[0],
            "after_us": after, "state": list(states), "cpu_us": delays, "delay_us": delays,
        }  # fmt: skip
        samples = self.top_level[METADATA_KEY].setdefault("thread_samples", {"threads": [], "holders": list(holders)})
        samples["threads"].append(thread)
        return self

    def stacks(
        self,
        times: Sequence[float],
        stacks: Sequence[Sequence[tuple[str, str, int]]],
        pid: int = 1,
        states: Sequence[int] = (),
        sources: Mapping[tuple[str, int], str] | None = None,
        tid: int | None = None,
        holder: str = "",
        **more: Any,
    ) -> TraceBuilder:
        """Sampled stacks of a thread: the training thread's (pid 1), or a DataLoader worker's; with `tid` another one's
        of that process. `annotated` comes first.

        Args:
            holder: the name of the thread, where it had Python's lock and ran no stage.
            sources: the text of lines, by file and line.
            stacks: per sample its frames, outermost first, each as (function, file, line). Files in /lib/ are of
                installed packages, those in /annotate/ are the recorder's.
        """
        lines = self.top_level[METADATA_KEY].setdefault("lines", _no_lines())
        nodes: dict[tuple[int, int], int] = {
            pair: number
            for number, pair in enumerate(zip(lines["stacks"]["parent"], lines["stacks"]["frame"], strict=True))
        }
        columns = lines["frames"]
        frames: dict[tuple[int, int, int], int] = {
            key: number
            for number, key in enumerate(zip(columns["function"], columns["file"], columns["line"], strict=True))
        }
        ends = []
        for stack in stacks:
            node = -1
            for function, file, line in stack:
                for name in (function, file):
                    if name not in lines["names"]:
                        lines["names"].append(name)
                frame = (lines["names"].index(function), lines["names"].index(file), line)
                node = nodes.setdefault((node, frames.setdefault(frame, len(frames))), len(nodes))
            ends.append(node)
        lines["frames"] = {
            "function": [function for function, _, _ in frames],
            "file": [file for _, file, _ in frames],
            "line": [line for _, _, line in frames],
            "first": [1] * len(frames),
            "source": [self._source(file, line, sources or {}) for _, file, line in frames],
        }
        lines["stacks"] = {"parent": [parent for parent, _ in nodes], "frame": [frame for _, frame in nodes]}
        rounded = [round(time) for time in times]
        since = [0, *(after - before for before, after in itertools.pairwise(rounded))]
        thread = {
            "pid": pid, "tid": tid or pid, "training": pid == 1 and not tid, "start_us": rounded[0],
            "since_us": since, "stack": ends, "state": list(states) or [0] * len(ends),
        }  # fmt: skip
        if holder:
            lines.setdefault("holders", []).append({**thread, "training": False})
            lines.setdefault("holder_names", []).append(holder)
        else:
            lines["threads"].append(thread)
        lines |= more
        return self

    def _source(self, file: int, line: int, sources: Mapping[tuple[str, int], str]) -> int:
        names = self.top_level[METADATA_KEY]["lines"]["names"]
        text = sources.get((names[file], line), "")
        if text and text not in names:
            names.append(text)
        return int(names.index(text)) if text else -1

    def next_epoch(self) -> TraceBuilder:
        """Later batches are of the next epoch."""
        self.epoch += 1
        return self

    def counter(self, name: str, ts: Number, **series: float) -> TraceBuilder:
        self.events.append({"ph": "C", "name": name, "pid": 1, "ts": ts, "args": series})
        return self

    def _batch_size(self, loader: int) -> int | None:
        """What was drawn for a batch, where nothing else is said of it: builders make one span for all its samples."""
        loaders = self.top_level[METADATA_KEY].get("loaders", [])
        return loaders[loader].get("batch_size") if loader < len(loaders) else None

    def json(self) -> bytes:
        if self.workers:
            self.batches.setdefault("samples", [self._batch_size(loader) for loader in self.batches["loader"]])
            self.top_level[METADATA_KEY] |= {"workers": self.workers, "batches": self.batches}
        if self.costs:
            self.top_level[METADATA_KEY]["batch_costs"] = self.costs
        return json.dumps({"schemaVersion": 1, **self.top_level, "traceEvents": self.events}).encode()

    def trace(self) -> Trace:
        return trace_from_json(self.json(), Path("built.pt.trace.json"))

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = self.json()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        return path


def _no_lines() -> dict[str, Any]:
    return {
        "version": 1,
        "sampler": "outside",
        "names": [],
        "frames": {"function": [], "file": [], "line": [], "first": []},
        "stacks": {"parent": [], "frame": []},
        "threads": [],
        "libraries": ["/lib"],
        "recorder": "/annotate",
    }


def training_run(steps: int = 4) -> TraceBuilder:
    """Steps of 100 us: 40 us of wait (30 us decode in a transform), then 50 us of device work."""
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 2, "num_workers": 0}])
    for number in range(steps):
        t = 100 * number
        builder.step(t, 100).wait(t, 40, "wait::DataLoader").stage("sample::Pets", t + 1, 38)
        builder.stage("transform::RandomCrop", t + 2, 36).stage("decode::PIL.Image", t + 3, 30)
        builder.operator(t + 45, 10).add("cuda_runtime", "cudaLaunchKernel", t + 50, 0, correlation=1)
        builder.kernel(t + 50, 50)
    return builder
