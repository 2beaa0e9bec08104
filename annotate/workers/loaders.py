"""The DataLoaders of a process that are followed, by number: known weakly, since a program lets go of its own."""

from __future__ import annotations

import weakref
from collections import Counter
from contextlib import suppress
from typing import Any, Final

from annotate.hooks import marked
from annotate.hooks.collating import Collate
from annotate.hooks.datasets import datasets_in
from annotate.hooks.loaders import describe
from annotate.hooks.transforms import Compose
from annotate.trace_format import LoaderMetadata
from annotate.workers.worker_side import WorkerCollate

MOST_LOADERS: Final = 1024
"""Followed in one process: each leaves its settings behind."""
_TOO_MANY: Final = (
    f"this process made more than {MOST_LOADERS} DataLoaders: the later ones are not recorded. Make a loader once, and "
    "iterate it for each epoch"
)


class Loaders:
    """All loaders that are followed, by number."""

    def __init__(self) -> None:
        self.settings: Final[list[LoaderMetadata]] = []
        """By number, as they were at the latest ``iter(loader)``."""
        self.in_use: Final[dict[int, int]] = {}
        """Number -> iterations of it that gave batches in the session that is on, or was on last."""
        self.has_too_many = False
        self.may_run_stages = False
        """A stage was made: any loader may run it in its workers, and all are followed."""
        self._anew: Final[Counter[int]] = Counter()
        """Number of the first of several loaders -> how often another was made in its place."""
        self._numbers: Final[dict[int, tuple[weakref.ref[Any], int]]] = {}
        self._datasets: Final[dict[int, weakref.ref[Any]]] = {}
        """By number: an iterator keeps its dataset, and not its loader."""

    def number_of(self, loader: object) -> int | None:
        known = self._numbers.get(id(loader))
        return known[1] if known is not None and known[0]() is loader else None

    def notes(self) -> list[str]:
        """What a trace has to say of loaders that are not followed."""
        return [_TOO_MANY] if self.has_too_many else []

    def there(self) -> set[int]:
        """Numbers of those that the program still holds."""
        return {number for reference, number in list(self._numbers.values()) if reference() is not None}

    def made_anew(self) -> int:
        """How many the program made one after another, with the same settings; 1: it keeps what it made."""
        return 1 + max(self._anew.values(), default=0)

    def first_made_anew(self) -> int:
        """The number of the first of those."""
        return max(self._anew, key=lambda number: self._anew[number], default=0)

    def _note_new(self, number: int) -> None:
        """Whether those before with its settings were gone by then: as the program ends, all are."""
        alike = [other for other in range(number) if self.settings[other] == self.settings[number]]
        if alike and self.there().isdisjoint(alike):
            self._anew[alike[0]] += 1

    def alive(self) -> list[object]:
        return [loader for reference, _ in list(self._numbers.values()) if (loader := reference()) is not None]

    def iterated(self, loader: Any) -> int | None:
        """The number of a loader that is about to be iterated; None for one that is not to be followed."""
        number = known = self.number_of(loader)
        if number is None:
            if not self._is_wanted(loader):
                return None
            if len(self.settings) >= MOST_LOADERS:
                self.has_too_many = True
                return None
            number = len(self.settings)
            self._numbers[id(loader)] = weakref.ref(loader, self._forget), number
            self.settings.append({})
        elif marked.is_skipped(loader):
            return None
        self.settings[number] = describe(loader)
        if known is None:
            self._note_new(number)
        with suppress(TypeError, AttributeError):  # a list, for one
            self._datasets[number] = weakref.ref(loader.dataset)
        return number

    def datasets_alone(self) -> list[object]:
        """Those whose loaders are gone (``for batch in DataLoader(...)``)."""
        there = self.there()
        found = [(number, reference()) for number, reference in list(self._datasets.items())]
        for number, dataset in found:
            if dataset is None:
                del self._datasets[number]
        return [dataset for number, dataset in found if dataset is not None and number not in there]

    def _forget(self, dead: weakref.ref[Any]) -> None:
        for key, (reference, _) in list(self._numbers.items()):
            if reference is dead:
                del self._numbers[key]

    def _is_wanted(self, loader: object) -> bool:
        return not marked.is_skipped(loader) and (marked.follows_all or self.may_run_stages or is_annotated(loader))


def is_annotated(loader: object) -> bool:
    """Whether a loader, its dataset, one of its transforms or its collate function was given to annotate."""
    if marked.is_marked("loader", loader):
        return True
    if isinstance(getattr(loader, "collate_fn", None), (Collate, WorkerCollate)):
        return True
    for ds in datasets_in(getattr(loader, "dataset", None)):
        held = list(getattr(ds, "__dict__", {}).values())
        if marked.is_marked("dataset", ds) or any(isinstance(value, Compose) for value in held):
            return True
        if any(marked.is_marked("transform", value) for value in held):
            return True
    return False
