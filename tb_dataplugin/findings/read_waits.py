"""From the data wait by stage to signals: what each costs the loop, in the steady state where that is estimated."""

from __future__ import annotations

from collections import Counter

from annotate.trace_format import parse_span_name
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stage_weight import WORTH_A_WORD
from tb_dataplugin.analyses.throughput import BUILDING
from tb_dataplugin.analyses.wait_parts import OTHER_LOADER
from tb_dataplugin.findings.stage_signals import StageWait


def read_waits(results: Results, cost_us: float | None, hidden_us: float) -> tuple[StageWait, ...] | None:
    """`cost_us`: of the data wait for the annotated DataLoader, in the window. `hidden_us`: how much more it is in
    the steady state.

    A queue that fills makes all waits look too long, whatever they are for. One that empties hides only that batches
    are built too slowly: the extra has no part that is a price of ``next()``, whatever the few waits of the window are.
    """
    attribution = results.loop.attribution
    waits = attribution.wait_by_stage_ns
    if waits is None:
        return None
    whole, costs = sum(waits.values()), attribution.devices[0].by_stage_ns if attribution.devices else waits
    left = max(0.0, 1 + hidden_us / cost_us) if cost_us and hidden_us < 0 else 1.0
    hidden = _by_building(results, max(0.0, hidden_us))
    of_profiler = _of_profiler(results)
    found = (
        StageWait(
            name=name,
            stage=parse_span_name(name),
            data_wait_us=waits.get(name, 0) / 1e3,
            cost_us=costs.get(name, 0) / 1e3 * (1.0 if name == OTHER_LOADER else left) + hidden.get(name, 0.0),
            share=waits.get(name, 0) / whole if whole else 0.0,
            profiler_us=waits.get(name, 0) / 1e3 * of_profiler.get(name, 0.0),
        )
        for name in waits.keys() | hidden.keys()
    )
    return tuple(sorted(found, key=lambda wait: (-wait.data_wait_us, wait.name)))


def _of_profiler(results: Results) -> dict[str, float]:
    """Stage -> share of its time, wherever it is called. Without those where it is too little to matter."""
    whole: Counter[str] = Counter()
    added: dict[str, float] = {}
    for row in results.loop.stages:
        whole[row.stage.name] += row.self_ns
        if row.path in results.stage_weights:
            share = results.stage_weights[row.path].share
            added[row.stage.name] = added.get(row.stage.name, 0.0) + share * row.self_ns
    return {name: of / whole[name] for name, of in added.items() if whole[name] and of >= WORTH_A_WORD * whole[name]}


def _by_building(results: Results, hidden_us: float) -> dict[str, float]:
    """Each stage has as much of it as of the time in which batches are built."""
    times: dict[str, int] = {}
    for row in results.loop.stages if hidden_us else ():
        if row.stage.kind in BUILDING:
            times[row.stage.name] = times.get(row.stage.name, 0) + row.self_ns
    whole = sum(times.values())
    return {name: hidden_us * time / whole for name, time in times.items()} if whole else {}
