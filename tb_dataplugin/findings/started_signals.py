"""The facts about other DataLoaders whose workers start anew for each pass: whose, at what cost."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.started_again import StartedAgain
from tb_dataplugin.analyses.worker_inits import inits_waited_for
from tb_dataplugin.findings.apart_signals import cost_us
from tb_dataplugin.findings.restart_signals import making_us, outside_wait_us, sampled_iterators
from tb_dataplugin.model.trace import LoaderInfo


@dataclass(frozen=True, slots=True)
class StartedSignals:
    """Of loaders that are alike, `made` of them. `passes`: with new DataLoader workers, in so many `steps`. `wait_us`:
    for these to start, to end, and for a first batch without building it, `init_us` of that in the user's
    ``worker_init_fn``; `making_us`: making the iterators, at most; 0 where that is in `wait_us`. `us`: what can go, at
    most; `certain_us`: the part of it that was seen. `place`: of the user's line, or "".
    """

    loader: LoaderInfo
    made: int
    passes: int
    steps: tuple[int, ...]
    is_certain: bool
    wait_us: float
    making_us: float
    us: float
    certain_us: float
    place: str
    init_us: float = 0.0

    @property
    def is_made_anew(self) -> bool:
        return self.made > 1


def read_started(results: Results) -> tuple[StartedSignals, ...]:
    pipeline = results.trace.info.pipeline
    if pipeline is None:
        return ()
    return tuple(_read(results, each, pipeline.loaders[each.loaders[0]]) for each in results.started_again)


def _read(results: Results, started: StartedAgain, loader: LoaderInfo) -> StartedSignals:
    devices, sampled = results.attribution.devices, sampled_iterators(results)
    device, outside_us = devices[0] if devices else None, outside_wait_us(results)
    wait_us = cost_us(device, (started.waits,))
    making = 0.0 if started.is_whole else making_us(results, outside_us, sampled)
    seen = 0.0 if sampled is None or started.is_whole else sampled.part.low * outside_us
    us = min(wait_us + making, started.excess_ns / 1e3)
    step = results.lines.step if results.lines else None
    row = step.iterators.row if step is not None else None
    return StartedSignals(
        loader=loader,
        made=len(started.loaders),
        passes=started.passes,
        steps=started.steps,
        is_certain=started.is_certain,
        wait_us=wait_us,
        making_us=making,
        us=us,
        certain_us=min(us, wait_us + seen),
        place=row.place.short if row else "",
        init_us=cost_us(device, (started.waits.intersect(inits_waited_for(results.workers)),)),
    )
