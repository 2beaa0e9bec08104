"""Python stacks that were sampled while the window was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tb_dataplugin.model.intervals import Int64Array

Origin = Literal["user", "library", "recorder", "stage", "native"]
"""Whose code a frame is; "native": compiled code, of which `Frame.function` is a symbol and `Frame.file` the library or
a source file; "stage": it is none, but stands for a stage in a tree of frames.
"""


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in the code. `line` is 0 where it is not known; `first` is where the function begins."""

    function: str
    file: str
    line: int
    first: int
    origin: Origin
    source: str = ""
    """Text of the line; "" where it was not recorded."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A generator (or a ``__next__``) around a loader, in the training thread: `first` is where the function begins.

    Of `steps` that ended in the window, `steps_inside` did while it ran: then it is the training loop itself.
    """

    function: str
    file: str
    first: int
    is_generator: bool
    steps_inside: int
    steps: int


@dataclass(frozen=True, slots=True)
class Stacks:
    """A tree over `parent` (-1: none) and `frame` (index into `frames`): a stack is its innermost node."""

    frames: tuple[Frame, ...]
    parent: Int64Array
    frame: Int64Array

    def inwards(self, stack: int) -> list[Frame]:
        """The frames of a stack, outermost first."""
        found = []
        while stack >= 0:
            found.append(self.frames[self.frame[stack]])
            stack = int(self.parent[stack])
        return found[::-1]


@dataclass(frozen=True, slots=True)
class SampledStacks:
    """Equally long columns, by time: `stack` is a node of `Stacks` or -1, `state` as in `SampledThread`, or -1."""

    pid: int
    tid: int
    is_training: bool
    time_ns: Int64Array
    stack: Int64Array
    state: Int64Array

    def weight_ns(self, by_elapsed: bool) -> Int64Array:
        """The time that each sample stands for: half of the way to those around it; `by_elapsed`: since the last."""
        if len(self.time_ns) < 2:
            return np.ones(len(self.time_ns), dtype=np.int64)
        between = np.diff(self.time_ns)
        if by_elapsed:
            return np.concatenate((between[:1], between))
        middle = (self.time_ns[1:] + self.time_ns[:-1]) // 2
        return np.diff(np.concatenate(([self.time_ns[0]], middle, [self.time_ns[-1]])))


@dataclass(frozen=True, slots=True)
class NativeFacts:
    """Native frames were asked for: of `samples`, `joined` got theirs. `why_not`: why some are missing, clauses."""

    samples: int
    joined: int
    cost_ns: int
    left_out: int
    why_not: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LineSamples:
    """`is_outside`: another process took them, so that nothing in the sampled one hid anything from it.

    `holders`: by name, threads of the training process that had Python's lock and ran no stage; they are not among
    `threads`.

    `why_not`: why there are none, as a clause. `unseen`: what the sampler could not see, sentences.
    """

    stacks: Stacks
    threads: tuple[SampledStacks, ...]
    holders: Mapping[str, SampledStacks] = field(default_factory=dict)
    is_outside: bool = True
    clock_error_ns: int = 0
    cost_ns: int | None = None
    unread: int = 0
    left_out: int = 0
    unseen: tuple[str, ...] = ()
    why_not: str = ""
    native: NativeFacts | None = None

    def __iter__(self) -> Iterator[SampledStacks]:
        return iter(self.threads)

    @property
    def interval_ns(self) -> float:
        """Between two samples of a thread, on average."""
        gaps = [np.diff(thread.time_ns) for thread in self if len(thread.time_ns) > 1]
        return float(np.concatenate(gaps).mean()) if gaps else 0.0
