"""Pairs of what was predicted and what was measured, and tables of them."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.counterfactual_pipelines.kit import Pipeline
from benchmarks.counterfactual_pipelines.running import HALVED, PREFETCH, UNORDERED, WORKERS
from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.pipeline import read_loop
from tb_dataplugin.whatif import Change, predict
from tb_dataplugin.whatif.change import parse_stage

CLASSES = (
    "stage taken away",
    "stage halved",
    "read or decode cached",
    "transfer taken away",
    "fewer workers",
    "more workers",
    "prefetch",
    "in_order off",
)


@dataclass(frozen=True)
class Pair:
    """Milliseconds per step: predicted with its 90% interval, and measured (median of the rounds)."""

    pipeline: str
    group: str
    change: str
    kind: str
    captured: float
    unchanged: float
    spread: float
    predicted: float
    low: float
    high: float
    measured: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1

    @property
    def is_covered(self) -> bool:
        return self.low <= self.measured <= self.high


def pairs_of(pipeline: Pipeline, logdir: Path, result: dict[str, Any]) -> Iterator[Pair]:
    """The changes that were measured, and that can be predicted from the capture in `logdir`."""
    captures = sorted(logdir.glob("*.trace.json.gz"))
    if not captures or not result["rounds"]:
        return
    loop, _ = read_loop(captures[-1])
    unchanged = [times[0] for times_of in result["rounds"] for times in times_of.values()]
    spread = statistics.stdev(unchanged) / statistics.fmean(unchanged)
    captured = loop.measured_step_ns / 1e6
    for name in result["rounds"][0]:
        change = change_of(name)
        try:
            step = predict(loop, change).step_us
        except DataPipelineError as error:
            print(f"{pipeline.name}: {error}", file=sys.stderr)
            continue
        rounds = [times_of[name] for times_of in result["rounds"]]
        ratio = statistics.median(after / before for before, after in rounds)
        base = statistics.median(before for before, _ in rounds)
        yield Pair(
            pipeline=pipeline.name,
            group=pipeline.group,
            change=name,
            kind=_kind(name, change, loop.settings.workers),
            captured=captured,
            unchanged=base,
            spread=spread,
            predicted=step.value / 1e3 / captured * base,
            low=step.low / 1e3 / captured * base,
            high=step.high / 1e3 / captured * base,
            measured=ratio * base,
        )


def change_of(name: str) -> Change:
    """Of `running`'s --changes, as the model takes it."""
    if name.startswith(WORKERS):
        return Change(workers=int(name.removeprefix(WORKERS)))
    if name.startswith(PREFETCH):
        return Change(prefetch=int(name.removeprefix(PREFETCH)))
    if name == UNORDERED:
        return Change(in_order=False)
    return Change(stages=(parse_stage(name if name.endswith(HALVED) else f"{name}=0x"),))


def _kind(name: str, change: Change, workers: int) -> str:
    if change.workers is not None:
        return "more workers" if change.workers > workers else "fewer workers"
    if change.prefetch is not None:
        return "prefetch"
    if change.in_order is not None:
        return "in_order off"
    if name == "transfer":
        return "transfer taken away"
    if name.startswith(("read::", "decode::")):
        return "read or decode cached"
    return "stage halved" if name.endswith(HALVED) else "stage taken away"


def markdown(pairs: Sequence[Pair], each: bool) -> Iterator[str]:
    if each:
        yield "| pipeline | change | captured, unchanged, changed (ms) | predicted (90% interval) | error | within |"
        yield "|-|-|-|-|-|-|"
        yield from map(_row, pairs)
        yield ""
    for group in ("tune", "judge"):
        chosen = [pair for pair in pairs if pair.group == group]
        if not chosen:
            continue
        pipelines = len({pair.pipeline for pair in chosen})
        spread = 100 * statistics.median(pair.spread for pair in chosen)
        yield f"Group {group}, {pipelines} pipelines; equal runs of the unchanged loop differ by {spread:.1f}%."
        yield ""
        yield "| change | pairs | median error | p90 | signed, median | 90% interval holds |"
        yield "|-|-|-|-|-|-|"
        for kind in CLASSES:
            of_kind = [pair for pair in chosen if pair.kind == kind]
            if of_kind:
                yield _summary(kind, of_kind)
        yield _summary("all", chosen)
        yield ""


def _row(pair: Pair) -> str:
    interval = f"{pair.predicted:.1f} ({pair.low:.1f} to {pair.high:.1f})"
    steps = f"{pair.captured:.1f}, {pair.unchanged:.1f} ± {100 * pair.spread:.0f}%, {pair.measured:.1f}"
    yes = "yes" if pair.is_covered else "no"
    return f"| {pair.pipeline} | `{pair.change}` | {steps} | {interval} | {100 * pair.error:+.0f}% | {yes} |"


def _summary(title: str, pairs: Sequence[Pair]) -> str:
    errors = sorted(abs(pair.error) for pair in pairs)
    p90 = errors[min(len(errors) - 1, round(0.9 * len(errors)))]
    covered = sum(pair.is_covered for pair in pairs)
    signed = statistics.median(pair.error for pair in pairs)
    share = f"{covered} ({100 * covered / len(pairs):.0f}%)"
    return (
        f"| {title} | {len(pairs)} | {100 * statistics.median(errors):.1f}% | {100 * p90:.0f}% | {100 * signed:+.0f}% "
        f"| {share} |"
    )
