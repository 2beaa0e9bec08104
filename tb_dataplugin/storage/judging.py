"""What would help: packing, larger shards, more readers, a cache. Only what every round agrees on is said to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from tb_dataplugin.storage.layouts import ARRAY, DATABASE, FILES, TAR
from tb_dataplugin.storage.probing import READERS, Probed, Series
from tb_dataplugin.units import data_size, plural, ratio, significant

Remedy = Literal["packing", "larger shards", "more readers", "a cache"]

HELPS: Final = 1.3
"""Times as many samples per second, from which something is said to help."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """helps: None where it cannot be told. gain: times as many samples per second."""

    remedy: Remedy
    helps: bool | None
    gain: float | None
    sentence: str


def judge(probed: Probed, free_memory: float | None) -> list[Judgement]:
    """In a fixed order; `free_memory` in bytes."""
    if probed.cold == "no":
        text = "the page cache could not be emptied, so that nothing was read from storage"
        remedies: tuple[Remedy, ...] = ("packing", "larger shards", "more readers", "a cache")
        return [Judgement(remedy, None, None, f"{remedy.capitalize()}: unknown; {text}.") for remedy in remedies]
    return [_packing(probed), _shards(probed), _readers(probed), _cache(probed, free_memory)]


def gain(better: Series, worse: Series) -> tuple[float, bool]:
    """Ratio of the medians, and whether even the worst round of one beats the best of the other."""
    value = better.per_s / worse.per_s
    return value, value >= HELPS and better.rates[0] > worse.rates[-1]


def _packing(probed: Probed) -> Judgement:
    as_they_are = probed.find(FILES)
    forms = [form for name in (TAR, ARRAY, DATABASE) if (form := probed.find(name)) is not None]
    if as_they_are is None or not forms:
        return Judgement("packing", None, None, "Packing: not measured.")
    best = max(forms, key=lambda form: form.per_s)
    value, helps = gain(best, as_they_are)
    text = (
        f"cold, in random order, one reader gets {_rate(best)} from the {best.layout}, {_rate(as_they_are)} from files"
    )
    return Judgement("packing", helps, value, f"Packing {_verb(helps)}: {text}{_times(helps, value)}.")


def _shards(probed: Probed) -> Judgement:
    random, in_order = probed.find(TAR), probed.find(TAR, "sequential")
    if random is None or in_order is None:
        return Judgement("larger shards", None, None, "Larger shards, read in order: not measured.")
    value, helps = gain(in_order, random)
    text = f"the archive gives {_rate(in_order)} in order, {_rate(random)} at random"
    sentence = f"Larger shards, read in order {_verb(helps)}: {text}{_times(helps, value)}."
    return Judgement("larger shards", helps, value, sentence)


def _readers(probed: Probed) -> Judgement:
    one = probed.find(FILES)
    others = [found for number in READERS[1:] if (found := probed.find(FILES, readers=number)) is not None]
    if one is None or not others:
        return Judgement("more readers", None, None, "More readers: not measured.")
    best = max(others, key=lambda series: series.per_s)
    fewest = next(series for series in others if series.per_s * 1.1 >= best.per_s)
    value, helps = gain(fewest, one)
    text = f"{fewest.readers} of them get {_rate(fewest)} from cold files, one gets {_rate(one)}"
    return Judgement("more readers", helps, value, f"More readers {_verb(helps)}: {text}{_times(helps, value)}.")


def _cache(probed: Probed, free_memory: float | None) -> Judgement:
    cold, warm = probed.find(FILES), probed.find(FILES, is_cold=False)
    if cold is None or warm is None:
        return Judgement("a cache", None, None, "A cache in memory: not measured.")
    value, helps = gain(warm, cold)
    text = f"files in the page cache give {_rate(warm)}, cold ones {_rate(cold)}{_times(helps, value)}"
    room = ""
    if helps and free_memory is not None:
        fits = "fits into" if probed.samples.size < free_memory else "does not fit into"
        room = f"; all of it, {data_size(probed.samples.size)}, {fits} the {data_size(free_memory)} that are free"
    return Judgement("a cache", helps, value, f"A cache in memory {_verb(helps)}: {text}{room}.")


def _verb(helps: bool) -> str:
    return "would help" if helps else "would bring little"


def _times(helps: bool, value: float) -> str:
    return f", {ratio(value)} as many" if helps else ""


def _rate(series: Series) -> str:
    return f"{significant(series.per_s)} samples/s"


def need_sentences(probed: Probed, need: float | None) -> Iterator[str]:
    """Whether reading is what limits a loop that needs so many samples per second (F against G).

    By every round: one in which storage was slow may be what the loop meets, too.
    """
    measured = [one for number in READERS if (one := probed.find(FILES, readers=number)) is not None]
    if need is None or not measured:
        return
    always = next((one for one in measured if one.rates[0] >= need), None)
    mostly = next((one for one in measured if one.per_s >= need), None)
    asked = f"The loop needs {significant(need)} samples/s"
    if probed.cold == "no":
        yield f"{asked}; what storage gives is unknown: the page cache could not be emptied."
        return
    if mostly is None:
        best = max(measured, key=lambda series: series.per_s)
        most = f"{_rate(best)} with {plural(best.readers, 'reader')}"
        yield f"{asked}; cold files give at most {most}. Reading (F) is the limit until what helps above is done."
        return
    if mostly is always:
        yield f"{asked}: cold files give that with {_every_round(always)}. Reading (F) need not be the limit."
        return
    median = (
        f"{_rate(mostly)} with {plural(mostly.readers, 'reader')}, but {significant(mostly.rates[0])} in the slowest"
    )
    if always is None:
        end = "no number of readers gives it in every round. Reading (F) may be the limit at times."
    else:
        end = f"{_every_round(always, ' give enough')}. Reading (F) need not be the limit."
    yield f"{asked}: cold files give {median} round; {end}"


def _every_round(series: Series, give: str = "") -> str:
    rounds = f" in every round (at least {significant(series.rates[0])} samples/s)" if len(series.rates) > 1 else ""
    return f"{plural(series.readers, 'reader')}{give}{rounds}"
