"""Captures with planted trouble, for the tests of the rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.run import run_analyses
from tb_dataplugin.analyses.steps import find_window, select_steps
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.findings.read_signals import read_signals
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.options import DEFAULT_OPTIONS, AnalysisOptions, StepRange
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import Capture, Finding
from tests.trace_builder import TraceBuilder

PINNED = "Memcpy HtoD (Pinned -> Device)"
STEP = 10_000.0  # microseconds


def capture_of(builder: TraceBuilder, steps: StepRange | None = None) -> Capture:
    return analyse(builder.trace(), AnalysisOptions(steps=steps)).capture


def results_of(builder: TraceBuilder, steps: StepRange | None = None) -> Results:
    trace = builder.trace()
    window = find_window(trace)
    assert isinstance(window, Window)
    if steps is None:
        return run_analyses(trace, window, DEFAULT_OPTIONS)
    found = select_steps(trace, steps)
    assert not isinstance(found, Unavailable)
    selection, window = found
    return run_analyses(trace, window, AnalysisOptions(steps=steps), selection)


def signals_of(builder: TraceBuilder) -> Signals:
    return read_signals(results_of(builder))


def finding_of(builder: TraceBuilder, rule: str) -> Finding | None:
    return next((finding for finding in capture_of(builder).findings if finding.rule == rule), None)


def finding_in(builder: TraceBuilder, rule: str) -> Finding:
    finding = finding_of(builder, rule)
    assert finding is not None, [other.rule for other in capture_of(builder).findings]
    return finding


def abstentions(builder: TraceBuilder) -> dict[str, str]:
    return {check.rule: check.reason for check in capture_of(builder).abstained}


def evidence_of(finding: Finding) -> list[str]:
    return [fact.text for fact in finding.evidence]


def input_bound(
    *,
    workers: int = 2,
    cores: int = 8,
    steps: int = 4,
    busy: float = 1.0,
    run_delay: float | None = 0.0,
    threads: float = 1.0,
    stages: Mapping[str, tuple[float, ...]] | None = None,
    loader: dict[str, Any] | None = None,
    costs: Mapping[str, float] | None = None,
) -> TraceBuilder:
    """Steps of 10 ms that wait 8 ms for a batch that one worker makes for `busy` of all the time, computing only.

    `stages` are shares of the batch: (start, duration), and (.., CPU share), (.., bytes).
    """
    settings = {"num_workers": workers, "batch_size": 2, **(loader or {})}
    builder = TraceBuilder().annotated(loaders=[settings], host={"cores": cores})
    for worker in range(workers):
        builder.worker(worker)
    wall = workers * STEP * busy
    for number in range(steps + workers):
        end = (number - workers + 1) * STEP + 0.8 * STEP
        ran = 1.0 - (run_delay or 0.0)
        shares = stages or {"sample::Pets": (0.0, 1.0, ran), "transform::Slow": (0.0, 1.0, ran)}
        spans = {
            name: (end - wall + start * wall, length * wall, *_with_cpu(more, wall))
            for name, (start, length, *more) in shares.items()
        }
        spent = {} if run_delay is None else {"process_cpu_us": threads * wall, "run_delay_us": run_delay * wall}
        consumed = end if 0 <= end < steps * STEP else None
        drawn = end - workers * STEP if busy == 1.0 else end - wall
        builder.batch(number, number % workers, drawn, end - wall, end, consumed, spans, **spent, **(costs or {}))
    for number in range(steps):
        builder.step(STEP * number, STEP).wait(STEP * number, 0.8 * STEP, "wait::DataLoader")
        builder.kernel(STEP * (number + 0.8), 0.2 * STEP)
    return builder


def _with_cpu(more: list[float], wall: float) -> tuple[float, ...]:
    return (round(more[0] * wall, 3), *more[1:]) if more else ()


def held_up(**loader: Any) -> TraceBuilder:
    """Worker 1 has its batch ready at 100 and gets its next index at 600, when the batch of worker 0 has come."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1, **loader}]).worker(0).worker(1)
    builder.step(0, 1000).wait(0, 600, "wait::DataLoader").wait(700, 10, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 600, 599).batch(1, 1, 0, 0, 100, 705)
    return builder.batch(2, 1, 600, 600, 900, None)


def copying(name: str, blocking: bool, **loader: Any) -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, **loader}]).step(0, 1000).wait(0, 10)
    builder.call("cudaMemcpyAsync", 100, 200 if blocking else 10, 7)
    return builder.memcpy(150, 100, name=name, correlation=7, bytes=1000).kernel(300, 700)


CHAIN = {
    "sample::Pets": (0.0, 1.0, 1.0),
    "decode::PIL.Image": (0.0, 0.3, 0.3, 1_200_000),
    "transform::Blur": (0.3, 0.5, 0.5, 1_200_000),
    "transform::RandomCrop": (0.8, 0.1, 0.1, 200_000),
    "transform::ToFloat": (0.9, 0.1, 0.1, 800_000),
}


def handed_over(transfer: float, collate: float = 0.0, size: int = 4 * 2**20) -> TraceBuilder:
    """One batch of 5 ms whose float conversion quadruples it, then on its way for `transfer` us."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 20_000).wait(0, 5000 + transfer, "wait::DataLoader")
    stages = {
        "sample::Pets": (0.0, 5000 - collate, 100.0),
        "transform::Crop": (0.0, 1000.0, 100.0, 100),
        "transform::ToFloat": (1000.0, 1000.0, 100.0, 400),
        "collate::default_collate": (5000 - collate, collate, 100.0, size),
    }
    return builder.batch(0, 0, 0, 0, 5000, 4999 + transfer, stages)


def reading(size: int | None) -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 1000).wait(0, 900, "wait::DataLoader")
    read = (0.0, 800.0, 10.0) if size is None else (0.0, 800.0, 10.0, size)
    return builder.batch(0, 0, 0, 0, 899, 899, {"sample::Pets": (0.0, 890.0, 20.0), "read::file": read})


def launching(wait: float = 0.0) -> TraceBuilder:
    builder = TraceBuilder().step(0, 1000).wait(0, wait + 1)
    for number in range(10):
        builder.operator(100 * number + 10, 80).call("cudaLaunchKernel", 100 * number + 80, 5, number)
        builder.kernel(100 * number + 85, 10, correlation=number)
    return builder
