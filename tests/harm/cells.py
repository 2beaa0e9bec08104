"""What is tried: one cell is one program of the user's, one way of having annotate in it, and one end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from itertools import combinations, product
from typing import Final

STEPS: Final = 12
"""Of every program."""

STRUCK: Final = 3
"""The batch, counted from 0, that a fault in the user's dataset, transform or collate function hits."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A loader as far as the cells must know it."""

    workers: int = 0
    processes: bool = True
    """False: its workers are threads."""
    batch: int = 4
    random: bool = True
    """False: something runs beside the loop in the same process, so random numbers would not repeat."""
    slow: bool = False
    """True: each worker imports torch anew."""
    epochs: int = 2
    """Fewer where starting workers is most of a run."""

    @property
    def batches(self) -> int:
        """In an epoch."""
        return STEPS // self.epochs


# own_indices: a sampler of tensors, tuples and numpy's integers; own_batches: a batch_sampler, and a dataset with
# __getitems__; nested: a Subset of a ConcatDataset of dictionaries; out_of_order: in_order=False, and pin_memory;
# own_iter, own_get_iterator: subclasses with theirs; read_ahead: batches are made in a thread, one ahead of the loop.
KINDS: Final[dict[str, Kind]] = {
    "map": Kind(),
    "map_workers": Kind(workers=2),
    "map_spawn": Kind(workers=1, slow=True, epochs=1),
    "map_forkserver": Kind(workers=1, slow=True, epochs=1),
    "persistent": Kind(workers=2),
    "iterable": Kind(),
    "iterable_workers": Kind(workers=2),
    "unbatched": Kind(batch=1),
    "own_indices": Kind(),
    "own_batches": Kind(workers=1, epochs=1),
    "nested": Kind(),
    "out_of_order": Kind(workers=1, epochs=1),
    "thread_workers": Kind(workers=1, processes=False, random=False),
    "own_iter": Kind(workers=1, epochs=1),
    "own_get_iterator": Kind(),
    "read_ahead": Kind(random=False),
}

RELATIONS: Final = (
    "none",
    "ours",
    "user",
    "ours_in_user",
    "ours_outlasts_user",
    "user_in_ours",
    "user_outlasts_ours",
    "two_users_and_ours",
    "monitor",
    "monitor_and_ours",
)
"""Who profiles: nobody (the loader is marked, no more), ours, the user's own; the orders of entering and leaving."""

PHASES: Final = ("wait", "warmup", "record", "after")
"""Where in its schedule the outer profiler is when the inner one is entered; where ours is when the program ends."""

OFFSET: Final = {"wait": 0, "warmup": 1, "record": 2, "after": 4}
"""Steps from the entering of a profiler to the phase; every schedule is wait=1, warmup=1, active=2, repeat=1."""

ENDINGS: Final = (
    "normal",
    "break",
    "dataset_raises",
    "transform_raises",
    "collate_raises",
    "body_raises",
    "interrupt",
    "terminate",
    "handled_terminate",
    "worker_killed",
    "hard_exit",
)

IN_THE_BODY: Final = ("break", "body_raises", "interrupt", "terminate", "handled_terminate", "hard_exit")
"""Endings that come at the step `Program.strike`."""

MARKS: Final = ("loader", "parts", "steps")
"""How the loader is made known: annotate.loader; dataset, compose, collate and stage; prof.steps alone."""

EXPORTS: Final = ("handler", "late")
"""When the user's profilers save: in on_trace_ready, or when the program is done."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A profiler that is entered before a step and left before another one; None: when the loop has ended."""

    enter: int
    leave: int | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """The user's side of a cell: what runs without us."""

    loader: str = "map"
    users: tuple[Stay, ...] = ()
    export: str = "handler"
    ending: str = "normal"
    strike: int = STRUCK
    """The step at which an ending in the loop's body comes."""


@dataclass(frozen=True, slots=True)
class Annotated:
    """Our side of a cell."""

    marks: str = "loader"
    ours: Stay | None = None
    enters_first: bool = False
    """Ours is entered before a profiler of the user's that comes at the same step."""
    monitor: bool = False
    fault: str = ""
    """Where we fail on purpose, a key of `faults.FAULTS`."""
    interrupted: bool = False
    """The fault is a KeyboardInterrupt: Ctrl-C while the program is in our code."""
    stays: bool = False
    """The standing hooks are in until the process ends; nobody calls `annotate.off`."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One row of the matrix."""

    loader: str = "map"
    profilers: str = "ours"
    phase: str = "wait"
    ending: str = "normal"
    marks: str = "loader"
    export: str = "handler"
    fault: str = ""
    interrupted: bool = False
    stays: bool = False

    def __str__(self) -> str:
        return "-".join(str(value) for value in astuple(self) if value)

    def values(self) -> dict[str, str]:
        """The dimensions of the matrix."""
        return {name: str(value) for name, value in asdict(self).items() if name in DIMENSIONS}

    def program(self) -> Program:
        """What runs without us; many cells share one."""
        users, _ = _stays(self)
        export = self.export if users else "handler"
        return Program(self.loader, users, export, self.ending, _strike(self))

    def annotated(self) -> Annotated:
        _, ours = _stays(self)
        return Annotated(
            self.marks,
            ours,
            enters_first=self.profilers in ("user_in_ours", "user_outlasts_ours"),
            monitor=self.profilers.startswith("monitor"),
            fault=self.fault,
            interrupted=self.interrupted,
            stays=self.stays,
        )


