"""Whether the report names what a change really brings. Times are milliseconds per step.

Two gains tie where the 95% interval of their difference, paired by rounds, contains 0; two parts tie in the data wait
by stage where it differs by no more than that interval's half-width. Kendall's tau-b over the parts of each pipeline,
and over all pairs of all pipelines. A pipeline whose gains all tie has no tau.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev
from typing import Any, Final

from benchmarks.counterfactual_pipelines.kit import Pipeline

T_95: Final = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 11: 2.20}
"""Student's t by degrees of freedom."""
DATA_BOUND: Final = frozenset({"read", "cpu", "transfer", "sampler", "wrapper"})
AS_GOOD: Final = 0.9
_MENTIONED: Final = re.compile(r" for (\S+) \(\S+ of the data wait\)")
"""How the verdict names a stage."""


@dataclass(frozen=True)
class Estimate:
    mean: float
    half: float
    """Of the 95% interval."""

    @property
    def is_zero(self) -> bool:
        return abs(self.mean) <= self.half


@dataclass(frozen=True)
class Pairs:
    """Pairs of parts: ordered the same way, the other way, and those that tie in one of the two only."""

    same: int = 0
    other: int = 0
    tied_gain: int = 0
    tied_wait: int = 0

    def __add__(self, more: Pairs) -> Pairs:
        return Pairs(
            self.same + more.same,
            self.other + more.other,
            self.tied_gain + more.tied_gain,
            self.tied_wait + more.tied_wait,
        )

    @property
    def tau_b(self) -> float | None:
        ordered = self.same + self.other
        whole = math.sqrt((ordered + self.tied_gain) * (ordered + self.tied_wait))
        return (self.same - self.other) / whole if whole else None


@dataclass(frozen=True)
class Judged:
    name: str
    group: str
    step_ms: float
    gains: dict[str, Estimate]
    waits: dict[str, float]
    pairs: Pairs
    verdict: str
    """The stage that the verdict names, else what bounds the run."""
    finding: str
    largest: str
    """Of the data wait by stage, all of the transfer together."""
    names_best: bool | None
    """The gain of what the verdict names is within 10% of the best, or ties with it; None: it names no stage."""
    strictly_best: bool | None
    """The same without ties."""
    bounds: dict[str, tuple[float, bool]]
    """By part, the bound of its finding, and whether the gain exceeds it beyond its interval."""

    @property
    def agree(self) -> bool:
        """Verdict, first finding and data wait by stage name the same, or none says it is the data."""
        return self.names_best is None or self.verdict == self.largest == (self.finding or self.verdict)

    @property
    def best(self) -> float:
        return max(gain.mean for gain in self.gains.values())


def estimate(values: Sequence[float]) -> Estimate:
    return Estimate(fmean(values), T_95[len(values) - 1] * stdev(values) / math.sqrt(len(values)))


def place_of(stage: str) -> str:
    """The parts of the transfer are one place."""
    return "transfer" if stage.split("::")[0] == "transfer" else stage


def judge(pipeline: Pipeline, result: dict[str, Any]) -> Judged:
    times, report = result["times_ms"], result["report"]
    saved = {part: [a - b for a, b in zip(times[""], times[part], strict=True)] for part in pipeline.parts}
    gains = {part: estimate(values) for part, values in saved.items()}
    by_place: dict[str, float] = {}
    for stage, wait in report["loader"].get("wait_by_stage_us", {}).items():
        by_place[place_of(stage)] = by_place.get(place_of(stage), 0) + wait / 1e3 / report["steps"]["count"]
    waits = {part: by_place.get(part, 0.0) for part in pipeline.parts}
    named = {stage: wait for stage, wait in by_place.items() if stage != "other"}
    mentioned = _MENTIONED.search(report["verdict"]["sentence"])
    said = mentioned[1] if mentioned else ""
    says_data = report["verdict"]["bound"] in DATA_BOUND or bool(said)
    best = max(gains, key=lambda part: gains[part].mean)
    verdict = place_of(said) if said else f"({report['verdict']['bound']})"
    ties = verdict in gains and estimate([a - b for a, b in zip(saved[best], saved[verdict], strict=True)]).is_zero
    strictly = verdict in gains and gains[verdict].mean >= AS_GOOD * gains[best].mean
    return Judged(
        name=pipeline.name,
        group=pipeline.group,
        step_ms=fmean(times[""]),
        gains=gains,
        waits=waits,
        pairs=_pairs(saved, waits),
        verdict=verdict,
        finding=next((place_of(finding["stage"]) for finding in report["findings"] if finding.get("stage")), ""),
        largest=max(named, key=lambda stage: named[stage], default=""),
        names_best=(strictly or ties) if says_data else None,
        strictly_best=strictly if says_data else None,
        bounds=bounds_of(report, gains),
    )


