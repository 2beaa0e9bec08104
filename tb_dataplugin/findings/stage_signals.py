"""Signals about one stage: the data wait that it caused, its calls, and what it took on CPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from annotate.trace_format import Stage, StageKind
from tb_dataplugin.analyses.begun_before import BegunBefore
from tb_dataplugin.analyses.inputs import Inputs
from tb_dataplugin.analyses.occupancy import StageLimit
from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.findings.line_signals import HotLine


@dataclass(frozen=True, slots=True)
class StageWait:
    """Data wait that one stage caused, or that no stage caused ("starved", "transfer", "other", ...)."""

    name: str
    """``"decode::PIL.Image"``, ``"starved"``."""
    stage: Stage | None
    """None where it is not a stage."""
    data_wait_us: float
    """Its part of the data wait."""
    cost_us: float
    """Its part of `Signals.wait_cost_us`."""
    share: float
    """`data_wait_us` as a share of the data wait."""
    profiler_us: float = 0.0
    """Part of `data_wait_us` in which operators and spans were recorded; 0 where that is too little to matter."""

    @property
    def kind(self) -> StageKind | None:
        return self.stage.kind if self.stage else None


@dataclass(frozen=True, slots=True)
class CpuUse:
    """How the self time of a stage divides; estimated, but for `cpu_us`."""

    cpu_us: float
    """Running."""
    run_delay_us: float
    """Waiting for a CPU; 0 where that is not known."""
    blocked_us: float
    """Waiting (`words.BLOCKED_BY`); 0 where that is not known."""
    limited_by: StageLimit | None
    """What takes two thirds of it; None when mixed or unknown."""


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Calls that take many times as long as common ones, with their self time and the data wait that they caused."""

    calls: int
    self_us: float
    data_wait_us: float


@dataclass(frozen=True, slots=True)
class StageCalls:
    """All calls of one stage under one chain of parents that start in the window."""

    path: Path
    """The enclosing stages, outermost first, ending with its own."""
    count: int
    """Calls."""
    total_us: float
    """Their duration, with nested stages."""
    self_us: float
    """Their duration, without nested stages."""
    p50_us: float
    """Median duration of a call."""
    max_us: float
    """Longest duration of a call."""
    data_wait_us: float | None
    """Data wait that they caused; None when not known."""
    bytes: float | None
    """Size of all their results; None when not recorded."""
    place: float | None
    """Mean place among the calls right inside the enclosing stage, by their start; None at the top."""
    cpu_use: CpuUse | None
    """None when their CPU time was not recorded."""
    collected_us: float = 0.0
    """Part of `total_us` in full collections of Python's garbage, which fall on any call by chance; in DataLoader
    workers at least."""
    longest_us: float | None = None
    """At least so long is the longest call without these; None where that is not known call by call."""
    collecting: float = 0.0
    """Of the self time of its stage in DataLoader workers, in Python's garbage collector at least."""
    per_sample: float = 1.0
    """Mean calls in the samples that have any."""
    long_wait_us: float | None = None
    """Of `data_wait_us`, what calls caused that are at least half as long as the longest."""
    long_first: float = 1.0
    """Of the time of such calls, what may be the first of the stage in their process."""
    has_index: bool = True
    """False for items of an iterable dataset, which has no indices."""
    sizes: Mapping[int, int] = field(default_factory=dict, compare=False)
    """Of the results that were measured, by the sample that they are for."""
    inputs: Inputs = field(default=Inputs(), compare=False)
    """Of its calls in the whole capture; as good as none where it does not work on a value."""
    in_slowest_us: float = 0.0
    """Part of `self_us` in the DataLoader worker that needs most for a batch; 0 where they are alike."""
    in_thread_us: float = 0.0
    """Part of `self_us` in the training thread, which builds the batches of a DataLoader without workers itself."""
    thread_wait_us: float = 0.0
    """Of `data_wait_us`, what calls in the training thread caused."""
    profiler_share: float = 0.0
    """Of `self_us`, what recording operators and spans took, at least, so that the rest is a bound; 0 where it is too
    little to matter."""
    operators: int = 0
    spans: int = 0
    """What was recorded then, where that has a considerable part of it."""
    unknown: int = 0
    """Operators that may have taken most of it: nothing is taken off for them."""
    is_unprobed: bool = False
    """Torch's profiler recorded operators in them, and what one costs was not measured."""
    long_line: HotLine | None = None
    """Of the calls at least half as long as the longest; None where too few stacks were sampled in them, or where all
    calls are about as long."""
    before: BegunBefore | None = None
    """Calls that began before the window: of the other numbers only `data_wait_us` has them. None where that is little.
    """
    exceptions: Exceptions | None = None
    """Of a decoder, where it has any; None in a row without them (`typical`)."""
    of_calls: float = 1.0
    """Part of its calls' own time that the row is of (`unblocked`, `typical`)."""
    of_typical: float = 1.0
    """The same for `typical` alone."""

    @property
    def stage(self) -> Stage:
        return self.path[-1]

    @property
    def in_workers_us(self) -> float:
        """Part of `self_us` in DataLoader workers, of a loop that has some."""
        return max(0.0, self.self_us - self.in_thread_us)

    @property
    def mostly_waits(self) -> bool:
        """For something else than a CPU."""
        return self.cpu_use is not None and self.cpu_use.limited_by == "blocked"

    def unblocked(self) -> StageCalls:
        """The row without the time in which its calls were blocked, as far as that is known."""
        use = self.cpu_use
        if use is None or not use.blocked_us or not self.self_us:
            return self
        left = max(0.0, 1 - use.blocked_us / self.self_us)
        return self._scaled(left, left, replace(use, blocked_us=0.0))

    def typical(self) -> StageCalls:
        """The row without the time of its exceptional calls."""
        rare = self.exceptions
        if rare is None or not self.self_us:
            return self
        left = max(0.0, 1 - rare.self_us / self.self_us)
        waited = max(0.0, 1 - rare.data_wait_us / self.data_wait_us) if self.data_wait_us else left
        use = self.cpu_use
        scaled = use and replace(
            use, cpu_us=left * use.cpu_us, run_delay_us=left * use.run_delay_us, blocked_us=left * use.blocked_us
        )
        return replace(self._scaled(left, waited, scaled), exceptions=None, of_typical=left)

    def _scaled(self, left: float, waited: float, cpu_use: CpuUse | None) -> StageCalls:
        """With a part of its calls' own time, and a part of the data wait that they caused."""
        return replace(
            self,
            self_us=left * self.self_us,
            data_wait_us=None if self.data_wait_us is None else waited * self.data_wait_us,
            in_slowest_us=left * self.in_slowest_us,
            in_thread_us=left * self.in_thread_us,
            thread_wait_us=waited * self.thread_wait_us,
            cpu_use=cpu_use,
            of_calls=left * self.of_calls,
        )


def batch_bytes(stages: Iterable[StageCalls]) -> float | None:
    """What a batch holds, by what collate functions returned; None where that is not known."""
    calls = next((calls for calls in stages if calls.stage.kind == "collate" and calls.bytes), None)
    return None if calls is None or calls.bytes is None else calls.bytes / calls.count
