"""Options of a capture, checked once and passed whole."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from annotate.trace_format import Mode

Wait = int | Literal["auto"]
Active = int | Literal["auto"]
Lines = bool | Literal["native"]
"""Whether Python stacks are sampled; "native": with the native frames below them."""


FEWEST_STEPS: Final = 10
"""Of a window whose length is "auto"."""
LEAST_STEPS: Final = 8
"""Of such a window where a longer one would pause the loop for long: a report of fewer steps is doubtful."""
LEAST_HEADSPACE: Final = 8
"""Fewer steps do not show how steps differ; the first ones are thrown away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """What one worker process may use in one window. Spans beyond it are dropped, and counted.

    Raises:
        ValueError: a limit is not positive.
    """

    spool_bytes: int = 64 << 20
    """In the folder for temporary files; a span takes 32."""
    buffered_spans: int = 4096
    """In memory before they are written, also in the middle of a batch."""

    def __post_init__(self) -> None:
        for name in ("spool_bytes", "buffered_spans"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOptions:
    """Where a capture writes, and which steps it records.

    A cycle is `wait` steps untouched ("auto": until the loop is steady), `warmup` steps in which the profiler starts
    up, `active` steps recorded ("auto": as many as lines need, see `annotate.capture.steadiness`); after `repeat`
    cycles the capture is over (0: it goes on until the end).

    Raises:
        ValueError: a count is negative, or `active` is not positive.
        TypeError: a count is not a whole number.
    """

    logdir: Path
    wait: Wait = "auto"
    warmup: int = 2
    active: Active = FEWEST_STEPS
    repeat: int = 1
    mode: Mode = "train"
    host_sample_ms: int = 100
    """Between two samples of the host while a window is open; 0: none."""
    lines: Lines = True
    """Sample the Python stacks of the training thread and of DataLoader workers while a window is open; "native": with
    native frames, which py-spy reads."""
    watch: bool = False
    """Record the whole run as well."""
    workers: WorkerLimits = field(default_factory=WorkerLimits)
    headspace: int = 0
    """Steps after the last window that are served copies of batches; 0: none."""
    verdict: bool = True
    """Say the verdict in the line at the end."""

    def __post_init__(self) -> None:
        for name in ("wait", "warmup", "active", "repeat", "host_sample_ms", "headspace"):
            value = getattr(self, name)
            if name in ("wait", "active") and value == "auto":
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                unit = "milliseconds" if name == "host_sample_ms" else "steps"
                other = ' or "auto"' if name in ("wait", "active") else ""
                raise TypeError(f"{name} must be a whole number of {unit}{other}, not {value!r}")
            if value < 0:
                raise ValueError(f"{name} must be 0 or more, not {value}")
        if not isinstance(self.lines, bool) and self.lines != "native":
            raise TypeError(f'lines must be True, False or "native", not {self.lines!r}')
        for name in ("watch", "verdict"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, not {getattr(self, name)!r}")
        if self.active != "auto" and self.active < 1:
            raise ValueError(f"active must be at least 1, not {self.active}")
        if 0 < self.headspace < LEAST_HEADSPACE:
            raise ValueError(f"headspace must be 0 or at least {LEAST_HEADSPACE} steps, not {self.headspace}")
        if self.headspace and not self.repeat:
            raise ValueError("headspace follows the last window, and repeat=0 has none: give a number of windows")

    @property
    def fewest_recorded(self) -> int:
        """Steps that a window has, where the loop does not end before."""
        return FEWEST_STEPS if self.active == "auto" else self.active

    @property
    def chooses_length(self) -> bool:
        """Whether a window may be longer than the fewest steps: with lines, where the program did not plan it, and not
        with several ranks, whose windows are to have the same steps.
        """
        return self.active == "auto" and self.wait == "auto" and bool(self.lines) and not has_other_ranks()

    @property
    def bounds_pause(self) -> bool:
        """Whether a window is shorter where it would pause the loop for long: not where the program planned it, nor
        with several ranks.
        """
        return self.active == "auto" and self.wait == "auto" and not has_other_ranks()

    @property
    def first_recorded_step(self) -> int | None:
        """None: it is not known before."""
        return None if self.wait == "auto" else self.wait + self.warmup


def has_other_ranks() -> bool:
    """Whether this process is one of several that train together, by what launchers put into the environment."""
    return os.environ.get("WORLD_SIZE", "1") not in ("", "0", "1")


def is_first_rank() -> bool:
    """Whether it is this process that speaks for all ranks; True where there are no others."""
    given = os.environ.get("RANK", "")
    distributed: Any = sys.modules.get("torch.distributed")
    if given or distributed is None:
        return given in ("", "0")
    with suppress(Exception):  # whatever a build of torch without it has in its place
        return not distributed.is_initialized() or bool(distributed.get_rank() == 0)
    return True


def absolute(logdir: str | os.PathLike[str]) -> Path:
    """The folder as an absolute path: the program may change its working directory while it trains.

    Raises:
        ValueError: it is empty.
    """
    if not os.fspath(logdir):
        raise ValueError("logdir is empty: give the folder that the trace is written to")
    return Path(os.path.expanduser(os.fspath(logdir))).absolute()  # noqa: PTH111


__all__ = ["Active", "CaptureOptions", "Lines", "Wait", "WorkerLimits", "absolute", "has_other_ranks", "is_first_rank"]
