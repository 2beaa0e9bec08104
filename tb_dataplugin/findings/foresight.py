"""What `tb-dataplugin whatif` says of the change that a finding advises: the finding never promises more."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.units import count, duration, listed, percent, plural
from tb_dataplugin.whatif import (
    Change,
    Range,
    Unrecorded,
    best_workers,
    faster_workers,
    fit_loop,
    longer_in_workers_us,
    soonest_us,
    step_range,
    step_slowed,
    threads_wait,
    without_profiler,
)
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.more_workers import none_free
from tb_dataplugin.words import GAIN_BOUND

WORTH_SAYING: Final = 0.01
"""Part of the step below which a gain is none: steps differ by more."""

FAR_LESS: Final = 0.5
"""Of a bound."""

ALMOST: Final = 0.02
"""Part of a bound by which it may differ from what the model expects: they count a step's time a little differently."""


NAMED_STAGES: Final = 3
"""A sentence names so many stages; of more the first, and how many others."""

SHORT_OF_CPUS: Final = "short_of_cpus"
"""Evidence of what a step is likely to take, where a bound takes more CPUs for granted than there are."""


LONGER_IN_WORKERS: Final = "longer_in_workers"
"""Evidence of how long a step may get where DataLoader workers take over code that may take longer there."""


@dataclass(frozen=True, slots=True)
class Promise:
    """`us_per_step`: saved, at most; None: not known, or nothing. `why`: evidence, where the model allows less than the
    capture by itself would. `without_gain`: where it allows nothing, how long a step would be, and is.
    `may_worsen`: a step may as well take longer than now. `likely_us`: what the model expects that it saves, where that
    is far less.
    """

    us_per_step: float | None
    why: tuple[Evidence, ...] = ()
    without_gain: str = ""
    may_worsen: bool = False
    likely_us: float | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    """What a step of the loop would take."""

    us: float
    loop: Loop
    left_out: str
    """Names what of epochs the loop's step does not have, where that of the window has its part of it; else ""."""
    of_chosen: bool = False
    """The loop is that of steps that somebody chose."""

    @property
    def now_us(self) -> float:
        return self.loop.measured_step_ns / 1e3

    @property
    def saved_us(self) -> float:
        return self.now_us - self.us

    def text(self, how: str, change: Change, least_us: float | None = None, within: Range | None = None) -> str:
        """`least_us`: no step gets shorter than that. `within`: the 90% interval."""
        steps = f"{self._who(change)} predicts {how} {duration(self.us)} per step {_words(change, self.loop)}"
        steps = steps if least_us is None else f"{steps}, no less than {duration(least_us)}"
        ends = "" if within is None else f" (90% interval {duration(within.low)} to {duration(within.high)})"
        both = f", both without {self.left_out}" if self.left_out else ""
        return f"{steps}{ends}, and it takes {duration(self.now_us)} now{both}"

    def evidence(
        self, how: str, change: Change, least_us: float | None = None, within: Range | None = None
    ) -> Evidence:
        return time(GAIN_BOUND, self.us, self.text(how, change, least_us, within))

    def _who(self, change: Change) -> str:
        """The command is named where it prints that number: it knows all steps of a capture, and no chosen ones."""
        if self.of_chosen:
            return "the model of these steps alone"
        return f"{'the model of ' if change.single or change.even else ''}`tb-dataplugin whatif`"


@dataclass(frozen=True, slots=True)
class LoopStep:
    """The loop's mean step as the model has it now, `without` a step that is far longer, and what else is left out."""

    us: float
    without: str


