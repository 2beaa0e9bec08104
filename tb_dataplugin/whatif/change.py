"""A change of a pipeline, as it is asked for, and what it makes of a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from operator import eq

import numpy as np

from tb_dataplugin.analyses.kept_loads import KeptLoads
from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.analyses.shared_lock import SharedLock
from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.units import listed
from tb_dataplugin.whatif.dealing import dealt
from tb_dataplugin.whatif.loop import Floats, Loop, Settings, StepParts, Timed

MOST_WORKERS = 64
MOST_PREFETCH = 64
MOST_NUMBERS = MOST_WORKERS + 1

TRANSFER = "transfer"
"""Sending a batch to the training process, and receiving it there."""

_CONTAINS_THE_OTHERS = ("sample", "wrapper")
"""Kinds whose code calls the other stages: a change of one is of its own time only."""


@dataclass(frozen=True, slots=True)
class Change:
    """None: as captured. `stages`: names, each with the factor of its time, with what it calls, also where the training
    step calls it; see `parse_stage`. `own`: chains of stages, each with the factor of what its last stage takes itself
    for the loader. `single`: epochs and numbers of batches, each with the factor of building it. `batch`: samples of a
    batch; `moved`: stages that the device does. Of these and `pin` see `unknown`. `even`: each DataLoader worker gets
    as much of the work as the others.
    """

    workers: int | None = None
    prefetch: int | None = None
    in_order: bool | None = None
    stages: tuple[tuple[str, float], ...] = field(default=())
    batch: int | None = None
    pin: bool | None = None
    moved: tuple[str, ...] = ()
    own: tuple[tuple[Path, float], ...] = ()
    single: tuple[tuple[tuple[int, int], float], ...] = ()
    even: bool = False

    @property
    def text(self) -> str:
        """``"workers=4, transform::Blur=0.1x"``; ``"unchanged"`` for none."""
        settings = {"workers": self.workers, "prefetch_factor": self.prefetch, "batch": self.batch}
        parts = [f"{name}={value}" for name, value in settings.items() if value is not None]
        parts += [] if self.in_order is None else [f"in_order={self.in_order}"]
        parts += [] if self.pin is None else ["pin_memory=True"]
        parts += [f"{name}={factor:g}x" for name, factor in self.stages]
        parts += [f"{name}=device" for name in self.moved]
        parts += [f"{path[-1].name} itself={factor:g}x" for path, factor in self.own]
        parts += [f"batch {number} of epoch {epoch}={factor:g}x" for (epoch, number), factor in self.single]
        parts += ["evenly divided data"] if self.even else []
        return ", ".join(parts) or "unchanged"


def parse_changes(
    workers: Iterable[int | None],
    prefetch: int | None,
    in_order: bool | None,
    stages: Iterable[str],
    batch: int | None = None,
    pin: bool | None = None,
    moves: Iterable[str] = (),
) -> list[Change]:
    """One for each number of workers. Raises BadRequest for a stage that is not ``NAME=0.1x``, a move that is not
    ``NAME=device``.
    """
    factors = tuple(parse_stage(text) for text in stages)
    moved = tuple(_parse_move(text) for text in moves)
    return [Change(number, prefetch, in_order, factors, batch, pin, moved) for number in workers]


def _parse_move(text: str) -> str:
    name, _, place = text.rpartition("=")
    if not name or place != "device":
        raise BadRequest(f"{text!r} is not a stage to move; write it like transform::Normalize=device")
    return name


def parse_workers(text: str) -> list[int]:
    """``"4" -> [4]``, ``"0..2" -> [0, 1, 2]``, ``"2,4" -> [2, 4]``. Raises BadRequest for anything else."""
    first, dots, last = text.partition("..")
    numbers = [first, last] if dots else text.split(",")
    if not all(number.isascii() and number.isdigit() and len(number) < 6 for number in numbers):
        raise BadRequest(f"{text!r} is not a number of DataLoader workers; write 4, 0..8 or 2,4,8")
    if dots and int(first) > int(last):
        raise BadRequest(f"{text!r} ends before it begins; write {last}..{first}")
    found = list(range(int(first), int(last) + 1)) if dots else [int(number) for number in numbers]
    if len(found) > MOST_NUMBERS:
        raise BadRequest(f"{text!r} are {len(found)} numbers of DataLoader workers; write {MOST_NUMBERS} at most")
    return found


def parse_stage(text: str) -> tuple[str, float]:
    """``"transform::Blur=0.1x" -> ("transform::Blur", 0.1)``; ``decode`` alone means every stage of that kind."""
    name, _, factor = text.rpartition("=")
    try:
        value = float(factor.removesuffix("x"))
    except ValueError:
        value = -1.0
    if not name or not 0 <= value <= 1000:
        raise BadRequest(f"{text!r} is not a change of a stage; write it like transform::Normalize=0.1x")
    return name, value


def check(change: Change, loop: Loop) -> None:
    """Raises BadRequest for a stage that the capture does not have, or a setting that no DataLoader takes."""
    names = sorted({stage.name for part in (*loop.build.parts, *loop.receive.parts) for stage in part})
    kinds = {name.partition("::")[0] for name in names}
    if loop.settings.workers:
        names.append(TRANSFER)
    if TRANSFER in change.moved:
        raise BadRequest("the transfer cannot be moved to the device; name a stage")
    for name in (*(name for name, _ in change.stages), *change.moved):
        if name not in names and name not in kinds:
            raise BadRequest(_no_stage(name, names, kinds, loop))
    if any(path not in (*loop.build.parts, *loop.receive.parts) for path, _ in change.own):
        raise BadRequest(f"cannot predict {change.text}: the batches of the window spent no time there")
    if any(batch not in loop.built for batch, _ in change.single):
        raise BadRequest(f"cannot predict {change.text}: no DataLoader worker built such a batch in the window")
    if change.workers is not None and not 0 <= change.workers <= MOST_WORKERS:
        raise BadRequest(f"cannot predict workers={change.workers}; choose 0 to {MOST_WORKERS}")
    if change.prefetch is not None and not 1 <= change.prefetch <= MOST_PREFETCH:
        raise BadRequest(f"cannot predict prefetch_factor={change.prefetch}; choose 1 to {MOST_PREFETCH}")


def _no_stage(name: str, names: list[str], kinds: set[str], loop: Loop) -> str:
    """A word alone may have been meant as a kind, which names all stages of it."""
    if name in loop.other_stages:
        return (
            f"{name} is a stage of {name_of(loop.other_stages[name])}, of which nothing is predicted: what if is about "
            f"{name_of(loop.loader)} alone, whose batches have {', '.join(names) or 'no stages'}"
        )
    meant = [known for known in names if known.partition("::")[2].casefold() == name.casefold()]
    if meant:
        return f"the loop's batches have no stage {name}; did you mean {' or '.join(meant)}?"
    if "::" in name or not kinds:
        return f"the loop's batches have no stage {name}; they have {', '.join(names) or 'none'}"
    stages = f"kinds are {listed(sorted(kinds))}, stages {', '.join(names)}"
    return f"the loop's batches have no stage, and no kind of stages, {name}; {stages}"


def changed(loop: Loop, change: Change) -> Loop:
    """The loop with the change made."""
    old = loop.settings
    new = Settings(
        workers=old.workers if change.workers is None else change.workers,
        prefetch=old.prefetch if change.prefetch is None else change.prefetch,
        in_order=old.in_order if change.in_order is None else change.in_order,
    )
    build, receive, own_ns, in_step = loop.build, loop.receive, loop.own_ns, loop.in_step
    way, send, held = loop.way_ns, loop.send_ns, loop.held_ns
    for name, factor in (*change.stages, *((name, 0.0) for name in change.moved)):
        if name == TRANSFER:
            way, send, receive = way * factor, send * factor, scaled(receive, factor, lambda part: not part)
            held = held * factor if factor else np.zeros(1)
        else:
            of = partial(is_of, name)
            build, receive = scaled(build, factor, of), scaled(receive, factor, of)
            own_ns, in_step = step_scaled(own_ns, in_step, factor, of)
    for path, factor in change.own:
        build, receive = (scaled(timed, factor, partial(eq, path)) for timed in (build, receive))
    if change.single:
        factors = dict(change.single)
        build = Timed(build.parts, build.ns * np.array([[factors.get(batch, 1.0)] for batch in loop.built]))
    if loop.lock is not None:
        build = _waiting(build, loop.build, loop.lock, new.workers)
    if loop.kept is not None:
        build = _loaded_again(build, loop.kept, new.workers)
    made = replace(loop, settings=new, build=build, receive=receive, way_ns=way, send_ns=send, held_ns=held)
    return dealt(replace(made, own_ns=own_ns, in_step=in_step), loop, evenly=change.even)


def _waiting(build: Timed, before: Timed, lock: SharedLock, workers: int) -> Timed:
    """As long as so many workers wait for one another: that is no time of the stage's own."""
    of_stage = [bool(part) and part[-1] == lock.stage for part in before.parts]
    whole = float(before.total_ns.mean())
    share = float(before.ns[:, of_stage].sum(axis=1).mean()) / whole if whole else 0.0
    more = lock.waited_with(workers) - lock.waited
    return (
        scaled(build, max(0.0, 1 + more / share), lambda part: bool(part) and part[-1] == lock.stage)
        if share
        else build
    )


