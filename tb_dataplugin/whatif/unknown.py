"""Changes of which one capture shows one side only: a batch's size, pinned memory, a stage moved to the device.

What the loader does follows from the capture. What the step and the device then take lies between two ends; both are
simulated and are part of the interval (`with_cost`), and a sentence says so (`assumptions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.units import duration, percent
from tb_dataplugin.whatif.change import TRANSFER, Change, changed, is_of, scaled
from tb_dataplugin.whatif.loop import Loop, Timed

HALFWAY: Final = 0.5
MOST_SAMPLES: Final = 1_000_000

WORTH_SAYING: Final = 0.01
"""Part of the step that a stage takes outside the loader, from which that is said."""

MUCH: Final = 0.1
"""Share of the window in collectives from which on other ranks may decide how long a step takes."""


def has_two_ends(change: Change) -> bool:
    return change.batch is not None or bool(change.moved) or bool(change.pin)


def check_known(change: Change, loop: Loop) -> None:
    """Raises BadRequest where the capture does not even show the loader's side."""
    if change.batch is not None:
        if not 1 <= change.batch <= MOST_SAMPLES:
            raise BadRequest(f"cannot predict batch={change.batch}; choose 1 to {MOST_SAMPLES:,}")
        if loop.batch_size is None:
            raise BadRequest("cannot predict another batch size: the capture does not say how many samples a batch has")
    if change.pin and loop.is_pinned:
        raise BadRequest("the loader has pin_memory=True already")
    if change.pin and not loop.pageable_ns:
        raise BadRequest(
            "cannot predict pin_memory=True: the capture has no copies from pageable memory to a device, "
            "so it does not say what they take"
        )


def with_cost(loop: Loop, change: Change, cost: float | None) -> Loop:
    """The loop with the change made. `cost`: how much of what the step may pay for it does come, 0 to 1; None: what is
    predicted. That is halfway, and nothing for a stage on the device.
    """
    new = changed(loop, change)
    own_ns, device_ns = new.own_ns, new.device_ns
    halfway = HALFWAY if cost is None else cost
    if change.pin:
        own_ns = own_ns - np.minimum(own_ns, (1 - halfway) * (loop.pageable_ns or 0.0))
        device_ns = None if device_ns is None else device_ns - (1 - halfway) * loop.device_pageable_ns
    own_ns = own_ns + (cost or 0.0) * moved_ns(loop, change)
    new = replace(new, own_ns=own_ns, device_ns=device_ns)
    ratio = batch_ratio(loop, change)
    if ratio == 1:
        return new
    grown = 1 + (ratio - 1) * halfway
    return replace(
        new,
        build=Timed(new.build.parts, new.build.ns * ratio),
        way_ns=new.way_ns * grown,
        send_ns=new.send_ns * grown,
        receive=scaled(new.receive, grown, lambda part: not part or part[-1].kind != "wrapper"),
        own_ns=own_ns * grown,
        device_ns=None if device_ns is None else device_ns * grown,
        batch_bytes=None if new.batch_bytes is None else new.batch_bytes * ratio,
        samples_per_step=None if new.samples_per_step is None else new.samples_per_step * ratio,
    )


def _in_step(loop: Loop, change: Change) -> Iterator[str]:
    """Which of the stages that are changed are a part of the training step, too."""
    for name in (*(name for name, factor in change.stages if factor != 1), *change.moved):
        each_ns = 0.0 if name == TRANSFER else step_ns(loop, partial(is_of, name))
        if each_ns >= WORTH_SAYING * loop.measured_step_ns:
            yield (
                f"{name} also runs in the training step, outside the loader: {duration(each_ns / 1e3)} per step. "
                "The prediction changes that part, too."
            )


def batch_ratio(loop: Loop, change: Change) -> float:
    """Samples of a batch with the change over those without."""
    return 1.0 if change.batch is None or loop.batch_size is None else change.batch / loop.batch_size


def moved_ns(loop: Loop, change: Change) -> float:
    """Per step, what the stages that are moved take where they are."""

    def is_moved(part: Path) -> bool:
        return any(is_of(name, part) for name in change.moved)

    columns = [is_moved(part) for part in loop.build.parts]
    built = float(loop.build.ns[:, columns].sum(axis=1).mean()) * loop.batches_per_step
    return built + step_ns(loop, is_moved)


def step_ns(loop: Loop, of: Callable[[Path], bool]) -> float:
    """What these stages take of a step, beside the loader."""
    return float((loop.in_step.of(of) * loop.own_ns).mean())


def assumptions(loop: Loop, change: Change, step_us: float) -> Iterator[str]:
    """What such a prediction rests on; `step_us`: its value."""
    if loop.in_collectives >= MUCH:
        yield (
            f"This rank is in collectives for {percent(loop.in_collectives)} of the window, waiting for other ranks "
            "included: they may keep it waiting whatever its own loader does. Predict the rank that others wait for "
            "(tb-dataplugin ranks)."
        )
    if change.batch is not None and change.batch != loop.batch_size:
        yield (
            f"batch={change.batch}: building a batch is taken to grow with its samples. How the step, the device and "
            "the transfer grow is not in the capture: the value is halfway between not at all and in proportion, and "
            "the interval has both."
        )
    yield from _in_step(loop, change)
    if change.moved:
        yield (
            f"{', '.join(change.moved)} on the device: the value is at best, as if it took nothing there. The interval "
            f"also has that it takes the {moved_ns(loop, change) / 1e6:.3g} ms per step there that it takes now."
        )
    if change.pin:
        pageable_ns = loop.pageable_ns or 0.0
        saved_ns = loop.measured_step_ns - step_us * 1e3
        yield (
            f"pin_memory=True: the host is in copies from pageable memory for {pageable_ns / 1e6:.3g} ms per step. The "
            "value has half of it gone, and the interval none and all of it. The thread that pins is not part of it."
        )
        if saved_ns < HALFWAY * HALFWAY * pageable_ns:
            yield "pin_memory=True: the loader limits, so most of what a step saves there it waits longer for data."
