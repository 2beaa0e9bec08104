"""The facts about iterators that the loop makes anew in its steps and drops early: whose, where, at what cost."""

from __future__ import annotations

from dataclasses import dataclass

from annotate.trace_format import parse_span_name
from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.line_rows import Estimate
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.step_lines import IteratorTime
from tb_dataplugin.findings.apart_signals import cost_us
from tb_dataplugin.findings.line_texts import line_text
from tb_dataplugin.findings.thresholds import FEWEST_SAMPLES
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import EMPTY, Intervals
from tb_dataplugin.model.trace import LoaderInfo


@dataclass(frozen=True, slots=True)
class RestartedLoader:
    """`made`: its iterators in the window; `taken`: batches of each, on average, of `length`, None where not known."""

    loader: LoaderInfo
    made: int
    taken: float
    length: int | None


@dataclass(frozen=True, slots=True)
class RestartSignals:
    """`wait_us`: of the data wait, what an iterator that is kept would not have, at most: all of it with DataLoader
    workers, which would be ahead; without them drawing the first indices, as for a shuffled order. `making_us`: making
    and dropping iterators, at most; `making`: the same of the time outside the data wait, by stack samples, None where
    they are too few. `us`: of the
    window, what can go of both, as the batches have still to be built; `certain_us`: the least of it, by the low end of
    what stack samples say. `share`: `us` of the window. `place`, `text`: of the
    user's line, "" where none was seen.
    """

    loaders: tuple[RestartedLoader, ...]
    wait_us: float
    making_us: float
    making: Estimate | None
    us: float
    certain_us: float
    share: float
    place: str
    text: str

    @property
    def has_workers(self) -> bool:
        return any(each.loader.num_workers for each in self.loaders)


def read_restarts(results: Results) -> RestartSignals | None:
    """None where no loader is restarted in most steps."""
    pipeline, step = results.trace.info.pipeline, results.lines.step if results.lines else None
    if not results.restarts or pipeline is None or results.loader is None:
        return None
    window_us = results.window.duration_ns / 1e3
    loaders = tuple(
        RestartedLoader(pipeline.loaders[each.number], each.made, each.taken, each.length) for each in results.restarts
    )
    wait_us = _wait_us(results, pipeline.loaders)
    sampled = sampled_iterators(results)
    outside_us = outside_wait_us(results)
    made_us = making_us(results, outside_us, sampled)
    most = window_us - max(each.needed_ns for each in results.restarts) / 1e3
    us = max(0.0, min(wait_us + made_us, most))
    row = step.iterators.row if step is not None else None
    return RestartSignals(
        loaders=loaders,
        wait_us=wait_us,
        making_us=made_us,
        making=sampled.part if sampled else None,
        us=us,
        certain_us=min(us, wait_us + (sampled.part.low * outside_us if sampled else 0.0)),
        share=us / window_us if window_us else 0.0,
        place=row.place.short if row else "",
        text=line_text(row) if row else "",
    )


def outside_wait_us(results: Results) -> float:
    """Time of the window outside the data wait."""
    return (results.window.duration_ns - (results.loader.waits.total_ns if results.loader else 0)) / 1e3


def sampled_iterators(results: Results) -> IteratorTime | None:
    """None where samples are too few."""
    step = results.lines.step if results.lines else None
    return step.iterators if step is not None and step.iterators.samples >= FEWEST_SAMPLES else None


def _wait_us(results: Results, loaders: tuple[LoaderInfo, ...]) -> float:
    devices = results.attribution.devices
    drawn = drawing(results.attribution)
    waits = (
        each.waits if loaders[each.number].num_workers else each.waits.intersect(drawn) for each in results.restarts
    )
    return cost_us(devices[0] if devices else None, waits)


def drawing(attribution: Attribution) -> Intervals:
    """Data wait in which indices were drawn."""
    named = ((parse_span_name(name), time) for name, time in attribution.by_stage.items())
    return Intervals.union_of(time for stage, time in named if stage is not None and stage.kind == "sampler")


def making_us(results: Results, outside_us: float, sampled: IteratorTime | None) -> float:
    """At most: the upper end of what stack samples say, and no more than what is neither waiting nor an operator; with
    a device, no more than its other idle time.
    """
    if results.devices:
        causes = results.attribution.devices[0].by_cause_ns.items()
        other, part = sum(time for cause, time in causes if cause != "data_wait") / 1e3, sampled and sampled.idle
    else:
        other, part = outside_us - _operators_us(results), sampled and sampled.part
    return min(other, part.high * outside_us) if part else other


def _operators_us(results: Results) -> float:
    """Of the training thread, outside the data wait."""
    events, window = results.trace.events, results.window
    rows = events.is_category(Category.CPU_OP) & (events.track == results.trace.training_track)
    waits = results.loader.waits if results.loader else EMPTY
    return Intervals.union(events.start_ns[rows], events.end_ns[rows]).clip(window).minus(waits).total_ns / 1e3