def _loaded_again(build: Timed, kept: KeptLoads, workers: int) -> Timed:
    """Every worker makes each of the rare calls: in the next of its own batches, which workers take in turns."""
    of = np.array([kept.has(part) for part in build.parts])
    loads, more = np.where(of, build.ns, 0.0), kept.times_with(workers) - 1
    if more < 0:
        return Timed(build.parts, build.ns + more * loads)
    ns = build.ns.copy()
    for turn in range(1, ceil(more) + 1):
        ns += min(1.0, more - turn + 1) * np.roll(loads, turn * max(1, kept.workers), axis=0)
    return Timed(build.parts, ns)


def scaled(timed: Timed, factor: float, of: Callable[[Path], bool]) -> Timed:
    factors = np.array([factor if of(part) else 1.0 for part in timed.parts])
    return Timed(timed.parts, timed.ns * factors)


def step_scaled(
    own_ns: Floats, in_step: StepParts, factor: float, of: Callable[[Path], bool]
) -> tuple[Floats, StepParts]:
    """The rest of each step, with what these stages take in it."""
    left = 1 + (factor - 1) * in_step.of(of)
    factors = np.array([factor if of(part) else 1.0 for part in in_step.parts])
    shares = in_step.shares * factors / np.maximum(left, 1e-9)[:, None]
    return own_ns * left, StepParts(in_step.parts, shares)


def is_of(name: str, part: Path) -> bool:
    """The column is time of the stage: its own, or of what it calls where it is not one that calls all others. What a
    transform decodes has to be decoded without it, too: PIL does so for whoever looks at the pixels first.
    """
    if not part:
        return False
    own = part[-1]
    if name in (own.name, own.kind):
        return True
    for place, stage in enumerate(part):
        if name in (stage.name, stage.kind) and stage.kind not in _CONTAINS_THE_OTHERS:
            return stage.kind != "transform" or all(inner.kind != "decode" for inner in part[place:])
    return False
