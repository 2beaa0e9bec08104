"""Settings of a DataLoader that can be changed without touching the user's code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

Value = int | float | str | bool | None

WORKERS: Final = "num_workers"
PREFETCH: Final = "prefetch_factor"
PIN: Final = "pin_memory"
PERSISTENT: Final = "persistent_workers"
IN_ORDER: Final = "in_order"
CONTEXT: Final = "multiprocessing_context"
THREADS: Final = "threads_per_worker"
"""No keyword of DataLoader's: set by a ``worker_init_fn``."""

NAMES: Final = (WORKERS, PREFETCH, PIN, PERSISTENT, IN_ORDER, CONTEXT, THREADS)
OF_WORKERS: Final = (PREFETCH, PERSISTENT, CONTEXT, THREADS)
"""Without meaning where there are no DataLoader workers."""
PREFETCHED: Final = 2
"""torch's own `prefetch_factor`."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from the loader as the user makes it; in the order of `NAMES`."""

    values: tuple[tuple[str, Value], ...] = ()

    @staticmethod
    def of(values: Mapping[str, Value]) -> Changes:
        return Changes(tuple((name, values[name]) for name in NAMES if name in values))

    def __iter__(self) -> Iterator[tuple[str, Value]]:
        return iter(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def as_dict(self) -> dict[str, Value]:
        return dict(self.values)

    def get(self, name: str) -> Value:
        return self.as_dict().get(name)

    @property
    def text(self) -> str:
        """``"num_workers=4, pin_memory=True"``; ``"unchanged"`` for none."""
        return ", ".join(f"{name}={value!r}" for name, value in self) or "unchanged"


def with_change(changes: Changes, name: str, value: Value, made: Mapping[str, Value]) -> Changes:
    """`changes` and one more; what is as the user made it (`made`) is no change."""
    values = {**changes.as_dict(), name: value}
    if not (values.get(WORKERS, made.get(WORKERS)) or 0):
        values = {kept: values[kept] for kept in values if kept not in OF_WORKERS}
    return Changes.of({kept: values[kept] for kept in values if kept not in made or made[kept] != values[kept]})


def in_effect(changes: Changes, made: Mapping[str, Value]) -> dict[str, Value]:
    """All settings of the changed loader."""
    values = {**made, **changes.as_dict()}
    if values.get(WORKERS) and values.get(PREFETCH) is None:
        values[PREFETCH] = PREFETCHED
    return values


def number_of(values: Mapping[str, Value], name: str) -> int:
    """A setting that counts something; 0 where it is absent or None."""
    value = values.get(name)
    return int(value) if isinstance(value, (int, float)) else 0