class Foresight:
    """The model is fitted when it is first asked: many captures have no finding that it knows of."""

    def __init__(self, results: Results, left_out: str = "") -> None:
        """`left_out`: names what epochs after the first have in the window beside the loop; "" without any."""
        self._results, self._left_out = results, left_out
        self._soonest: dict[Change, Range] = {}
        self._ranges: dict[Change, Range] = {}
        """Of changes that were asked for: several findings ask of one, and each answer is some simulated runs."""

    @cached_property
    def _loop(self) -> Loop | None:
        loop = fit_loop(self._results)
        return None if isinstance(loop, Unavailable) else loop

    @property
    def loop_step(self) -> LoopStep | None:
        """What settings make shorter; None where that is the mean step."""
        if self._loop is None or not self._loop.lone_step:
            return None
        return LoopStep(self._loop.measured_step_ns / 1e3, self._without(self._loop))

    def _without(self, loop: Loop) -> str:
        return loop.left_out if loop.lone_step else self._left_out

    @property
    def predicts(self) -> bool:
        return self._loop is not None

    def without_profiler(self, longer: float) -> Unrecorded | None:
        """`longer`: how many times as long that makes a step's own work. None where nothing can be predicted."""
        return None if self._loop is None else without_profiler(self._loop, longer)

    def best_workers(self, wanted: int, most: int) -> int:
        """How many DataLoader workers are enough, up to `most`; `wanted` where nothing can be predicted."""
        return wanted if self._loop is None else best_workers(self._loop, wanted, most)

    @cached_property
    def faster_workers(self) -> int | None:
        """More DataLoader workers than now, by which a step is expected to get clearly shorter; None where by none."""
        return None if self._loop is None else faster_workers(self._loop)

    def promise(self, change: Change, most_us: float | None, wait_us: float) -> Promise:
        """Of a setting, per step. `most_us`: what the capture by itself would allow. It stands where it lies between
        what the model expects, of all data wait (`wait_us`), and the end of its interval.
        """
        promise = self._promise(change, most_us, wait_us)
        if promise.us_per_step is None:
            return promise
        likely = self._likely(change)
        if likely is not None:
            promise = replace(promise, why=(*promise.why, likely))
        return self._with_longer(promise if likely is not None else self._with_expected(promise, change), change)

    def _with_expected(self, promise: Promise, change: Change) -> Promise:
        """What the model expects: of other DataLoader workers always, with its interval, as the command has both; of
        other settings where the bound is far from it.
        """
        expected, most_us = self._expected(change), promise.us_per_step or 0.0
        if expected is None:
            return promise
        is_far = expected.saved_us <= FAR_LESS * most_us
        if change.workers is not None and none_free(change.workers, expected.loop):
            return promise  # the command has no number then, but how short a step would get at least
        if change.workers is not None:
            both = expected.evidence("about", change, within=self._range_us(change, expected.loop))
        elif is_far:
            both = expected.evidence("about", change, next((fact.value for fact in promise.why), None))
        else:
            return promise
        return replace(promise, why=(both,), likely_us=max(0.0, expected.saved_us) if is_far else promise.likely_us)

    def _with_longer(self, promise: Promise, change: Change) -> Promise:
        """Where workers take over code that may take longer there."""
        longer = None
        if self._loop is not None:
            with suppress(BadRequest):
                longer = longer_in_workers_us(self._loop, change)
        if self._loop is None or longer is None:
            return promise
        now_us = self._loop.measured_step_ns / 1e3
        worse = longer.up_to_us >= now_us
        even = f", so a step may even get longer than the {duration(now_us)} of now" if worse else ""
        step = f"steps of up to {duration(longer.up_to_us)} {_words(change, self._loop)}"
        text = f"{longer.why}; `tb-dataplugin whatif` predicts {step}{even}"
        return replace(promise, why=(*promise.why, time(LONGER_IN_WORKERS, longer.up_to_us, text)), may_worsen=worse)

    def _likely(self, change: Change) -> Evidence | None:
        """Where DataLoader workers take their CPUs from the rest of the step."""
        loop, expected = self._loop, self._expected(change)
        if loop is None or expected is None or not change.workers or not step_slowed(loop, change):
            return None
        us, cpus = duration(expected.us), plural(int(loop.cpus), "CPU")
        # Without workers in the capture, it has nothing of what they would take of caches and memory.
        step = f"about {us}" if loop.settings.workers else f"{us} or more"
        stay = " while other processes stay" if loop.other_cpus else ""
        text = (
            f"likelier is a step of {step}{stay}: {cpus} are not enough for these DataLoader workers and the training "
            "step at once"
        )
        return time(SHORT_OF_CPUS, expected.us, text)

    def _promise(self, change: Change, most_us: float | None, wait_us: float) -> Promise:
        if most_us is None:
            return Promise(None)
        expected = self._expected(change)
        if expected is not None and most_us <= min(expected.saved_us, wait_us):
            return _raised(most_us, min(expected.saved_us, wait_us), expected.evidence("about", change))
        least = self._least(change, most_us)
        if least is None:
            return Promise(most_us)
        if least.saved_us < WORTH_SAYING * least.now_us:
            return Promise(None, without_gain=least.text("no less than", change))
        return Promise(least.saved_us, (least.evidence("no less than", change),))

    def held(self, change: Change, by_itself_us: float) -> Promise:
        """Of less work, per step. `by_itself_us`: what the capture by itself would allow. It stands where it lies
        between what the model expects and the end of its interval; that end counts only where it is known how far the
        step gets its CPUs back.
        """
        change = self._known(change)
        expected = self._expected(change)
        if expected is None:
            return Promise(by_itself_us)
        if by_itself_us <= expected.saved_us:
            return _raised(by_itself_us, expected.saved_us, expected.evidence("about", change))
        least = None if threads_wait(expected.loop) else self._least(change, by_itself_us)
        if least is None:
            return Promise(by_itself_us)
        return Promise(max(0.0, least.saved_us), (least.evidence("no less than", change),))

    def expects_gain(self, change: Change, least: float = WORTH_SAYING) -> bool | None:
        """Of what it predicts, whatever the ends of its interval, `least` of the step; None where it cannot."""
        expected = self._expected(change)
        return None if expected is None else expected.saved_us >= least * expected.now_us

    def _expected(self, change: Change) -> _Step | None:
        if self._loop is None or change == Change():
            return None
        with suppress(BadRequest):
            return self._step(self._soonest_us(change, self._loop).value, self._loop)
        return None

    def _soonest_us(self, change: Change, loop: Loop) -> Range:
        if change not in self._soonest:
            self._soonest[change] = soonest_us(loop, change)
        return self._soonest[change]

    def _range_us(self, change: Change, loop: Loop) -> Range:
        if change not in self._ranges:
            self._ranges[change] = step_range(loop, change)
        return self._ranges[change]

    def _least(self, change: Change, allowed_us: float) -> _Step | None:
        """The shortest that a step gets; None where that allows as much, or nothing is known of it: of the loop, or of
        so many workers.
        """
        if self._loop is None:
            return None
        with suppress(BadRequest):
            if self._step(self._soonest_us(change, self._loop).low, self._loop).saved_us >= allowed_us:
                return None  # the interval reaches further still
            least = self._step(self._range_us(change, self._loop).low, self._loop)
            return None if least.saved_us >= allowed_us else least
        return None

    def _step(self, us: float, loop: Loop) -> _Step:
        chosen = self._results.selection
        return _Step(
            us, loop, self._without(loop), of_chosen=chosen is not None and chosen.whole != self._results.window
        )

    def _known(self, change: Change) -> Change:
        """Without stages that no batch of the loop spent time in, and batches that are not among them."""
        parts = () if self._loop is None else (*self._loop.build.parts, *self._loop.receive.parts)
        built = () if self._loop is None else self._loop.built
        return replace(
            change,
            own=tuple((path, left) for path, left in change.own if path in parts),
            single=tuple((batch, left) for batch, left in change.single if batch in built),
        )


