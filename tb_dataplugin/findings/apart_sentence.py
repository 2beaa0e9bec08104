"""What has data wait that is not the training loop's: said once, before anything is said of the loop as it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.analyses.remade import settings_of
from tb_dataplugin.findings.apart_signals import (
    WORTH_A_WORD,
    ApartSignals,
    BetweenSignals,
    LoaderStarts,
    OtherLoaderSignals,
    PauseSignals,
    StartSignals,
)
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.units import count, duration, listed, percent

NAMED: Final = 3
"""Steps that are named by their numbers; of more it is said how many."""

MOSTLY_STARTING: Final = 0.5
"""Share of the waits for another DataLoader that its workers take to start and to end, from which that is what they
are."""

TO_START: Final = ", most of it for DataLoader workers to start and end"


def apart_sentence(apart: ApartSignals | None) -> str:
    """With a space behind it; "" where there is nothing."""
    return "" if apart is None else "".join(f"{sentence} " for sentence in _sentences(apart))


def _sentences(apart: ApartSignals) -> Iterator[str]:
    if apart.starts is not None:
        begun = _start(apart.starts, _whose(apart.starts_of))
        yield f"{begun} {_have(apart.starts.epochs + apart.starts.ends, apart.starts.wait_us, apart)}."
    if apart.between is not None:
        yield _between(apart.between, apart)
    for alike in _alike(apart.others):
        yield _others(alike, apart)
    if apart.pauses is not None:
        yield f"{_pause(apart.pauses)} {_have(apart.pauses.count, apart.pauses.wait_us, apart)}."


def _whose(starts: tuple[LoaderStarts, ...]) -> str:
    """Names the DataLoader whose epochs they are, where it is not the training loop's own."""
    return f" of {name_of(starts[0].loader)}" if len(starts) == 1 and not starts[0].is_main else ""


def _start(starts: StartSignals, whose: str) -> str:
    where = _where(starts)
    begun = "An epoch's start" if starts.epochs == 1 else f"The starts of {count(starts.epochs)} epochs"
    ended = "the end of an epoch" if starts.ends == 1 else f"the ends of {count(starts.ends)} epochs"
    if not starts.epochs:
        return f"{ended[0].upper()}{ended[1:]}{whose}{where}"
    return f"{begun} and {ended}{whose}{where}" if starts.ends else f"{begun}{whose}{where}"


def _where(starts: StartSignals) -> str:
    """All steps with some of it; where those are many, the ones that begin an epoch by their numbers."""
    steps, more = starts.in_steps, len(starts.in_steps) - len(starts.steps)
    if 0 < len(steps) <= NAMED:
        return f" ({_steps(steps)})"
    return f" ({_steps(starts.steps)}, and {count(more)} more)" if 0 < len(starts.steps) <= NAMED and more > 0 else ""


def _between(between: BetweenSignals, apart: ApartSignals) -> str:
    where = f" ({_steps(between.steps)})" if 0 < len(between.steps) <= NAMED else ""
    has = f"has {percent(between.time_us / apart.window_us)} of the window ({duration(between.time_us)})"
    line = f", most of it at {between.line}" if between.line else ""
    return f"The time between epochs{where}, from the end of one to the next iter(), {has}{line}."


def _alike(others: tuple[OtherLoaderSignals, ...]) -> list[list[OtherLoaderSignals]]:
    """Loaders of the same settings, as those that the program makes anew each time."""
    groups: dict[tuple[LoaderInfo | None, bool], list[OtherLoaderSignals]] = {}
    for other in others:
        settings = None if other.loader is None else settings_of(other.loader)
        groups.setdefault((settings, other.is_look), []).append(other)
    return list(groups.values())


def _others(alike: list[OtherLoaderSignals], apart: ApartSignals) -> str:
    several, loader = len(alike), alike[0].loader
    name = " that is not annotated" if loader is None else name_of(loader).removeprefix("the DataLoader")
    where = iterated_in(tuple(sorted({step for other in alike for step in other.steps})))
    what = "evaluations?" if several > 1 else "an evaluation?"
    what = "by a new iterator each time" if alike[0].is_look else what
    who = f"Another DataLoader{name}" if several == 1 else f"{count(several)} other DataLoaders{name}"
    have = _have(several, sum(other.wait_us for other in alike), apart)
    to_start = TO_START if mostly_starting(alike) else ""
    return f"{who}, iterated in {where} ({what}), {have}{to_start}{_work(alike, apart)}."


def mostly_starting(alike: list[OtherLoaderSignals]) -> bool:
    """Whether their DataLoader workers take most of these waits to start and to end."""
    starting_us, wait_us = sum(other.starting_us for other in alike), sum(other.wait_us for other in alike)
    return 0 < starting_us >= MOSTLY_STARTING * wait_us


def _work(alike: list[OtherLoaderSignals], apart: ApartSignals) -> str:
    us = sum(other.between_us for other in alike)
    return f"; the work for it takes {duration(us)} more" if us >= WORTH_A_WORD * apart.window_us else ""


def iterated_in(steps: tuple[int, ...]) -> str:
    return _steps(steps) if len(steps) <= NAMED else f"{count(len(steps))} steps"


def _pause(pauses: PauseSignals) -> str:
    where = f" ({_steps(pauses.steps)})" if 0 < len(pauses.steps) <= NAMED else ""
    what = "A pause" if pauses.count == 1 else f"{count(pauses.count)} pauses"
    return f"{what} of the training process for Python's garbage collector{where}"


def _have(several: int, wait_us: float, apart: ApartSignals) -> str:
    verb, part = "have" if several > 1 else "has", percent(wait_us / apart.whole_us)
    return f"{verb} {part} of the data wait ({duration(wait_us)} of {duration(apart.whole_us)})"


def _steps(numbers: tuple[int, ...]) -> str:
    """As words of a sentence: "step 25", "steps 25 and 50"."""
    if len(numbers) == 1:
        return f"step {numbers[0]}"
    return f"steps {listed(numbers)}"
