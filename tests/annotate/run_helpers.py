"""What tests of whole runs stand on."""

from __future__ import annotations

from collections.abc import Callable

from annotate.recording.takers import Takers
from annotate.whole_run.series import Event, Here, Iterated


class Loaders:
    """As `RunFollower`, without loaders."""

    latest: Iterated | None = None
    trouble: str | None = None

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.takers = Takers()
        self.here = Here()

    @property
    def happened(self) -> Callable[[Event], None]:
        return self.events.append

    def tell_trouble(self) -> None: ...
