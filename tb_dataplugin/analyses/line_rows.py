"""Samples by the line that is to be changed, and how sure a share of them is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.code_places import Home, Place
from tb_dataplugin.analyses.line_hits import Floats, Hits

Z_95: Final = 1.96

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LineRow:
    """One line. Shares are of the samples' time in the part; `error` is half of the 95% interval of `share`.

    `waited_share`: of the data wait that the stage caused; `idle_share`: of its time while a device was idle; None
    where there is none. `calls`: what the line mostly calls, and `calls_share` that part of the line's time.
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
    hits: Hits, homes: Sequence[Home | None], place: npt.NDArray[np.intp], *, has_device: bool
) -> tuple[LineRow, ...]:
    """`homes`: per distinct stack, None for one that is in no row; `place`: per sample, which of them."""
    lines = list(dict.fromkeys((home.place, home.is_user) for home in homes if home))
    numbers = {line: number for number, line in enumerate(lines)}
    line_of = np.array([-1 if home is None else numbers[home.place, home.is_user] for home in homes])[place]
    rows = (
        _row(hits, line_of == number, place_of, is_user, _calls(hits, homes, place, line_of == number), has_device)
        for number, (place_of, is_user) in enumerate(lines)
    )
    return tuple(sorted(rows, key=lambda row: (-row.time_ns, row.place)))


def _calls(hits: Hits, homes: Sequence[Home | None], place: npt.NDArray[np.intp], mine: Mask) -> dict[str, float]:
    """What a line calls, with the time of each."""
    called: dict[str, float] = {}
    for stack, weight in zip(place[mine].tolist(), hits.weight_ns[mine].tolist(), strict=True):
        home = homes[stack]
        if home is not None and home.calls:
            called[home.calls] = called.get(home.calls, 0.0) + weight
    return called


def _row(hits: Hits, mine: Mask, place: Place, is_user: bool, called: dict[str, float], has_device: bool) -> LineRow:
    time, whole = float(hits.weight_ns[mine].sum()), float(hits.weight_ns.sum())
    share = time / whole
    calls = max(called, key=lambda name: (called[name], name), default="")
    effective = whole**2 / float((hits.weight_ns**2).sum())
    return LineRow(
        place=place,
        is_user=is_user,
        samples=int(mine.sum()),
        time_ns=round(time),
        share=share,
        error=Z_95 * float(np.sqrt(share * (1 - share) / effective)),
        waited_share=_share(hits.waited_ns, mine),
        idle_share=_share(hits.idle_ns, mine) if has_device else None,
        calls=calls,
        calls_share=called[calls] / time if calls and time else 0.0,
    )


def _share(weights: Floats, mine: Mask) -> float | None:
    whole = float(weights.sum())
    return float(weights[mine].sum()) / whole if whole else None
