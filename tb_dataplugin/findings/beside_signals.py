"""A DataLoader that is not annotated and that most steps draw from, beside the loop's own."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.unannotated import drawn_from
from tb_dataplugin.findings.apart_signals import cost_us


@dataclass(frozen=True, slots=True)
class BesideSignals:
    """`wait_us`: of the data wait. `cost_us`: what that costs, as `Signals.wait_cost_us`. `where`: in which steps."""

    wait_us: float
    cost_us: float
    where: str


def read_beside(results: Results) -> BesideSignals | None:
    waits = results.use.beside.minus(results.loop.apart.waits)
    if not len(waits):
        return None
    devices = results.loop.attribution.devices
    cost = cost_us(devices[0] if devices else None, (waits,))
    return BesideSignals(waits.total_ns / 1e3, cost, drawn_from(results))


def drawn_cost(results: Results) -> float:
    """Of the same, what waits for annotated loaders cost that are not the one with DataLoader workers."""
    devices = results.loop.attribution.devices
    waits = results.use.drawn.minus(results.loop.apart.waits)
    return cost_us(devices[0] if devices else None, (waits,)) if len(waits) else 0.0
