"""The waits at the starts of epochs, by DataLoader, and how far a loop without them gets shorter at most.

Each DataLoader's starts have a bound of their own. But the workers of all of them have batches to build meanwhile:
where a loop takes batches of two, the wait for the one may only move to the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.findings.apart_signals import LoaderStarts, StartSignals
from tb_dataplugin.findings.capacity import held_by_others, judge_cpus
from tb_dataplugin.findings.epoch_length import start_us_per_step
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import duration

EPOCH: Final = "Each epoch"


def of_the_costliest(
    signals: Signals, judge: Callable[[Signals, LoaderStarts], Finding | Abstention | None]
) -> Finding | Abstention | None:
    """Of what is judged of each DataLoader's starts, the finding that saves most; else why there is none."""
    found = [judge(signals, one) for one in (signals.apart.starts_of if signals.apart else ())]
    findings = [each for each in found if isinstance(each, Finding)]
    if findings:
        return max(findings, key=lambda finding: finding.gain_us_per_step or 0.0)
    return next((each for each in found if each is not None), None)


def epoch_of(signals: Signals, one: LoaderStarts) -> str:
    """Whose epochs they are, as a title begins."""
    is_only = one.is_main and len(signals.apart.starts_of if signals.apart else ()) < 2
    return EPOCH if is_only else f"{EPOCH} of {name_of(one.loader)}"


def wait_of(starts: StartSignals) -> str:
    """How long an epoch after the first begins with a wait."""
    return f"{'up to ' if starts.short else ''}{duration(starts.repeated_us / starts.repeated)}"


def waited_text(starts: StartSignals) -> str:
    """A clause."""
    each = "" if starts.repeated == 1 else " on average"
    others = "the other start" if starts.short == 1 else f"{starts.short} other starts"
    short = f" ({others} in the window took less than twice what its batches take in any case)" if starts.short else ""
    return f"{duration(starts.repeated_us / starts.repeated)}{each} until an epoch's first batch{short}"


def needed_us(signals: Signals, starts: StartSignals) -> float:
    """What DataLoader workers need for a step's batches, all of the time: a loop that goes on gets no shorter. Waiting
    for a CPU does not count, since one may be free then.
    """
    delay = (signals.costs.run_delay if signals.costs else None) or 0.0
    return starts.needed_us * (1 - delay) / (signals.step_count or 1)


def most_us(signals: Signals, one: LoaderStarts, waited_us: float) -> float:
    """Of `waited_us` per step, what a loop without these waits saves at most. Its DataLoader workers need their time.
    Where no CPU is free, all else that the program computes needs its time too: only the workers that start are gone.
    """
    step_us, steps = signals.step_us, signals.step_count
    if not step_us or not steps:
        return waited_us
    others = signals.apart.others if signals.apart else ()
    whole_us = step_us + start_us_per_step(signals) + sum(other.wait_us for other in others) / steps
    limits = [waited_us, whole_us - needed_us(signals, one.starts)]
    busy = _own_busy(signals)
    if busy is not None and signals.cpus and judge_cpus(signals).saturated:
        gone = min(1.0, (one.loader.num_workers or 1) / signals.cpus)
        limits.append(whole_us * (1 - busy) + waited_us * gone)
    return max(0.0, min(limits))


def _own_busy(signals: Signals) -> float | None:
    """Share of the CPUs' time that is busy; where other programs have a part of it that is known, without that."""
    others = held_by_others(signals)
    if others is not None:
        return others.own / others.cores
    return signals.load.cpu_busy if signals.load else None