def _raised(by_itself_us: float, expected_us: float, evidence: Evidence) -> Promise:
    """A bound is no less than what the model expects; why, where that is more than a matter of counting."""
    is_more = by_itself_us <= (1 - ALMOST) * expected_us
    return Promise(expected_us, (evidence,) if is_more else ())


def _stages(change: Change, names: list[str], loop: Loop) -> str:
    """Those with the most time first: some by name, the others as a number; all that build batches are no list."""
    if len(names) <= NAMED_STAGES:
        return listed(names)
    building = {path for path in loop.build.parts if path}
    if {path for path, _ in change.own} == building:
        is_without = not min(left for _, left in change.own)
        return "any stage that builds batches" if is_without else "all stages that build batches"
    ns: dict[str, float] = {}
    for timed in (loop.build, loop.receive):
        for path, own_ns in zip(timed.parts, timed.ns.sum(axis=0).tolist(), strict=True):
            if path:
                ns[path[-1].name] = ns.get(path[-1].name, 0.0) + own_ns
    named = sorted(names, key=lambda name: -ns.get(name, 0.0))[: NAMED_STAGES - 1]
    return listed([*named, f"{count(len(names) - len(named))} more stages"])


def _words(change: Change, loop: Loop) -> str:
    """As a sentence goes on; settings as torch calls them."""
    if change.single:
        return "with these samples as fast as the median one"
    if change.even:
        return "with the work evenly divided among the DataLoader workers"
    shorter = {path[-1].name: factor for path, factor in change.own} | dict(change.stages)
    if shorter:
        stages, left = _stages(change, list(shorter), loop), min(shorter.values())
        return f"with {percent(left)} of {stages}" if left else f"without {stages}"
    names = {"num_workers": change.workers, "prefetch_factor": change.prefetch, "in_order": change.in_order}
    return f"with {', '.join(f'{name}={value}' for name, value in names.items() if value is not None)}"
