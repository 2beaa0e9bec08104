"""The part of the report about DataLoader workers and the host: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TypedDict

from tb_dataplugin.analyses.host_load import LoadRow, SeriesSummary
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.samples import SlowSample, listed_samples
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.analyses.worker_summary import WorkerSummary
from tb_dataplugin.analyses.workers import BatchTimes, QueueDepth, WorkerRow, rows_touched
from tb_dataplugin.findings import Sentences
from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.model.trace import UNKNOWN_NS
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_sample_loaders import sample_loaders
from tb_dataplugin.report.build_units import maybe_us, us
from tb_dataplugin.words import counter_term

MAX_BATCHES = 5000


class WorkerFields(TypedDict, total=False):
    """Fields of `Capture`; without records of DataLoader workers only what the training process loaded itself."""

    workers: Iterator[pb.Worker]
    batches: Iterator[pb.Batch]
    batch_count: int
    queues: Iterator[pb.QueueDepth]
    slow_samples: Iterator[pb.SlowSample]
    usual_samples: tuple[int, ...]
    sample_loaders: Sequence[pb.SampleLoader]
    worker_summaries: Iterator[pb.WorkerSummary]
    quiet_workers_sentence: str


def worker_fields(results: Results, sentences: Sentences) -> WorkerFields:
    workers, samples = results.workers, results.samples
    listed = listed_samples(samples)
    slow, loaders = (
        map(partial(_slow_sample, results.window), listed),
        sample_loaders(results, listed, sentences.loader_names),
    )
    usual = tuple(loaders[0].usual_samples) if loaders else ()
    if workers is None:
        return {"slow_samples": slow, "usual_samples": usual, "sample_loaders": loaders}
    rows = rows_touched(workers.batches.table, results.window)
    return {
        "workers": map(_worker, workers.rows),
        "batches": _batches(workers.batches, rows),
        "batch_count": len(rows),
        "queues": map(_queue, workers.queues),
        "slow_samples": slow,
        "usual_samples": usual,
        "sample_loaders": loaders,
        "worker_summaries": map(_summary, results.worker_summaries, sentences.workers, sentences.worker_names),
        "quiet_workers_sentence": sentences.quiet_workers,
    }


def _worker(row: WorkerRow) -> pb.Worker:
    pids = [times.process.pid for times in row.processes]
    return pb.Worker(
        worker=row.worker,
        pid=pids[-1],
        pids=pids,
        loader=row.loader,
        batches=row.batches,
        alive_us=us(row.alive_ns),
        busy_us=us(row.busy_ns),
        idle_us=us(row.idle_ns),
        starved_us=us(row.starved_ns),
        epoch_over_us=us(row.epoch_over_ns),
        startup_us=us(row.startup_ns),
        skew=row.skew,
        dropped_spans=row.dropped_spans,
        mean_build_us=maybe_us(row.mean_build_ns),
        longest_build_us=maybe_us(row.longest_build_ns),
    )


def _summary(summary: WorkerSummary, sentence: str, name: str) -> pb.WorkerSummary:
    return pb.WorkerSummary(
        loader=summary.loader,
        workers=summary.workers,
        processes=summary.processes,
        batches=summary.batches,
        alive_us=us(summary.alive_ns),
        busy_us=us(summary.busy_ns),
        starved_us=us(summary.starved_ns),
        epoch_over_us=us(summary.epoch_over_ns),
        startup_us=us(summary.startup_ns),
        head_of_line_us=None if summary.head_of_line_ns is None else us(summary.head_of_line_ns),
        wait_us=None if summary.wait_ns is None else us(summary.wait_ns),
        ready_wait_share=summary.ready_wait_share,
        sentence=sentence,
        name=name,
        quiet=summary.quiet,
    )


def _batches(batches: BatchTimes, rows: Int64Array) -> Iterator[pb.Batch]:
    table, rows = batches.table, rows[:MAX_BATCHES]
    columns = (
        table.number[rows].tolist(),
        table.epoch[rows].tolist(),
        table.loader[rows].tolist(),
        table.worker[rows].tolist(),
        *(
            _times(column[rows])
            for column in (
                table.drawn_ns,
                table.started_ns,
                table.finished_ns,
                table.arrived_ns,
                table.consumed_ns,
                batches.wait_ns,
                batches.in_queue_ns,
                batches.head_of_line_ns,
                batches.build_ns,
            )
        ),
    )
    for number, epoch, loader, worker, drawn, started, finished, arrived, consumed, *derived in zip(
        *columns, strict=True
    ):
        wait, in_queue, head_of_line, build = derived
        yield pb.Batch(
            number=number,
            epoch=epoch,
            loader=loader,
            worker=worker,
            drawn_us=drawn,
            started_us=started,
            finished_us=finished,
            arrived_us=arrived,
            consumed_us=consumed,
            wait_us=wait,
            in_queue_us=in_queue,
            head_of_line_us=head_of_line,
            build_us=build,
        )


def _times(column: Int64Array) -> list[float | None]:
    """None: unknown."""
    return [None if time == UNKNOWN_NS else us(time) for time in column.tolist()]


def _queue(depth: QueueDepth) -> pb.QueueDepth:
    return pb.QueueDepth(
        loader=depth.loader,
        time_us=map(us, depth.time_ns.tolist()),
        ready=depth.ready.tolist(),
        in_flight=depth.in_flight.tolist(),
    )


def _slow_sample(window: Window, sample: SlowSample) -> pb.SlowSample:
    return pb.SlowSample(
        index=sample.index,
        loader=sample.loader,
        start_us=us(sample.start_ns),
        duration_us=us(sample.duration_ns),
        worker=sample.worker,
        batch=sample.batch,
        epoch=sample.epoch,
        stage=sample.stage,
        stage_us=us(sample.stage_ns),
        files=sample.files,
        begun_before=sample.start_ns < window.start_ns,
        first=sample.first,
        storage_share=sample.storage_share,
        collected_us=us(sample.collected_ns),
        reading_us=us(sample.reading_ns),
        span_us=us(sample.span_ns),
    )


def cost_report(costs: WorkerCosts) -> pb.WorkerCosts:
    return pb.WorkerCosts(
        batches=costs.batches,
        wall_us=us(costs.wall_ns),
        build_us=us(costs.build_ns),
        cpu_share=costs.cpu,
        run_delay_share=costs.run_delay,
        blocked_share=costs.blocked,
        process_cpu_share=costs.process_cpu,
        threads=costs.threads,
        read_bytes=costs.read_bytes,
        read_chars=costs.read_chars,
        cached_share=costs.cached,
        voluntary_switches=costs.voluntary,
        involuntary_switches=costs.involuntary,
        major_faults=costs.major_faults,
        system_share=costs.system,
        minor_faults=costs.minor_faults,
    )


def load_report(series: SeriesSummary) -> pb.CounterSummary:
    term = counter_term(series.counter)
    return pb.CounterSummary(
        counter=series.counter,
        series=series.series,
        samples=series.samples,
        mean=series.mean,
        low=series.low,
        high=series.high,
        title=term.label,
        unit=term.unit,
    )


def load_row_report(row: LoadRow) -> pb.LoadRow:
    return pb.LoadRow(counter=row.counter, title=row.title, unit=row.unit, mean=row.mean, low=row.low, high=row.high)
