"""The facts about iterators that a loop makes in some steps for a look at a few batches: whose, where, at what cost."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.findings.apart_signals import cost_us
from tb_dataplugin.findings.restart_signals import RestartedLoader, drawing, sampled_iterators
from tb_dataplugin.model.trace import LoaderInfo


@dataclass(frozen=True, slots=True)
class LookSignals:
    """`steps`: numbers of those that have a look. `wait_us`: for its batches, which an iterator that is kept would have
    ready; without DataLoader workers drawing the first indices. `excess_us`: what these steps take longer than the
    fastest of the others. `us`: what can go, at most. `place`: of the user's line, "" where none was seen.
    """

    loaders: tuple[RestartedLoader, ...]
    steps: tuple[int, ...]
    wait_us: float
    excess_us: float
    us: float
    place: str

    @property
    def has_workers(self) -> bool:
        return any(each.loader.num_workers for each in self.loaders)

    @property
    def certain_us(self) -> float:
        return min(self.us, self.wait_us)


def read_looks(results: Results) -> LookSignals | None:
    pipeline, looks = results.trace.info.pipeline, results.looks
    if looks is None or pipeline is None or results.loader is None:
        return None
    excess_us, wait_us = looks.excess_ns / 1e3, _wait_us(results, pipeline.loaders)
    loaders = tuple(
        RestartedLoader(pipeline.loaders[each.number], each.made, each.taken, each.length) for each in looks.loaders
    )
    step, sampled = results.lines.step if results.lines else None, sampled_iterators(results)
    most = excess_us
    if sampled is not None and not any(each.loader.num_workers for each in loaders):  # nothing else runs meanwhile
        outside_us = (results.window.duration_ns - results.loader.waits.total_ns) / 1e3
        most = min(excess_us, wait_us + sampled.part.high * outside_us)
    row = step.iterators.row if step is not None else None
    return LookSignals(loaders, looks.steps, wait_us, excess_us, most, row.place.short if row else "")


def _wait_us(results: Results, loaders: tuple[LoaderInfo, ...]) -> float:
    devices, drawn = results.attribution.devices, drawing(results.attribution)
    looks = results.looks.loaders if results.looks else ()
    waits = (each.waits if loaders[each.number].num_workers else each.waits.intersect(drawn) for each in looks)
    return cost_us(devices[0] if devices else None, waits)
