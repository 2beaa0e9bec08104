"""Steps wait for another DataLoader than the loop's own, as an evaluation does, for a good part of the window.

How often that comes in the long run a window does not show: a gain is said where it comes more than once, as often as
there, and only of what more DataLoader workers for it save.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.analyses.line_trees import FOR_ANOTHER_LOADER
from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.analyses.remade import settings_of
from tb_dataplugin.findings.apart_sentence import TO_START, iterated_in, mostly_starting
from tb_dataplugin.findings.apart_signals import OtherLoaderSignals
from tb_dataplugin.findings.dividing import first_workers
from tb_dataplugin.findings.elsewhere import saved_elsewhere
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.other_workers import MoreForOther, more_for_other
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import Saving
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.step_work import costly_passes
from tb_dataplugin.findings.thresholds import INPUT_BOUND, NO_CPU
from tb_dataplugin.findings.worker_copies import NEW
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.units import duration, percent

STARTING: Final = "Most of it is for its DataLoader workers to start and to end"
LIVE_ON: Final = (
    f"{STARTING}, for each pass over it. Make this DataLoader once, before the loop, with persistent_workers=True: "
    "then only the first pass has that, and its workers live on with the memory that they take. "
)
LIVING_ON: Final = (
    f"{STARTING}. They live on (persistent_workers=True), so later passes over it do not have that unless it is made "
    "anew: make it once, before the loop. "
)
SAID: Final = f"{STARTING}, of which another finding says how they live on. "
ALONE: Final = "Or give it num_workers=0: to build these batches took {built} in all, less than that. "
SELDOM: Final = "Iterating it less often saves that, too, but fewer batches do not."
LESS: Final = "Iterate it less often, or over fewer batches."
OR_LESS: Final = "Or iterate it less often, or over fewer batches."
MADE_OF: Final = f' Flame graph has what its batches were made of, under "{FOR_ANOTHER_LOADER}".'
NO_WORKERS: Final = (
    "The training thread builds its batches itself. With DataLoader workers that live on (persistent_workers=True) the "
    "next batch is built while one is evaluated."
)
CROWDED: Final = (
    "DataLoader workers of the loop wait for a CPU for {part} of their build time. Both DataLoaders share the CPUs: "
    "less work in a stage of either makes these waits shorter, too. No finding's gain counts that. "
)
KEEP: Final = "DataLoader(..., num_workers={}, persistent_workers=True)  # the other DataLoader, once, before the loop"
CODE: Final = "DataLoader(..., num_workers={}, persistent_workers=True)  # the other DataLoader"


@rule(title="Waiting for another DataLoader", about="others")
def check(signals: Signals) -> tuple[Finding, ...]:
    """Loaders of the same settings are one: a program may make its DataLoader anew each time."""
    groups: dict[LoaderInfo, list[OtherLoaderSignals]] = {}
    for other in signals.apart.others if signals.apart else ():
        if other.loader is not None and not other.is_look:
            groups.setdefault(settings_of(other.loader), []).append(other)
    found = (_finding(signals, others) for others in groups.values())
    return tuple(each for each in found if each is not None)


def _finding(signals: Signals, others: list[OtherLoaderSignals]) -> Finding | None:
    wait_us, loader = sum(other.wait_us for other in others), others[0].loader
    part = signals.share(wait_us)
    if loader is None or part is None or part < INPUT_BOUND:
        return None
    steps = tuple(sorted({step for other in others for step in other.steps}))
    who = f"another DataLoader{name_of(loader).removeprefix('the DataLoader')}, iterated in {iterated_in(steps)}"
    saving, starting_us = saved_elsewhere(signals, wait_us), sum(other.starting_us for other in others)
    starts = loader.num_workers != 0 and mostly_starting(others)
    advised = _keep(signals, loader, others) if starts else _less(signals, loader, others)
    gain, why = _gain(signals, advised, len(steps))
    return Finding(
        severity=severity(signals, None, otherwise_us=saving.us - (starting_us if _is_over(others) else 0.0)),
        title=f"{percent(part)} of the window is data wait for {who}{TO_START if starts else ''}",
        advice=f"{advised.advice}{'' if set(saving.why) & set(why) else _of_that(signals, saving)}",
        evidence=(
            share("other_wait", part, "window", f"waits for its batches: {duration(wait_us)}"),
            *((time("other_starts", starting_us, _of_starts(starting_us, wait_us)),) if starts else ()),
            *why,
        ),
        gain_us_per_step=gain,
        may_save_us_per_step=signals.per_step(min(saving.us, advised.about_us)),
        code=advised.code,
        of_loader=loader,
        confidence="likely",
        confidence_reason="How often it is iterated in the long run the window does not show.",
    )


@dataclass(frozen=True, slots=True)
class _Advised:
    """`about_us`: of the wait, what it is about. `more`: where that is more DataLoader workers."""

    advice: str
    code: str
    about_us: float
    more: MoreForOther | None = None


def _gain(signals: Signals, advised: _Advised, steps: int) -> tuple[float | None, tuple[Evidence, ...]]:
    """Per step, and why it is no more. What one step alone has is in the window by chance."""
    if advised.more is None:
        return None, ()
    saving = saved_elsewhere(signals, advised.more.saved_us)
    if steps < 2:
        return None, advised.more.why
    return signals.per_step(saving.us), (*advised.more.why, *saving.why)


def _less(signals: Signals, loader: LoaderInfo, others: list[OtherLoaderSignals]) -> _Advised:
    made_of, wait_us = _made_of(signals, others), sum(other.wait_us for other in others)
    if loader.num_workers != 0:
        more = more_for_other(signals, loader, others)
        first, code = (more.advice, more.code) if more else ("", "")
        return _Advised(f"{first}{_crowded(signals)}{OR_LESS if more else LESS}{made_of}", code, wait_us, more)
    workers, why = first_workers(loader)
    advice = f"{NO_WORKERS}{why}{NEW} {_crowded(signals)}{LESS}{made_of}"
    return _Advised(advice, CODE.format(workers), wait_us)


def _keep(signals: Signals, loader: LoaderInfo, others: list[OtherLoaderSignals]) -> _Advised:
    """The same of a loader whose waits are mostly the start of its workers."""
    wait_us, starting_us = sum(one.wait_us for one in others), sum(one.starting_us for one in others)
    told = costly_passes(signals)
    if told is not None and settings_of(told.loader) == settings_of(loader):
        return _Advised(f"{SAID}{SELDOM}", "", wait_us - starting_us)
    built_us = sum(one.building.built_us for one in others)
    alone = ALONE.format(built=duration(built_us)) if 0 < built_us < starting_us else ""
    if loader.persistent_workers:
        return _Advised(f"{LIVING_ON}{alone}".rstrip(), "", wait_us - (starting_us if _is_over(others) else 0.0))
    return _Advised(f"{LIVE_ON}{alone}{SELDOM}", KEEP.format(loader.num_workers or "..."), wait_us)


def _is_over(others: list[OtherLoaderSignals]) -> bool:
    """Workers that live on start once."""
    return len(others) == 1 and others[0].loader is not None and bool(others[0].loader.persistent_workers)


def _of_starts(starting_us: float, wait_us: float) -> str:
    part = percent(starting_us / wait_us)
    return f"{duration(starting_us)} of that ({part}) for its DataLoader workers to start and end"


def _made_of(signals: Signals, others: list[OtherLoaderSignals]) -> str:
    """The flame graph has all other loaders in one, so nothing is said of one of several."""
    apart = signals.apart
    return MADE_OF if apart and apart.in_flames and len(apart.others) == len(others) else ""


def _of_that(signals: Signals, saving: Saving) -> str:
    """Where the loop's own workers build all the while, a shorter evaluation is waited out in the loop."""
    each = signals.per_step(saving.us)
    if not saving.why or each is None:
        return ""
    least = f"No more than {duration(each)} per step" if duration(each) != duration(0) else "Nothing"
    return f" {least} can be gained by that: {saving.why[0].text}."


def _crowded(signals: Signals) -> str:
    """Loaders that take CPUs from each other: a stranger's faster stage of the loop's saved more in his evaluation."""
    delay = (signals.costs.run_delay if signals.costs and signals.num_workers else None) or 0.0
    return CROWDED.format(part=percent(delay)) if delay >= NO_CPU else ""
