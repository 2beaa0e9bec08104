"""A loop without DataLoader workers that gets some, or the other way round: what its capture says of that, and not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.model.trace import HandedOver
from tb_dataplugin.units import duration, plural
from tb_dataplugin.whatif.loop import Loop, Timed


@dataclass(frozen=True, slots=True)
class Sending:
    """What a batch takes from its DataLoader worker to the training thread, beside its objects, in ns. Each tensor is a
    file descriptor, for which the training thread asks a thread of the worker: eight messages that wait for each other.
    """

    batch: float
    tensor: float

    def ns(self, tensors: int) -> float:
        return self.batch + self.tensor * tensors


ON_ONE_CPU: Final = Sending(0.45e6, 0.24e6)
ON_TWO_CPUS: Final = Sending(0.55e6, 0.50e6)
"""Where both threads have the same CPU, and where either has to wake up another one for each message, which takes a
virtual machine as long again. The scheduler decides, and the same program has either (docs/whatif.md: measured).
"""

USUALLY: Final = Sending(0.5e6, 0.35e6)
"""Between both."""

FEW_TENSORS: Final = 2
"""Taken for a batch whose tensors were not counted."""

BYTE_NS: Final = 1.0
"""Of a pickle, through a pipe: once on either side."""

FILL_NS: Final = 0.85
"""Of each byte that is written into new shared memory, whose pages are made then (docs/whatif.md: measured)."""

LEAST_LEFT: Final = 0.1
"""Part of the time that writing a batch takes at least without it."""

INTO_SHARED: Final = "collate::default_collate"
"""Writes the batch into shared memory itself, in a DataLoader worker; any other function leaves that to the sender."""

NOT_MEASURED: Final = (
    "The capture has no DataLoader workers, so sending a batch{tensors} from one is not measured. It is taken to need "
    "{time}; the interval has {least} to {most}."
)


def with_other_workers(new: Loop, loop: Loop) -> tuple[Loop, tuple[str, ...]]:
    """`new`, the changed `loop`, as far as its workers change what else takes time; and what is only assumed."""
    if bool(new.settings.workers) == bool(loop.settings.workers):
        return new, ()
    if new.settings.workers == 0:
        kept = [number for number, part in enumerate(new.receive.parts) if part]
        receive = Timed(tuple(new.receive.parts[number] for number in kept), new.receive.ns[:, kept])
        return replace(new, receive=receive, build=_filled(new.build, -_fill_ns(new))), ()
    stays = np.array([_stays_outside(part) for part in new.build.parts], dtype=np.bool_)
    build, outside = (
        Timed(tuple(part for part, one in zip(new.build.parts, of, strict=True) if one), new.build.ns[:, of])
        for of in (~stays, stays)
    )
    copied_ns = 0.0 if _collates_into_shared(build) else _fill_ns(new)
    new = replace(new, build=_filled(build, _fill_ns(new)), receive=outside, way_ns=np.full(1, copied_ns))
    batch = new.handed_over
    if batch is not None and batch.size is not None:
        return _sending(new, batch, batch.size), ()
    tensors = f" of {plural(batch.tensors, 'tensor')}" if batch is not None else ""
    time, least, most = (duration(each.ns(_tensors(new)) / 1e3) for each in (USUALLY, ON_ONE_CPU, ON_TWO_CPUS))
    note = NOT_MEASURED.format(tensors=tensors, time=time, least=least, most=most)
    return _receiving(new, USUALLY.ns(_tensors(new))), (note,)


def sent_otherwise(new: Loop, loop: Loop) -> Iterator[Loop]:
    """`new`, as `with_other_workers` left it, where sending a batch takes as little as it may, and as much: then its
    worker also has the interpreter's lock for as long as it builds the next one, and whoever sends waits for that.
    """
    if not new.settings.workers or loop.settings.workers:
        return
    for sending, held_ns in ((ON_ONE_CPU, 0.0), (ON_TWO_CPUS, np.inf)):
        ns = new.receive.ns.copy()
        ns[:, -1] += sending.ns(_tensors(new)) - USUALLY.ns(_tensors(new))
        yield replace(new, receive=Timed(new.receive.parts, ns), held_ns=np.full(1, held_ns))


def _tensors(loop: Loop) -> int:
    return FEW_TENSORS if loop.handed_over is None else loop.handed_over.tensors


def _fill_ns(loop: Loop) -> float:
    return FILL_NS * (loop.batch_bytes or 0.0)


def _collates_into_shared(build: Timed) -> bool:
    return any(part and part[-1].name == INTO_SHARED for part in build.parts)


def _filled(build: Timed, more_ns: float) -> Timed:
    """With as much more of what writes batches into shared memory itself; never without any of it."""
    mine = np.array([bool(part) and part[-1].name == INTO_SHARED for part in build.parts])
    times = int(mine.sum())
    changed = np.maximum(build.ns + more_ns / max(1, times), LEAST_LEFT * build.ns)
    return Timed(build.parts, np.where(mine, changed, build.ns))


def _stays_outside(part: Path) -> bool:
    """DataLoader workers do not take it over: drawing indices, and code around the loader."""
    return bool(part) and (part[-1].kind == "wrapper" or any(stage.kind == "sampler" for stage in part))


def _receiving(new: Loop, each_ns: float) -> Loop:
    sent_ns = np.full((len(new.receive), 1), each_ns)
    return replace(new, receive=Timed((*new.receive.parts, ()), np.column_stack((new.receive.ns, sent_ns))))


def _sending(new: Loop, batch: HandedOver, size: int) -> Loop:
    """A second thread of the worker pickles each batch, and keeps the building one from the interpreter's lock; the
    training thread unpickles it. Either keeps a CPU busy.
    """
    pipe_ns = BYTE_NS * size
    send_ns, take_ns = batch.serialise_ns + pipe_ns, batch.deserialise_ns + pipe_ns
    received_ns = USUALLY.ns(batch.tensors) + take_ns
    build_ns = max(1.0, float(new.build.total_ns.mean()))
    return replace(
        _receiving(new, received_ns),
        way_ns=new.way_ns + send_ns,
        send_ns=batch.serialise_ns * min(1.0, new.build_cpus),
        build_cpus=new.build_cpus + send_ns / build_ns,
        receive_cpus=1.0,
    )
