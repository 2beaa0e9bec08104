"""Samples by the line that is to be changed, and how sure a share of them is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from annotate.trace_format import THREAD_STATES
from tb_dataplugin.analyses.code_places import Home, Native, Place
from tb_dataplugin.analyses.line_hits import Floats, Hits

Z_95: Final = 1.96

MOST_CALLEES: Final = 4

_BLOCKED: Final = THREAD_STATES.index("blocked")

Mask = npt.NDArray[np.bool_]
K = TypeVar("K", str, Place, Native)
OF_ONE_FUNCTION: Final = 0.5
"""Part of a line's time in one native function, from which the function is named, and not only its library."""


class Callee(NamedTuple):
    """What a line calls, and its part of the line's time."""

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class LineRow:
    """One line. Shares are of the samples' time in the part; `error` is the longer side of the 95% interval of `share`.

    `waited_share`: of the data wait that the stage caused; `idle_share`: of its time while a device was idle; None
    where there is none. `calls`: what the line mostly calls, and `calls_share` that part of the line's time; `callees`:
    all of them, with theirs, the longest first. `called_from`: the user's line that calls the stage, where only library
    code runs in it. `native`: the compiled code that has most of the line's time, `native_share` of it; its symbol is
    "" where no function of the library has most.
    """

    place: Place
    is_user: bool
    samples: int
    time_ns: int
    share: float
    error: float
    waited_share: float | None
    idle_share: float | None
    calls: str
    calls_share: float
    callees: tuple[Callee, ...] = ()
    called_from: Place | None = None
    native: Native | None = None
    native_share: float = 0.0
    for_others_ns: int = 0
    """Part of `time_ns` that is for another DataLoader than the training loop's."""
    blocked: float | None = None
    """Part of its time in which the thread was blocked; None where the sampler does not know that."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share by samples, with its 95% interval (Wilson's, which holds near 0 and 1 as well)."""

    share: float
    low: float
    high: float
    samples: int


def estimate(weights: Floats, mine: Floats) -> Estimate:
    """The part of `weights` that `mine` has: per sample, at most its weight."""
    whole = float(weights.sum())
    if not whole:
        return Estimate(0.0, 0.0, 1.0, 0)
    share = float(mine.sum()) / whole
    n = whole**2 / float((weights**2).sum())
    middle = (share + Z_95**2 / (2 * n)) / (1 + Z_95**2 / n)
    half = Z_95 / (1 + Z_95**2 / n) * float(np.sqrt(share * (1 - share) / n + Z_95**2 / (4 * n**2)))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half), int((mine > 0).sum()))


def line_rows(
    hits: Hits,
    homes: Sequence[Home | None],
    place: npt.NDArray[np.intp],
    *,
    has_device: bool,
    called_from: Sequence[Place | None] = (),
) -> tuple[LineRow, ...]:
    """`homes`: per distinct stack, None for one that is in no row; `called_from`: of those in library code only;
    `place`: per sample, which of them.
    """
    lines = list(dict.fromkeys((home.place, home.is_user) for home in homes if home))
    numbers = {line: number for number, line in enumerate(lines)}
    line_of = np.array([-1 if home is None else numbers[home.place, home.is_user] for home in homes])[place]
    names = [home.calls if home else "" for home in homes]
    rows = []
    for number, (place_of, is_user) in enumerate(lines):
        mine = line_of == number
        callers = {} if is_user or not called_from else _time_by(called_from, hits, place, mine)
        callees = _time_by(names, hits, place, mine)
        caller = max(callers, key=lambda each: callers[each], default=None)
        row = _row(hits, mine, place_of, is_user, _ranked(callees, hits, mine), caller, has_device)
        rows.append(_with_native(row, _time_by([home.native if home else None for home in homes], hits, place, mine)))
    return tuple(map(_without_strays(rows), sorted(rows, key=lambda row: (-row.time_ns, row.place))))


