"""Python's garbage collector takes a good part of the time in which batches are made, or most of the data wait.

Full collections are rare: few in a window do not say what they cost in the long run, so no gain is said of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.findings.collecting import FREEZE
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import LIMIT_WORTH_A_WORD, MUCH_COLLECTING
from tb_dataplugin.units import count, duration, percent, plural

ADVICE: Final = (
    "Give it fewer objects to scan: call {}, keep many small values in arrays instead of lists and dicts of Python "
    "objects, or collect less often with gc.set_threshold."
)
IN_WORKERS: Final = "gc.freeze() in worker_init_fn, where the dataset is built already"
IN_TRAINING: Final = "gc.collect() and gc.freeze() once before the loop, when model and dataset are built"

COPIES: Final = (
    "gc.freeze(), there or in the training process before the workers start, also saves memory where they are forked: "
    "they share the memory of the training process until they write to it, and a collection writes to each object that "
    "it scans."
)

CODE_IN_WORKERS: Final = (
    "import gc\n\ndef worker_init(worker):\n    gc.freeze()\n\nDataLoader(..., worker_init_fn=worker_init)"
)


@rule(title="Garbage collection", about="samples", input_bound=True)
def check(signals: Signals) -> tuple[Finding, ...]:
    """What chance has, and what goes on all the time."""
    return tuple(found for found in (_pauses(signals), _steady(signals)) if found is not None)


def _pauses(signals: Signals) -> Finding | None:
    pauses, whole = (signals.apart.pauses, signals.apart.whole_us) if signals.apart else (None, 0.0)
    if pauses is None:
        return None
    times = "once" if pauses.count == 1 else f"{pauses.count} times"
    together = "" if pauses.count == 1 else " together"
    part, waited = pauses.wait_us / whole, f"{duration(pauses.wait_us)} of {duration(whole)} of data wait"
    return Finding(
        severity=severity(signals, None, otherwise_us=pauses.wait_us),
        title=f"Python's garbage collector stopped the training process {times}, for {duration(pauses.wait_us)}"
        f"{together}",
        advice="It runs whenever enough objects have been made, and happened to run in next(): no change of the loader "
        "shortens it. Call gc.freeze() once model and dataset are built, so that it has fewer objects to scan, or "
        "gc.collect() where it does not matter.",
        evidence=(share("collecting", part, "data wait", f"{waited}, in {plural(pauses.count, 'full collection')}"),),
        code=FREEZE,
        confidence="possible",
        confidence_reason="How often a full collection comes in the long run, and so what it costs per step, so few do "
        "not show.",
    )


def _steady(signals: Signals) -> Finding | None:
    if signals.builds_batches_in_workers and signals.collector_has_wait:
        return None if signals.garbage.full.are_few else _in_the_wait(signals, signals.garbage.wait_us or 0.0)
    found = _in_workers(signals) if signals.builds_batches_in_workers else _in_training_process(signals)
    if found is None or found[0] < MUCH_COLLECTING or signals.mean_step_us is None:
        return None
    part, whole, where = found
    cost = signals.per_step(signals.wait_cost_us or 0.0) or 0.0
    gain = min(cost, part * signals.mean_step_us)
    in_workers = signals.builds_batches_in_workers
    advice = ADVICE.format(IN_WORKERS if in_workers else IN_TRAINING)
    return Finding(
        severity=severity(signals, gain),
        title=f"Python's garbage collector takes {percent(part)} of the {whole} {where}",
        advice=f"{advice} {COPIES}" if in_workers else advice,
        evidence=(_collecting_in_workers(signals, part), *_long(signals)) if in_workers else _collecting(signals, part),
        gain_us_per_step=gain,
        code=CODE_IN_WORKERS if in_workers else FREEZE,
    )


def _collecting_in_workers(signals: Signals, part: float) -> Evidence:
    """With how many batches say so: collections are few and long, so that few batches have them by chance."""
    whole, costs = "build time", signals.costs
    text = f"{percent(part)} of the {whole} in DataLoader workers in the collector"
    if costs is not None:
        every, known = plural(costs.batches, "batch"), count(costs.gc_batches)
        text += f", of all {every}" if costs.gc_batches == costs.batches else f", by {known} of {every} alone"
    return share("collecting", part, whole, text)


def _long(signals: Signals) -> Iterator[Evidence]:
    """The batches with long collections, and whether copies of pages may be a part of these."""
    costs = signals.costs
    if costs is None or costs.long_gc is None:
        return
    long, copies = costs.long_gc, ""
    text = f"the collector took up to {duration(long.most_us)} of one batch"
    if long.minor_faults and costs.minor_faults is not None and long.system is not None:
        more = long.minor_faults - costs.minor_faults / costs.batches
        if 2 * more >= long.minor_faults and long.system >= LIMIT_WORTH_A_WORD:
            copies = (
                f"; batches with such long collections ran in the kernel for {percent(long.system)} of their time, and "
                f"have {count(round(more))} page faults more than others, which may be copies of pages that the "
                "collector wrote to"
            )
    yield time("long_collections", long.most_us, text + copies, "batch")


def _collecting(signals: Signals, part: float) -> tuple[Evidence, ...]:
    whole = f"{duration(part * signals.window_us)} in the collector"
    full = signals.garbage.full
    known = ""
    if full.are_few:
        known = f", without {plural(full.count, 'full collection')} of {duration(full.total_us)}"
    elif full.count:
        known = f", of which {plural(full.count, 'full collection')} took {duration(full.total_us)}"
    return (share("collecting", part, "window", f"{whole}{known}"),)


def _in_the_wait(signals: Signals, collecting_us: float) -> Finding:
    """DataLoader workers make the batches, but the training process collects while it waits for one."""
    part, saving = collecting_us / (signals.data_wait_us or collecting_us), until_workers_limit(signals, collecting_us)
    gain = signals.per_step(saving.us)
    text = f"{duration(collecting_us)} of {duration(signals.data_wait_us or collecting_us)} of {signals.own_wait}"
    return Finding(
        severity=severity(signals, gain),
        title=f"Python's garbage collector takes {percent(part)} of the {signals.own_wait}, in the training process",
        advice="It runs whenever enough objects have been made, and happened to run in next(): no change of the loader "
        "shortens it. Call gc.freeze() once model and dataset are built, so that it has fewer objects to scan, or "
        "gc.collect() where it does not matter.",
        evidence=(share("collecting", part, "data wait", text), *saving.why),
        gain_us_per_step=gain,
        code=FREEZE,
        confidence="measured",
    )


def _in_workers(signals: Signals) -> tuple[float, str, str] | None:
    if signals.costs is None or signals.costs.gc is None:
        return None
    return signals.costs.gc, "build time", "in DataLoader workers"


def _in_training_process(signals: Signals) -> tuple[float, str, str] | None:
    """Without workers the batches are made in the training process."""
    if signals.garbage.all_us is None:
        return None
    full = signals.garbage.full
    part = signals.share(max(0.0, signals.garbage.all_us - (full.total_us if full.are_few else 0.0)))
    return None if part is None else (part, "window", "in the training process")