def _stays(cell: Cell) -> tuple[tuple[Stay, ...], Stay | None]:
    """When the user's profilers and ours come and go."""
    at = OFFSET[cell.phase]
    match cell.profilers:
        case "ours" | "monitor_and_ours":
            return (), Stay(0)
        case "user":
            return (Stay(0),), None
        case "ours_in_user":
            return (Stay(0),), Stay(at, at + 5)
        case "ours_outlasts_user":
            return (Stay(0, at + 2),), Stay(at)
        case "user_in_ours":
            return (Stay(at, at + 5),), Stay(0)
        case "user_outlasts_ours":
            return (Stay(at),), Stay(0, at + 2)
        case "two_users_and_ours":
            return (Stay(0, 5), Stay(6)), Stay(at)
        case _:
            return (), None


def _strike(cell: Cell) -> int:
    at = OFFSET[cell.phase]
    if cell.profilers in ("ours", "monitor_and_ours"):
        return at
    return STRUCK if cell.profilers in ("none", "monitor") else at + 3


DIMENSIONS: Final[dict[str, tuple[str, ...]]] = {
    "loader": tuple(KINDS),
    "profilers": RELATIONS,
    "phase": PHASES,
    "ending": ENDINGS,
    "marks": MARKS,
    "export": EXPORTS,
}


def is_possible(values: dict[str, str]) -> bool:
    """False where the values (of some or all dimensions) contradict each other."""
    kind = KINDS.get(values.get("loader", ""))
    if kind is None or values.get("ending") != "worker_killed":
        return True
    return kind.workers > 0 and kind.processes


QUICK: Final = {**DIMENSIONS, "loader": tuple(name for name, kind in KINDS.items() if not kind.slow)}

SLOW: Final = (
    Cell("map_spawn", "ours", "after", marks="loader"),
    Cell("map_forkserver", "monitor_and_ours", "record", "dataset_raises", marks="steps"),
)
"""Of the loaders whose workers import torch anew, a few in every run, and every pair in the whole matrix."""


def covering(dimensions: dict[str, tuple[str, ...]] = QUICK) -> list[Cell]:
    """Cells in which every possible pair of values of two dimensions occurs; the same ones each time.

    Greedy: each cell begins with the first pair that is still missing, and takes for every other dimension the value
    that covers the most missing pairs.
    """
    names = list(dimensions)
    missing = dict.fromkeys(_pairs(dimensions))
    cells = []
    while missing:
        (first, second), (one, other) = next(iter(missing))
        values = {first: one, second: other}
        for name in names:
            if name not in values:
                values[name] = max(dimensions[name], key=_gain(values, name, missing))
        for pair in _pairs_of(values, names):
            missing.pop(pair, None)
        cells.append(Cell(**values))  # type: ignore[arg-type]
    return cells


Pair = tuple[tuple[str, str], tuple[str, str]]


def _gain(values: dict[str, str], name: str, missing: dict[Pair, None]) -> Callable[[str], int]:
    def gain(value: str) -> int:
        candidate = {**values, name: value}
        if not is_possible(candidate):
            return -1
        order = list(DIMENSIONS)
        return sum(pair in missing for pair in _pairs_of(candidate, [n for n in order if n in candidate]))

    return gain


def _pairs_of(values: dict[str, str], names: list[str]) -> Iterator[Pair]:
    for first, second in combinations(names, 2):
        yield (first, second), (values[first], values[second])


def _pairs(dimensions: dict[str, tuple[str, ...]]) -> Iterator[Pair]:
    for first, second in combinations(dimensions, 2):
        for one, other in product(dimensions[first], dimensions[second]):
            if is_possible({first: one, second: other}):
                yield (first, second), (one, other)


def every() -> Iterator[Cell]:
    """The whole matrix: all loaders, relations and endings; the phases take turns, but for two loaders that have all.

    Marks and exports take turns as well. A loader whose workers import torch anew has a covering selection.
    """
    for turn, (loader, profilers, ending, phase) in enumerate(product(QUICK["loader"], RELATIONS, ENDINGS, PHASES)):
        cell = Cell(loader, profilers, phase, ending, MARKS[turn % 3], EXPORTS[turn // 3 % 2])
        is_its_turn = loader in ("map", "map_workers") or phase == PHASES[turn // 4 % 4]
        if is_possible(cell.values()) and is_its_turn and _has_phase(cell):
            yield cell
    yield from (cell for cell in covering(DIMENSIONS) if KINDS[cell.loader].slow)


def under_run(cells: Iterable[Cell]) -> list[Cell]:
    """The same programs under `tb-dataplugin run`, which marks nothing in them."""
    return list(dict.fromkeys(replace(cell, marks="run") for cell in cells))


def _has_phase(cell: Cell) -> bool:
    """False where the phase changes nothing, so that one is enough."""
    return (
        cell.profilers not in ("none", "monitor") or cell.loader not in ("map", "map_workers") or cell.phase == "wait"
    )


def named(cells: Iterable[Cell]) -> dict[str, Cell]:
    return {str(cell): cell for cell in cells}


def most_of(cells: Sequence[Cell], count: int) -> list[Cell]:
    """So many of `cells`, in their order: every value of a dimension first, then as many pairs of values as may be.

    Greedy; of equally good ones the first is taken, so that the choice is the same each time.
    """
    held = {cell: ({*cell.values().items()}, {*_pairs_of(cell.values(), list(DIMENSIONS))}) for cell in cells}
    chosen: set[Cell] = set()
    values: set[tuple[str, str]] = set()
    pairs: set[Pair] = set()

    def gain(cell: Cell) -> tuple[int, int]:
        return len(held[cell][0] - values), len(held[cell][1] - pairs)

    while len(chosen) < min(count, len(held)):
        best = max((cell for cell in held if cell not in chosen), key=gain)
        chosen.add(best)
        values |= held[best][0]
        pairs |= held[best][1]
    return [cell for cell in held if cell in chosen]