def is_written(name: str, source: str) -> bool:
    """Whether a line itself calls it by this name."""
    return f"{_last(name)}(" in source.replace(" (", "(")


def _last(name: str) -> str:
    """What is left where lines say ``np.median`` and others ``numpy.lib.median``."""
    return name.rpartition(".")[2]


def _without_strays(rows: Sequence[LineRow]) -> Callable[[LineRow], LineRow]:
    """Takes from a row what another line of its function calls. Samplers read a program that runs on: the line of a
    frame may be the one after that which made the call.
    """
    written: dict[tuple[str, str, str], Place] = {}
    for row in sorted(rows, key=lambda row: row.time_ns):
        for callee in row.callees:
            if is_written(callee.name, row.place.source):
                written[row.place.file, row.place.function, _last(callee.name)] = row.place

    def is_stray(row: LineRow, name: str) -> bool:
        place = row.place
        writer = written.get((place.file, place.function, _last(name)), place)
        return writer != place and bool(place.source) and not is_written(name, place.source)

    def cleaned(row: LineRow) -> LineRow:
        callees = tuple(callee for callee in row.callees if not is_stray(row, callee.name))
        first = callees[0] if callees else Callee("", 0.0)
        return replace(row, callees=callees, calls=first.name, calls_share=first.share)

    return cleaned


def _time_by(what: Sequence[K | None], hits: Hits, place: npt.NDArray[np.intp], mine: Mask) -> dict[K, float]:
    """`what`: per distinct stack; what is None or empty counts for nothing."""
    found: dict[K, float] = {}
    for stack, weight in zip(place[mine].tolist(), hits.weight_ns[mine].tolist(), strict=True):
        each = what[stack]
        if each:
            found[each] = found.get(each, 0.0) + weight
    return found


def _ranked(times: dict[str, float], hits: Hits, mine: Mask) -> tuple[Callee, ...]:
    whole = float(hits.weight_ns[mine].sum())
    ranked = sorted(times.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)
    return tuple(Callee(name, time / whole if whole else 0.0) for name, time in ranked[:MOST_CALLEES])


def _row(
    hits: Hits,
    mine: Mask,
    place: Place,
    is_user: bool,
    callees: tuple[Callee, ...],
    caller: Place | None,
    has_device: bool,
) -> LineRow:
    time, whole = float(hits.weight_ns[mine].sum()), float(hits.weight_ns.sum())
    known = estimate(hits.weight_ns, hits.weight_ns * mine)
    share = time / whole
    return LineRow(
        place=place,
        is_user=is_user,
        samples=int(mine.sum()),
        time_ns=round(time),
        share=share,
        error=max(share - known.low, known.high - share),
        waited_share=_share(hits.waited_ns, mine),
        idle_share=_share(hits.idle_ns, mine) if has_device else None,
        calls=callees[0].name if callees else "",
        calls_share=callees[0].share if callees else 0.0,
        callees=callees,
        called_from=caller,
        for_others_ns=round(float(hits.weight_ns[mine & hits.for_others].sum())),
        blocked=_share(hits.weight_ns * (mine & (hits.state >= 0)), hits.state == _BLOCKED),
    )


def _with_native(row: LineRow, times: dict[Native, float]) -> LineRow:
    """`times`: of the line's samples, by the compiled code that they were in."""
    if not times or not row.time_ns:
        return row
    of_libraries: dict[Native, float] = {}
    for native, time in times.items():
        library = Native(native.library, "")
        of_libraries[library] = of_libraries.get(library, 0.0) + time
    named = max(times, key=lambda native: (times[native], native))
    library = max(of_libraries, key=lambda native: (of_libraries[native], native))
    if times[named] < OF_ONE_FUNCTION * row.time_ns:
        named, times = library, of_libraries
    return replace(row, native=named, native_share=min(1.0, times[named] / row.time_ns))


def _share(weights: Floats, mine: Mask) -> float | None:
    whole = float(weights.sum())
    return float(weights[mine].sum()) / whole if whole else None