def _pairs(saved: dict[str, list[float]], waits: dict[str, float]) -> Pairs:
    pairs = Pairs()
    for one, other in combinations(saved, 2):
        more = estimate([a - b for a, b in zip(saved[one], saved[other], strict=True)])
        wait = waits[one] - waits[other]
        tied_wait = abs(wait) <= more.half
        if more.is_zero or tied_wait:
            pairs += Pairs(tied_gain=more.is_zero and not tied_wait, tied_wait=tied_wait and not more.is_zero)
        else:
            pairs += Pairs(same=(wait > 0) == (more.mean > 0), other=(wait > 0) != (more.mean > 0))
    return pairs


def bounds_of(report: dict[str, Any], gains: dict[str, Estimate]) -> dict[str, tuple[float, bool]]:
    """The largest bound that a finding about the part has."""
    bounds: dict[str, tuple[float, bool]] = {}
    for finding in report["findings"]:
        part, bound = place_of(finding.get("stage", "")), finding.get("gain_us_per_step")
        if part in gains and bound is not None and bound / 1e3 >= bounds.get(part, (0.0, False))[0]:
            high = finding.get("gain_high_us_per_step", bound)
            bounds[part] = bound / 1e3, gains[part].mean - gains[part].half > high / 1e3
    return bounds


def markdown(rows: Iterable[Judged]) -> str:
    rows = list(rows)
    lines = [
        "| pipeline | ms per step | gain without it (95% interval); data wait by stage; bound | tau-b | "
        "verdict names | best? | same in all three |",
        "|-|-|-|-|-|-|-|",
        *(_line(row) for row in rows),
        "",
    ]
    for group in ("tune", "judge"):
        lines += _summary(group, [row for row in rows if row.group == group])
    return "\n".join([*lines, *_summary("all", rows)])


def _line(row: Judged) -> str:
    parts = []
    for part, gain in sorted(row.gains.items(), key=lambda item: -item[1].mean):
        bound, exceeded = row.bounds.get(part, (None, False))
        text = f"`{part}` {gain.mean:.1f} ± {gain.half:.1f}; {row.waits[part]:.1f}"
        parts.append(text + ("" if bound is None else f"; {bound:.1f}{' exceeded' if exceeded else ''}"))
    tau, best = row.pairs.tau_b, {None: "–", True: "yes", False: "no"}
    cells = [
        f"{row.name} ({row.group})",
        f"{row.step_ms:.1f}",
        "<br>".join(parts),
        "–" if tau is None else f"{tau:.2f}",
    ]
    both = best[row.names_best] + (" (ties)" if row.names_best and not row.strictly_best else "")
    cells += [f"`{row.verdict}`", both, "yes" if row.agree else f"finding `{row.finding}`, wait `{row.largest}`"]
    return "| " + " | ".join(cells) + " |"


def _summary(group: str, rows: list[Judged]) -> list[str]:
    pairs = sum((row.pairs for row in rows), Pairs())
    taus = [tau for row in rows if (tau := row.pairs.tau_b) is not None]
    named = [row for row in rows if row.names_best is not None]
    bounds = [exceeded for row in rows for _, exceeded in row.bounds.values()]
    if not rows or not taus:
        return []
    return [
        f"- {group}, {len(rows)} pipelines: tau-b {pairs.tau_b or 0:.2f} over all pairs ({pairs.same} same, "
        f"{pairs.other} reversed, {pairs.tied_gain} tie in gain only, {pairs.tied_wait} in data wait only), "
        f"{fmean(taus):.2f} on average; named within 10% of the best gain "
        f"{sum(bool(row.names_best) for row in named)} of {len(named)} "
        f"({sum(bool(row.strictly_best) for row in named)} without ties); "
        f"bounds exceeded {sum(bounds)} of {len(bounds)}; "
        f"verdict, first finding and data wait agree {sum(row.agree for row in rows)} of {len(rows)}"
    ]
