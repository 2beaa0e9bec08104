"""What a search needs of whatever runs loops: a real program (`server`), or a made-up one in tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.tune.setting import Changes, Value


class CannotRun(DataPipelineError):
    """A setting that the user's loader does not run with; the text says why."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the loader, the library and the machine before anything is timed.

    made        its settings, as the user makes it
    takes       keywords that this torch's DataLoader has
    device      batches are copied there: "" for none
    iterable    its dataset has no indices
    undivided   class of an iterable dataset that each DataLoader worker reads all of, as far as its code shows
    """

    made: Mapping[str, Value]
    cpus: int
    takes: frozenset[str] = frozenset()
    batch_size: int | None = None
    device: str = ""
    opencv: bool = False
    file: str = ""
    line: int = 0
    note: str = ""
    iterable: bool = False
    undivided: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """A short part of a loop, in seconds: `total` for `batches`, of which it waited `wait` for data.

    epochs          that ended in it
    worker_bytes    memory of the largest DataLoader worker
    batch_bytes     of one batch
    passed          batches of the longest whole pass over an iterable dataset that the loop has seen; 0: none
    same            its DataLoader workers were seen to deliver the same batches
    """

    batches: int
    total: float
    wait: float
    epochs: int = 0
    worker_bytes: float = 0.0
    batch_bytes: float = 0.0
    passed: int = 0
    same: bool = False

    @property
    def step_s(self) -> float:
        return self.total / self.batches


class Loop(Protocol):
    """A loop that can be timed over and over."""

    def window(self) -> Window:
        """Raises CannotRun."""
        ...

    def close(self) -> None: ...


class Runner(Protocol):
    """Starts loops."""

    def start(self, changes: Changes) -> Loop:
        """Raises CannotRun."""
        ...


@dataclass(frozen=True, slots=True)
class Forecast:
    """Step time with a change over that without, as predicted, and the ends of its 90% interval. `crowded`: other
    programs would pay for a gain, so that none is predicted.
    """

    value: float
    low: float
    high: float
    crowded: bool = False


class Model(Protocol):
    """Predicts, from a capture of the unchanged loop."""

    def forecast(self, changes: Changes, beside: Changes) -> Forecast | None:
        """Of one change against another; None for settings that it does not know."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """When a search ends, at the latest; and how long a window is timed (seconds)."""

    runs: int = 12
    minutes: float = 15.0
    pairs: int = 8
    tried: tuple[str, ...] = field(default=())
    """Names of settings to try; none: all."""
