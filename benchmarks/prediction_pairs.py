"""Pairs of what was predicted and what was measured, and tables of them."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.counterfactual_pipelines.kit import Pipeline
from benchmarks.counterfactual_pipelines.pairing import ENOUGH, half_width, ratio
from benchmarks.counterfactual_pipelines.running import BATCH, GROWS, HALVED, PREFETCH, UNORDERED, WORKERS, size_of
from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.pipeline import read_loop
from tb_dataplugin.whatif import Change, predict
from tb_dataplugin.whatif.change import changed, parse_stage
from tb_dataplugin.whatif.loop import Loop

CLASSES = (
    "stage taken away",
    "stage halved",
    "read or decode cached",
    "transfer taken away",
    "fewer workers",
    "more workers",
    "prefetch",
    "in_order off",
    "batch, step as before",
    "batch, step in proportion",
)


@dataclass(frozen=True)
class Pair:
    """Milliseconds per step: predicted with its 90% interval, and measured. `truth`: half of the 95% interval of the
    measured ratio.
    """

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
    truth: float
    amdahl: float | None = None
    """Predicted from shares alone, where a stage or the transfer is changed; see `_amdahl_ms`."""

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1

    @property
    def is_covered(self) -> bool:
        return self.low <= self.measured <= self.high


def pairs_of(pipeline: Pipeline, logdir: Path, result: dict[str, Any]) -> Iterator[Pair]:
    """The changes that were measured, and that can be predicted from the capture in `logdir`."""
    captures = sorted(logdir.glob("*.trace.json.gz"))
    if not captures or not result["pairs"]:
        return
    loop, _ = read_loop(captures[-1])
    unchanged = sorted({before for pairs in result["pairs"].values() for before, _ in pairs})
    spread = statistics.stdev(unchanged) / statistics.fmean(unchanged)
    captured = loop.measured_step_ns / 1e6
    for name, pairs in result["pairs"].items():
        change = change_of(name)
        try:
            step = predict(loop, change).step_us
        except DataPipelineError as error:
            print(f"{pipeline.name}: {error}", file=sys.stderr)
            continue
        base = statistics.median(before for before, _ in pairs)
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
            measured=ratio(pairs) * base,
            truth=half_width(pairs),
            amdahl=None if not change.stages else _amdahl_ms(loop, change) / captured * base,
        )


def _amdahl_ms(loop: Loop, change: Change) -> float:
    """The step by Amdahl's law: the data wait shrinks by the change's share of all of the loader's work."""
    before, after = (_work_ns(one) for one in (loop, changed(loop, change)))
    return (loop.measured_step_ns - loop.measured_wait_ns * (1 - after / before)) / 1e6


def _work_ns(loop: Loop) -> float:
    """Building, sending and receiving a batch."""
    return float(loop.build.total_ns.mean() + loop.way_ns.mean() + loop.receive.total_ns.mean())


def change_of(name: str) -> Change:
    """Of `running`'s --changes, as the model takes it."""
    if name.startswith(WORKERS):
        return Change(workers=int(name.removeprefix(WORKERS)))
    if name.startswith(PREFETCH):
        return Change(prefetch=int(name.removeprefix(PREFETCH)))
    if name == UNORDERED:
        return Change(in_order=False)
    if name.startswith(BATCH):
        return Change(batch=size_of(name))
    return Change(stages=(parse_stage(name if name.endswith(HALVED) else f"{name}=0x"),))


def _kind(name: str, change: Change, workers: int) -> str:
    if change.workers is not None:
        return "more workers" if change.workers > workers else "fewer workers"
    if change.prefetch is not None:
        return "prefetch"
    if change.in_order is not None:
        return "in_order off"
    if change.batch is not None:
        return "batch, step in proportion" if name.endswith(GROWS) else "batch, step as before"
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
    for group in ("tune", "judge", "third", "fourth", "fifth", "sixth", "seventh"):
        chosen = [pair for pair in pairs if pair.group == group]
        if not chosen:
            continue
        pipelines = len({pair.pipeline for pair in chosen})
        spread = 100 * statistics.median(pair.spread for pair in chosen)
        yield f"Group {group}, {pipelines} pipelines; equal runs of the unchanged loop differ by {spread:.1f}%."
        known = sum(pair.truth <= ENOUGH for pair in chosen)
        truth = 100 * statistics.median(pair.truth for pair in chosen)
        yield f"Measured changes are known to {truth:.1f}% (median), {known} of {len(chosen)} to {ENOUGH:.0%} or less."
        yield ""
        yield "| change | pairs | median error | p90 | signed, median | 90% interval holds |"
        yield "|-|-|-|-|-|-|"
        for kind in CLASSES:
            of_kind = [pair for pair in chosen if pair.kind == kind]
            if of_kind:
                yield _summary(kind, of_kind)
        yield _summary("all", chosen)
        yield ""
        yield from _beside_amdahl(chosen)


def _beside_amdahl(pairs: Sequence[Pair]) -> Iterator[str]:
    """How often reality is better than promised by more than equal runs differ, and how often a promise that is more
    than equal runs differ by is at least one and a half times what came.
    """
    promised = [(pair, pair.amdahl) for pair in pairs if pair.amdahl is not None]
    if not promised:
        return
    yield "| stages and transfer | pairs | reality is better | promised 1.5 times what came | median error |"
    yield "|-|-|-|-|-|"
    yield _promises("Amdahl's law", [(pair, step) for pair, step in promised])
    yield _promises("this model", [(pair, pair.predicted) for pair, _ in promised])
    yield ""


def _promises(title: str, steps: Sequence[tuple[Pair, float]]) -> str:
    noise = [pair.spread * pair.unchanged for pair, _ in steps]
    better = sum(step - pair.measured > differs for (pair, step), differs in zip(steps, noise, strict=True))
    over = sum(
        pair.unchanged - step > max(differs, 1.5 * (pair.unchanged - pair.measured))
        for (pair, step), differs in zip(steps, noise, strict=True)
    )
    error = 100 * statistics.median(abs(step / pair.measured - 1) for pair, step in steps)
    count = len(steps)
    return f"| {title} | {count} | {better} ({better / count:.0%}) | {over} ({over / count:.0%}) | {error:.1f}% |"


def _row(pair: Pair) -> str:
    interval = f"{pair.predicted:.1f} ({pair.low:.1f} to {pair.high:.1f})"
    measured = f"{pair.measured:.1f} ± {100 * pair.truth:.0f}%"
    steps = f"{pair.captured:.1f}, {pair.unchanged:.1f} ± {100 * pair.spread:.0f}%, {measured}"
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
