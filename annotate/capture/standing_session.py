"""The session of one cycle of a profiler of the user's."""

from __future__ import annotations

from annotate.capture.session import Session
from annotate.hooks.patching import adopted
from annotate.recording import switch
from annotate.saying import guard
from annotate.trace_format import LoaderMetadata
from annotate.workers.standing import StandingWorkers


class StandingSession(Session):
    """The session of one cycle of a profiler of the user's."""

    def __init__(self, workers: StandingWorkers) -> None:
        super().__init__(workers=workers)
        self.patches = adopted(self.patches)
        self._standing = workers

    def begin(self, *, reports_again: bool = False) -> None:
        switch.set_at_work(True)
        super().begin()
        for loader in self._standing.loaders.alive():
            self.time_loader(loader)
        for ds in self._standing.loaders.datasets_alone():
            self._time("dataset", ds)
        self._standing.on_loader = self.time_loader

    def time_loader(self, loader: object) -> None:
        with guard("annotate does not time a DataLoader"):
            self._time("loader", loader)

    def describe_loaders(self) -> list[LoaderMetadata]:
        return self._standing.describe()

    def forks_workers(self) -> bool:
        return super().forks_workers() and set(self._standing.strangers.values()) <= {"fork"}

    def _remember(self, loader: object) -> None:
        """Loaders are known weakly: a program lets go of its own when it likes."""

    def _known_loaders(self) -> list[object]:
        return self._standing.loaders.alive()
