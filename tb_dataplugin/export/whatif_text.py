"""Predictions for a terminal, and as JSON (CONTRACT: whatif)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.export.paragraphs import fit, page, title, wrap
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import columns
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.shown import shown
from tb_dataplugin.units import (
    UNKNOWN,
    TimeUnit,
    data_size,
    duration,
    in_unit,
    listed,
    percent,
    plural,
    significant,
    unit_for,
)
from tb_dataplugin.whatif import Change, Prediction, Range
from tb_dataplugin.whatif.change import TRANSFER, is_of
from tb_dataplugin.whatif.limit import DEVICE, STEP
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.prediction import SETTINGS_ERROR, STAGE_ERROR, TRANSFER_ERROR
from tb_dataplugin.whatif.unknown import batch_ratio

SCHEMA_VERSION: Final = 1
WORTH_A_WORD: Final = 0.01
"""Part of a step from which time beside the steps is named."""
MUCH: Final = 0.1
"""Part of a step without its data wait from which idle time of the device is worth a word."""
CHANGES: Final = 27
"""Columns that changes get, and more that the others leave."""
BASIS: Final = (
    "Other processes keep the CPUs that they had, unless a note or a * says otherwise. An interval reaches as far as "
    "other draws of the window's batches and steps do, and then further on both sides, as the model itself may be off: "
    f"by {STAGE_ERROR:.0%} for a stage or pinned batches, {SETTINGS_ERROR:.0%} for other settings, "
    f"{TRANSFER_ERROR:.0%} for the transfer, and not at all for the loop as captured."
)

WAITS_FOR: Final[dict[Cause, str]] = {
    "launch": "launching operators",
    "host": "Python outside of operators",
    "sync": "the host blocked in synchronising calls",
    "h2d": "copying to the device",
    "comm": "waiting for other ranks",
}
"""What leaves a device idle in the rest of a step, as a sentence begins."""


def as_text(loop: Loop, predictions: Sequence[Prediction], name: str, style: Style) -> str:
    return page(_lines(loop, predictions, name, style), style)


def _lines(loop: Loop, predictions: Sequence[Prediction], name: str, style: Style) -> Iterator[str]:
    unit = unit_for(prediction.step_us.value for prediction in predictions)
    yield from title(f"what if   {shown(name)}", style)
    yield from wrap(_opening(loop, predictions, unit), "")
    for doubt in loop.doubts:
        yield from wrap(f"Doubtful: {doubt.sentence}", "", "  ")
    yield ""
    kept = _columns(loop, predictions, unit)
    longest = max((len(_name(prediction)) for prediction in predictions), default=0)
    wide = min(columns() - 2 - sum(column.width for column in kept), max(CHANGES, longest + 1))
    yield f"  {'change':<{wide}}{heads(kept)}"
    for prediction in predictions:
        first, *further = _in_lines(_name(prediction), wide - 1)
        numbers = dict(zip(_heads(unit), _texts(prediction, unit), strict=True))
        yield f"  {first:<{wide}}{cells(kept, numbers)}"
        yield from (f"    {part}" for part in further)
    yield ""
    for limit in limit_texts(predictions, loop):
        yield from wrap(limit, "  ")
    if any(column.head == "ahead" for column in kept):
        yield from wrap("ahead: memory of the batches that are kept ready", "  ")
    if loop.worker_bytes is not None:
        low, middle, high = (data_size(size) for size in np.percentile(loop.worker_bytes, (5, 50, 95)).tolist())
        text = f"Memory of a DataLoader worker, with shared pages: {middle} (90% of the window: {low} to {high})."
        yield from wrap(text, "  ")
    yield ""
    for note in (_basis(loop), *dict.fromkeys(note for prediction in predictions for note in prediction.notes)):
        yield from wrap(note, "  ")


def _basis(loop: Loop) -> str:
    """Which steps a prediction is of."""
    starts = "An epoch's start is not part of it"
    if loop.starts == 1:
        starts = "An epoch starts in the window: the wait for its first batch is part of the mean step, as any other"
    elif loop.starts:
        first = "the waits for their first batches are part of the mean step, as any other"
        starts = f"{loop.starts} epochs start in the window: {first}"
    steps = "the loop's steady state"
    if loop.epochs and loop.whole_epochs:
        steps = "whole epochs like those of the window, in which each DataLoader worker delivers its own part"
    return f"Predicted for {steps}, from one capture; nothing was run. {starts}. {_covered(loop)}{BASIS}"


def _covered(loop: Loop) -> str:
    """Which of several DataLoaders is changed; "" where there is one."""
    others = list(dict.fromkeys(map(name_of, loop.other_loaders)))
    if not others:
        return ""
    mine, several = name_of(loop.loader), len(loop.other_loaders) > 1
    if others == [mine]:
        return f"Changes are those of {shown(mine)} alone, not of {'others' if several else 'another'} like it. "
    return (
        f"Changes are those of {shown(mine)} alone: {shown(listed(others))} {'stay' if several else 'stays'} as now. "
    )


def _heads(unit: TimeUnit) -> tuple[str, ...]:
    return (f"step, {unit.name}", "  90% interval", "samples/s", "data wait", "device idle", "ahead")


def _columns(loop: Loop, predictions: Sequence[Prediction], unit: TimeUnit) -> tuple[Column, ...]:
    """Those of which something is known and that the width has room for."""
    step, interval, rate, wait, idle, ahead = _heads(unit)
    known = [Column(step, 11), Column(interval, 19, 1, "<"), Column(rate, 10, 5), Column(wait, 10, 2)]
    known += [Column(idle, 12, 3)] if loop.device_ns is not None else []
    has_memory = any(prediction.memory_bytes is not None for prediction in predictions)
    known += [Column(ahead, 9, 4)] if has_memory else []
    return with_room(known, columns() - 2 - CHANGES)


def _opening(loop: Loop, predictions: Sequence[Prediction], unit: TimeUnit) -> str:
    """The answer where it is that there is none; then what the numbers below are to be compared with."""
    if not predictions or not all(prediction.crowded for prediction in predictions):
        return _steady(loop, unit)
    least = in_unit(min(prediction.least_us for prediction in predictions), unit)
    return (
        f"No prediction of the gain: no CPU of this machine is free for more DataLoader workers. A step would take at "
        f"least {least} {unit.name}. {_steady(loop, unit)}"
    )


def _undivided(loop: Loop) -> str:
    """What predictions of several DataLoader workers take for granted."""
    if loop.undivided is None:
        return ""
    dataset = shown(loop.undivided.dataset)
    does = f"nothing in the code of {dataset} does that" if loop.undivided.is_certain else f"if {dataset} does not"
    return (
        " Predictions with more than one DataLoader worker are for data that is divided among them, by "
        f"get_worker_info() in __iter__: {does}, {'so ' if loop.undivided.is_certain else ''}each reads all of it."
    )


def _steady(loop: Loop, unit: TimeUnit) -> str:
    step, each = in_unit(loop.measured_step_ns / 1e3, unit), f" of {loop.step_batches}" if loop.step_batches else ""
    rate = "" if loop.samples_per_step is None else f", {significant(_rate(loop))} samples/s{_with_others(loop, unit)}"
    share = percent(loop.measured_wait_ns / loop.measured_step_ns)
    left = in_unit((loop.measured_step_ns - loop.measured_wait_ns) / 1e3, unit)
    back = ", or less with CPUs that the loader gives back" if loop.own_delayed >= INPUT_BOUND else ""
    starts = f" The report's numbers include {loop.left_out}; these do not." if loop.left_out else ""
    now = "over whole epochs" if loop.epochs and loop.whole_epochs else "in the steady state"
    settings = plural(loop.settings.workers, "DataLoader worker")
    settings += f", prefetch_factor={loop.settings.prefetch}" if loop.settings.workers else ""
    return (
        f"Now, {now}: {step} {unit.name} per step{each}{rate}, data wait {share}; {settings}. "
        f"Without {'that' if loop.beside_ns else 'any'} data wait a step would take {left} {unit.name}{back}."
        f"{_beside(loop, unit)}{starts}{_undivided(loop)}"
    )


def _with_others(loop: Loop, unit: TimeUnit) -> str:
    """What a step is without, and a second is not."""
    if loop.others_us < WORTH_A_WORD * loop.measured_step_ns / 1e3:
        return ""
    each = f"{in_unit(loop.others_us, unit)} {unit.name}"
    most = "for part of which" if loop.away_ns >= WORTH_A_WORD * loop.measured_step_ns else "while"
    ahead = f", {most} its DataLoader workers build ahead" if loop.settings.workers else ""
    return f" with the {each} per step that the loop does something else{ahead} (taken to stay as they are)"


def _beside(loop: Loop, unit: TimeUnit) -> str:
    """Part of the step, whatever is changed."""
    if not loop.beside_ns:
        return ""
    each = f"{in_unit(loop.beside_ns / 1e3, unit)} {unit.name}"
    which = ", which is not annotated" if loop.is_beside_unannotated else ""
    return f" {each} of that are data wait for another DataLoader{which}."


def _name(prediction: Prediction) -> str:
    """With a star where no CPU is free for it."""
    return shown(prediction.change.text) + (" *" if prediction.crowded else "")


def _fit_inside(name: str, width: int) -> str:
    """Cut before its end, which says how much is changed."""
    head, equals, end = name.rpartition("=")
    left = width - len(equals + end) - 3
    if len(name) <= width or left < 1:
        return fit(name, width)
    return f"{head[:left]}...{equals}{end}"


def _in_lines(name: str, width: int) -> list[str]:
    """Of several changes that one line has no room for, each has its own: cut off, two of them would look alike."""
    if len(name) <= width:
        return [name]
    first, *further = name.split(", ")
    return [_fit_inside(first, width), *(_fit_inside(f"+ {part}", width) for part in further)]


def _texts(prediction: Prediction, unit: TimeUnit) -> tuple[str, ...]:
    """By column, in the order of `_heads`."""
    step, rate = prediction.step_us, prediction.samples_per_s
    between = f"{in_unit(step.low, unit)} to {in_unit(step.high, unit)}"
    samples = UNKNOWN if rate is None else significant(rate.value)
    wait = percent(prediction.data_wait_share.value)
    idle = "" if prediction.device_idle is None else percent(prediction.device_idle.value)
    memory = UNKNOWN if prediction.memory_bytes is None else data_size(prediction.memory_bytes)
    value = in_unit(step.value, unit)
    if prediction.at_least_us is not None:
        value, samples, wait, idle = UNKNOWN, UNKNOWN, UNKNOWN, idle and UNKNOWN
        between = f"at least {in_unit(prediction.at_least_us, unit)}"
    return value, f"  {between}", samples, wait, idle, memory


def limit_texts(predictions: Sequence[Prediction], loop: Loop) -> list[str]:
    """Below the table, a sentence each."""
    return [*_limits(predictions, loop), *_callers(predictions, loop), *_slowed(predictions, loop)]


def _limits(predictions: Sequence[Prediction], loop: Loop) -> Iterator[str]:
    """What limits the loop, or would still bring most, with the changes for which it does; nothing of a bound."""
    limits: dict[str, list[str]] = {}
    for prediction in predictions:
        if not prediction.crowded:
            limits.setdefault(_limit(prediction, loop), []).append(shown(prediction.change.text))
    most = max(limits, key=lambda limit: len(limits[limit]), default="")
    for limit, changes in sorted(limits.items(), key=lambda item: item[0] == most):
        whose = f"With {', '.join(changes)}"
        if limit == most and len(changes) > 1:  # its names would fill lines
            whose = "In each of them" if len(limits) == 1 else "In each of the others"
        yield f"{whose}, {limit}."


def _limit(prediction: Prediction, loop: Loop) -> str:
    """What limits then, as the end of a sentence."""
    limit = prediction.limited_by
    if limit == DEVICE:
        return "the device limits"
    if limit == STEP:
        return f"the rest of the step limits{_device_wait(loop)}"
    if prediction.short_of_cpus:
        return f"the CPUs limit: what helps is less work, most of all in {shown(limit)} (by self time)"
    still = "still " if limit in (name for name, _ in prediction.change.stages) else ""
    if limit == TRANSFER:
        if loop.ahead and loop.taking_ns.mean() > 0:
            with_them = f"receiving them ({TRANSFER}), and what it does with them"
            return f"the thread that takes the batches {still}limits: {with_them}"
        return f"sending batches from DataLoader workers and receiving them ({TRANSFER}) {still}limits"
    return f"{shown(limit)} would {still}be the next stage to make faster (by self time)"


def _callers(predictions: Sequence[Prediction], loop: Loop) -> Iterator[str]:
    """Stages that call one that limits: what a row of theirs saves has what that one would save, too."""
    parts, texts = (*loop.build.parts, *loop.receive.parts), []
    for limit in dict.fromkeys(prediction.limited_by for prediction in predictions if not prediction.crowded):
        pairs = ((stage, part) for part in parts if part and part[-1].name == limit for stage in part[:-1])
        names = dict.fromkeys(one.name for one, part in pairs if one.kind != "wait" and is_of(one.name, part))
        callers = [shown(name) for name in names if name != limit]
        if callers:
            calls = "which it calls" if len(callers) == 1 else "which they call"
            texts.append(f"predictions for {listed(callers)} also change {shown(limit)}, {calls}")
    if texts:
        yield f"Self time is without what a stage calls; {'; '.join(texts)}."


def _slowed(predictions: Sequence[Prediction], loop: Loop) -> Iterator[str]:
    """Rows whose step is longer for CPUs that more DataLoader workers have, and by how much."""
    slowed = [prediction for prediction in predictions if prediction.slowed]
    if slowed:
        whose = listed([shown(prediction.change.text) for prediction in slowed])
        cpus = "1 CPU is" if loop.cpus == 1 else f"{loop.cpus:g} CPUs are"
        longer = listed([percent(prediction.slowed) for prediction in slowed])
        yield (
            f"With {whose}, {cpus} not enough for the DataLoader workers and the "
            f"training step at once: the rest of the step is predicted to take {longer} longer."
        )


def _device_wait(loop: Loop) -> str:
    """What to look at in the rest of a step."""
    wait, own_ns = loop.device_wait, loop.measured_step_ns - loop.measured_wait_ns
    if wait is None or wait.ns < MUCH * own_ns:
        return ""
    return f": {WAITS_FOR[wait.cause]} leaves the device idle for {duration(wait.ns / 1e3)} per step in the window"


def as_json(loop: Loop, predictions: Sequence[Prediction]) -> str:
    baseline: dict[str, Any] = {"step_us": loop.measured_step_ns / 1e3}
    if loop.samples_per_step is not None:
        baseline["samples_per_s"] = _rate(loop)
    settings = asdict(loop.settings)
    rows = [_as_dict(prediction, loop) for prediction in predictions]
    unit = unit_for(prediction.step_us.value for prediction in predictions)
    words = {
        "sentence": _opening(loop, predictions, unit),
        "limit_texts": limit_texts(predictions, loop),
        "basis_text": _basis(loop),
    }
    doubts = {"doubts": [asdict(doubt) for doubt in loop.doubts]} if loop.doubts else {}
    head = {"schema_version": SCHEMA_VERSION, "settings": settings, "baseline": baseline, **doubts}
    return json.dumps({**head, **words, "predictions": rows}, indent=2)


def _as_dict(prediction: Prediction, loop: Loop) -> dict[str, Any]:
    """What is not known is absent: where no CPU is free, all that the change would bring."""
    ranges = {
        "saved_share": _saved(prediction, loop),
        "samples_per_s": prediction.samples_per_s,
        "step_us": prediction.step_us,
        "data_wait_share": prediction.data_wait_share,
        "device_idle_share": prediction.device_idle,
    }
    known: dict[str, Any] = {name: _range(value) for name, value in ranges.items() if value is not None}
    known["limited_by"] = prediction.limited_by
    if prediction.at_least_us is not None:
        known = {"at_least_us": prediction.at_least_us}
    memory = {} if prediction.memory_bytes is None else {"memory_bytes": prediction.memory_bytes}
    workers = {} if prediction.workers_bytes is None else {"workers_bytes": _range(prediction.workers_bytes)}
    notes = {"notes": list(prediction.notes)} if prediction.notes else {}
    named = {"change": _change(prediction.change), "name": _name(prediction)}
    return {**named, **known, **memory, **workers, **notes}


def _change(change: Change) -> dict[str, Any]:
    settings = {
        "workers": change.workers,
        "prefetch": change.prefetch,
        "in_order": change.in_order,
        "batch": change.batch,
        "pin": change.pin,
    }
    stages: dict[str, Any] = {"stages": dict(change.stages)} if change.stages else {}
    moved = {"moved": list(change.moved)} if change.moved else {}
    return {**{name: value for name, value in settings.items() if value is not None}, **stages, **moved}


def _saved(prediction: Prediction, loop: Loop) -> Range:
    """Share of the step as captured, or of its time per sample where the batch has another size; negative where it
    would take longer.
    """
    step_us, now_us = prediction.step_us, batch_ratio(loop, prediction.change) * loop.measured_step_ns / 1e3
    return Range(1 - step_us.value / now_us, 1 - step_us.high / now_us, 1 - step_us.low / now_us)


def _range(value: Range) -> dict[str, float]:
    return {"value": value.value, "low": value.low, "high": value.high}


def _rate(loop: Loop) -> float:
    return (loop.samples_per_step or 0.0) / (loop.measured_step_ns / 1e3 + loop.others_us) * 1e6
