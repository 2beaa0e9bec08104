"""From the spool into the trace: rows of the workers, arrows to the waits, and the records of workers and batches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from annotate.host.meter import COLUMNS, NOT_TOLD
from annotate.host.sampler import Sample
from annotate.recording import switch
from annotate.recording.rows import cpu_ns, enclosing_index, is_sample, name_numbers
from annotate.recording.training_thread import Ledger
from annotate.trace import beside
from annotate.trace.arguments import Arguments, files_column
from annotate.trace.clock import Anchors, Clock
from annotate.trace.counters import counter_events
from annotate.trace.readings import cpu_readings
from annotate.trace.worker_files import WorkerFile, read_worker_files
from annotate.trace_format import (
    ARG_BATCH,
    ARG_BYTES,
    ARG_CPU_US,
    ARG_EPOCH,
    ARG_INDEX,
    ARG_WORKER,
    MARKER_CATEGORY,
    WORKER_PROCESS_NAME,
    BatchCosts,
    BatchRecords,
    Collections,
    LibraryThreads,
    Lifetime,
    LoaderMetadata,
    WorkerMetadata,
)
from annotate.workers.batches import Batch
from annotate.workers.capturing import Batches, Records

_MOMENTS: Final = tuple(key.removesuffix("_us") for key in BatchRecords.__annotations__ if key.endswith("_us"))
_AT_ONCE: Final = 50_000
"""Events formatted at a time; a bound on memory."""
_FIRST_FLOW: Final = 1 << 40
"""Numbers of our arrows, far from Kineto's; below 2**53, so that JavaScript can read them."""
_FLOW: Final = "batch"
_ARG_LOADER: Final = "loader"

_STEP: Final = b'"ProfilerStep#'
_STEP_TOLD: Final = re.compile(rb'"ProfilerStep#(?!0")')
"""A step that the program told its profiler of. #0 begins by itself where there is a schedule, and lasts to the end
where nobody calls `step`.
"""
_WAITS_FOR_WORKERS: Final = b"#_MultiProcessingDataLoaderIter.__next__"


class WorkerRows:
    """One window's facts beside torch's own: rows of the workers, samples of the host, arguments of markers."""

    def __init__(
        self, capture: Records, anchors: Anchors, samples: Iterable[Sample] = (), ledger: Ledger | None = None
    ) -> None:
        self._anchors = anchors
        self._samples = samples
        self._ledger = ledger
        self._arguments: Arguments | None = None
        self._capture = capture
        self._batches: Final[Batches] = capture.batches
        self.clock: Clock | None = None
        """None: nothing of the window has a place in the trace."""
        self._waited_for_workers = False
        self.has_steps = self.has_steps_told = False
        """torch's profiler has made spans of steps; it was told of them."""
        self._files: list[WorkerFile] = []
        self._last_span: dict[tuple[int, int], tuple[int, int]] = {}
        """Iteration and batch -> pid, and a moment in the last span of the batch."""
        self._known: dict[tuple[int, int], Batch] = {}
        self._costs: dict[tuple[int, int], tuple[int, ...]] = {}
        """Iteration and batch -> costs, of finished batches."""
        self.span_count = 0

    def look(self, text: bytes) -> None:
        """Takes each part of Kineto's text once."""
        self._anchors.look(text)
        self._waited_for_workers = self._waited_for_workers or _WAITS_FOR_WORKERS in text
        self.has_steps = self.has_steps or _STEP in text
        self.has_steps_told = self.has_steps_told or bool(_STEP_TOLD.search(text))

    def read(self) -> None:
        """Read the spool, after all of Kineto's text has been seen."""
        self.clock = self._anchors.clock()
        if self.clock is None:
            return
        own = None if self._ledger is None else self._ledger.rows()
        if own is not None and len(own):
            self._arguments = Arguments(own, self.clock, dict(self._ledger.files) if self._ledger else {})
        if self._capture.spool is None:
            return
        self._known = {(batch.iteration, batch.batch): batch for batch in self._batches.kept}
        for paths in self._capture.spool.files():
            file = read_worker_files(paths)
            if file is not None:
                self._prepare(file)
        self._capture.spool.clear()

    def names(self) -> frozenset[str]:
        """Names of all spans that workers recorded in the window."""
        elsewhere = {span.name for span in (self._ledger.elsewhere if self._ledger else ())}
        return frozenset(name for file in self._files for name in file.names) | {
            switch.HANDED_OUT.get(name, name) for name in elsewhere
        }

    def span_us(self) -> float:
        """What one span cost in the workers: the median over them, 0 without any."""
        costs = sorted(file.span_ns for file in self._files)
        return costs[len(costs) // 2] / 1000 if costs else 0.0

    def workers(self) -> list[WorkerMetadata]:
        """Every worker that recorded, or sent a batch in the window."""
        clock, found = self.clock, {}
        if clock is None:
            return []
        threads = {(file.loader, file.pid): file.threads for file in self._files}
        here = {(batch.loader, batch.pid) for batch in self._seen_batches()}
        for (loader, pid), facts in self._batches.workers.items():
            if (loader, pid) in here:
                losses = self._batches.losses.get((loader, pid))
                found[loader, pid] = (facts.worker, facts.began, 0 if losses is None else losses.dropped)
        for file in self._files:
            found.setdefault((file.loader, file.pid), (file.worker, file.started, 0))
        lives = self._lives(clock)
        return [
            {
                "loader": loader,
                "worker": worker,
                "pid": pid,
                "started_us": _us(clock.ts_ns(started)),
                "dropped_spans": dropped,
                **lives.get(pid, Lifetime()),
                **threads.get((loader, pid), LibraryThreads()),
            }
            for (loader, pid), (worker, started, dropped) in sorted(found.items(), key=lambda item: item[1])
        ]

    def _lives(self, clock: Clock) -> dict[int, Lifetime]:
        """By pid."""
        lives: dict[int, Lifetime] = {}
        for file in self._files:
            if file.called is not None:
                began, returned = (_us(clock.ts_ns(time)) for time in file.called)
                lives[file.pid] = {"init_us": (began, returned)}
        for pid, ended in ({} if self._capture.spool is None else self._capture.spool.ends()).items():
            lives.setdefault(pid, {})["ended_us"] = _us(clock.ts_ns(ended))
        return lives

    def batches(self) -> BatchRecords:
        """The batches that were on their way or handed out in the window, and had been begun by a worker."""
        clock = self.clock
        records: dict[str, list[Any]] = {key: [] for key in BatchRecords.__annotations__}
        for batch in self._in_order():
            for key in ("loader", "epoch", "batch", "worker", "pid", "samples"):
                records[key].append(getattr(batch, key))
            records["elsewhere"].append(self._anchors.is_elsewhere(batch.taker))
            for key in _MOMENTS:
                time = getattr(batch, key)
                records[key + "_us"].append(None if time is None or clock is None else _us(clock.ts_ns(time)))
        return records  # type: ignore[return-value]

    def batch_costs(self) -> BatchCosts:
        """Columns beside those of `batches`; those that the system does not report are left out."""
        costs = [self._costs.get((batch.iteration, batch.batch), NOT_TOLD) for batch in self._in_order()]
        found: dict[str, list[Any]] = {}
        for key, column in zip(COLUMNS, zip(*costs, strict=True), strict=bool(costs)):
            if any(value >= 0 for value in column):
                is_time = key.endswith("_us")
                found[key] = [None if value < 0 else _us(value) if is_time else value for value in column]
        return found  # type: ignore[return-value]

    def cpu_readings(self) -> Collections | None:
        """None where the trace has no clock for them."""
        clock, thread = self.clock, self._anchors.thread
        return None if clock is None or thread is None else cpu_readings(self._files, self._ledger, thread[0], clock)

    def _in_order(self) -> list[Batch]:
        return sorted(self._seen_batches(), key=lambda one: one.started or one.drawn or 0)

    def notes(self, *, cause_is_known: bool = False) -> list[str]:
        """Sentences for the reader about what is missing.

        Args:
            cause_is_known: why there are no worker records at all has been said already.
        """
        recorded = {batch.loader for batch in self._seen_batches()} | {file.loader for file in self._files}
        lost = self._capture.why_lost(recorded, self._waited_for_workers and not cause_is_known)
        notes = list(lost)
        if self.clock is None and recorded:
            notes.append(
                "no data from DataLoader workers: torch's profiler recorded no CPU activity, so the workers' clock "
                "cannot be "
                "matched with the trace. Leave ProfilerActivity.CPU on."
            )
        workers = sum(losses.elsewhere for losses in self._batches.losses.values())
        here = 0 if self._ledger is None else self._ledger.lost_elsewhere
        for count, where in ((here, "the training process"), (workers, "DataLoader workers")):
            if count and not lost:
                notes.append(
                    f"{count:,} spans of other threads of {where} (thread pools, buffers) were too many to keep: their "
                    "time counts for the stage that waits for them."
                )
        if self._batches.out_of_time:
            notes.append(
                f"{self._batches.out_of_time} batches arrived before they were finished, by the clocks of two "
                "processes: the "
                "transfer times of this capture cannot be relied on."
            )
        return notes

    def _seen_batches(self) -> list[Batch]:
        window = self._capture.window
        if window is None or self.clock is None:
            return []
        begin, end = window
        latest: dict[int, int] = {}
        for number, epoch in self._batches.epochs.items():
            latest[epoch.loader] = number
        return [
            batch
            for batch in self._batches.kept
            if batch.worker is not None
            and (batch.drawn or batch.arrived or 0) <= end
            and (batch.consumed is None or batch.consumed >= begin)
            and (
                batch.consumed is not None
                or (batch.finished or end) >= begin
                or latest.get(batch.loader) == batch.iteration
            )
        ]

    def _prepare(self, file: WorkerFile) -> None:
        """Learn of the batches that are in a file, and keep it."""
        for end, made in zip(file.ends, file.batches, strict=True):
            key = (made.iteration, made.batch)
            known = self._known.get(key)
            if known is not None and known.arrived is None:  # in work, on its way, or lost with its worker
                known.worker, known.pid, known.started = file.worker, file.pid, made.started or None
                known.finished = made.finished if made.finished >= 0 else None
            if made.finished >= 0:
                last = file.rows[end - 1]
                moment = max(int(last["start"]), int(last["end"]) - 1)
                self._costs[key] = made.costs
                self._last_span[key] = (file.pid, moment)
        seen = {(batch.iteration, batch.batch) for batch in self._seen_batches()}
        file.kept = self._rows_of_the_window(file, seen)
        file.beside = beside.kept_of(file, self._capture.window or (0, 0), seen)
        count = len(file.kept) + len(file.beside)
        if count:
            self.span_count += count
            self._files.append(file)

    def _rows_of_the_window(self, file: WorkerFile, seen: set[tuple[int, int]]) -> Any:
        """Numbers of the rows that overlap the window, or belong to a batch that it has received."""
        import numpy as np

        begin, end = self._capture.window or (0, 0)
        is_seen = np.array([(made.iteration, made.batch) in seen for made in file.batches], dtype=np.bool_)
        sizes = np.diff(np.array([0, *file.ends], dtype=np.int64)).astype(np.int64)
        overlaps = (file.rows["end"] >= begin) & (file.rows["start"] <= end)
        return np.flatnonzero(overlaps | (np.repeat(is_seen, sizes) & (file.rows["start"] <= end)))

    def facts_of(self, name: str, tid: int, start_ns: int, duration_ns: int) -> tuple[str, str]:
        """What the training thread's own record of a marker says beside its times: see `Arguments.of`."""
        thread = self._anchors.thread
        if self._arguments is None or thread is None or tid != thread[1]:
            return "", ""
        return self._arguments.of(name, start_ns, duration_ns)

    def events(self, loaders: list[LoaderMetadata]) -> Iterator[bytes]:
        """The events as JSON text, each with a comma behind it."""
        clock, thread = self.clock, self._anchors.thread
        if clock is None or thread is None:
            return
        window = self._capture.window or (0, 0)
        several = len({file.loader for file in self._files}) > 1
        for order, file in enumerate(sorted(self._files, key=lambda file: (file.loader, file.worker, file.started))):
            place, ts = thread[0] + 1 + order, clock.ts_ns(window[0]) // 1000
            yield _process_events(file, loaders, place, several, ts)
            yield from self._spans(file, clock)
            tails = {key: self._tail(file, *key) for key in {(row.iteration, row.batch) for row in file.beside}}
            yield from beside.of_worker(file, place, ts, clock, tails)
        if self._ledger is not None:
            yield beside.of_training_process(self._ledger.elsewhere, window, clock, thread[0])
        yield self._arrows(clock, thread)
        yield counter_events(self._samples, clock, thread)

    def _spans(self, file: WorkerFile, clock: Clock) -> Iterator[bytes]:
        import numpy as np

        rows = file.rows
        chunk = np.searchsorted(np.array(file.ends, dtype=np.int64), np.arange(len(rows)), side="right")
        ends = rows["end"]
        names = name_numbers(rows)
        kept = file.kept
        # Parents first: they begin no later, end no earlier, and were recorded after their children.
        kept = kept[np.lexsort((-kept, -ends[kept], rows["start"][kept]))]
        samples = np.array([is_sample(name) for name in file.names] or [False])[names[kept]]
        index = enclosing_index(rows[kept], samples)
        start = clock.ts_ns(rows["start"][kept])
        dur = clock.ts_ns(ends[kept]) - start
        heads = [_head(name, file.pid) for name in file.names]
        tails = [self._tail(file, made.iteration, made.batch) for made in file.batches]
        size = np.where(samples, -1, rows["extra"][kept])
        files = files_column(rows["start"][kept], samples, file.files)
        columns = (names[kept], start, dur, chunk[kept], cpu_ns(rows[kept]) // 100, index, size)
        for at in range(0, len(kept), _AT_ONCE):
            part = slice(at, at + _AT_ONCE)
            yield _format(heads, tails, files[part], *(column[part] for column in columns))

    def _tail(self, file: WorkerFile, iteration: int, batch: int) -> str:
        known = self._batches.epochs.get(iteration)
        epoch = 0 if known is None else known.epoch
        tail = f'"{ARG_WORKER}":{file.worker},"{ARG_EPOCH}":{epoch},"{_ARG_LOADER}":{file.loader}'
        return f'"{ARG_BATCH}":{batch},{tail}' if batch >= 0 else tail

    def _arrows(self, clock: Clock, thread: tuple[int, int]) -> bytes:
        texts: list[str] = []
        begin, end = self._capture.window or (0, 0)
        for batch in self._batches.kept:
            last = self._last_span.get((batch.iteration, batch.batch)) if batch.iteration >= 0 else None
            if last is None or batch.consumed is None or not begin <= batch.consumed <= end:
                continue
            if self._anchors.is_elsewhere(batch.taker):
                continue
            number = _FIRST_FLOW + len(texts)
            pid, moment = last
            for phase, process, tid, time in (("s", pid, pid, moment), ('f","bp":"e', *thread, batch.consumed)):
                ts = clock.ts_ns(time)
                texts.append(
                    f'{{"ph":"{phase}","cat":"{_FLOW}","name":"{_FLOW}","id":{number},"pid":{process},"tid":{tid},'
                    f'"ts":{ts // 1000}.{ts % 1000:03d}}},\n'
                )
        return "".join(texts).encode()


def _us(ns: int) -> float:
    return round(ns / 1000, 3)


def _process_events(file: WorkerFile, loaders: list[LoaderMetadata], sort_index: int, several: bool, ts: int) -> bytes:
    name = WORKER_PROCESS_NAME.format(file.worker) + (f" (loader {file.loader})" if several else "")
    loader = loaders[file.loader] if file.loader < len(loaders) else LoaderMetadata()
    label = " ".join(text for text in (loader.get("name"), loader.get("dataset")) if text)
    facts: tuple[tuple[str, int, dict[str, object]], ...] = (
        ("process_name", 0, {"name": name}),
        ("process_labels", 0, {"labels": label}),
        ("process_sort_index", 0, {"sort_index": sort_index}),
        ("thread_name", file.pid, {"name": name}),
        ("thread_sort_index", file.pid, {"sort_index": sort_index}),
    )
    return "".join(
        json.dumps({"ph": "M", "name": kind, "ts": ts, "pid": file.pid, "tid": tid, "args": args}) + ",\n"
        for kind, tid, args in facts
    ).encode()


def _head(name: str, pid: int) -> str:
    return f'{{"ph":"X","cat":"{MARKER_CATEGORY}","name":{json.dumps(name)},"pid":{pid},"tid":{pid},"ts":'


def _format(
    heads: list[str],
    tails: list[str],
    files: list[str],
    name: Any,
    start: Any,
    dur: Any,
    chunk: Any,
    cpu: Any,
    index: Any,
    size: Any,
) -> bytes:
    template = f'%s%d.%03d,"dur":%d.%03d,"args":{{%s,"{ARG_CPU_US}":%d.%d%s%s%s}}}},\n'
    return "".join(
        map(
            template.__mod__,
            zip(
                map(heads.__getitem__, name.tolist()),
                (start // 1000).tolist(),
                (start % 1000).tolist(),
                (dur // 1000).tolist(),
                (dur % 1000).tolist(),
                map(tails.__getitem__, chunk.tolist()),
                (cpu // 10).tolist(),
                (cpu % 10).tolist(),
                [f',"{ARG_INDEX}":{value}' if value >= 0 else "" for value in index.tolist()],
                [f',"{ARG_BYTES}":{value}' if value >= 0 else "" for value in size.tolist()],
                [f",{text}" if text else "" for text in files],
                strict=True,
            ),
        )
    ).encode()
