"""The facts about copies to the device, and calls that wait for it, that rules use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.findings.reasons import ReasonName
from tb_dataplugin.units import percent


@dataclass(frozen=True, slots=True)
class LoneGaps:
    """A few gaps that have most of a reason's idle time."""

    count: int
    us: float
    """What they have of it."""
    share: float
    """Of all that the reason has."""
    inside: str = ""
    """Of a single gap: the runtime call, else the operator, that the host was in for at least half of it, or ""."""
    inside_us: float = 0.0
    """How long, within the gap."""
    has_steps: bool = True
    """So that gaps of each step would be known as such."""


@dataclass(frozen=True, slots=True)
class IdleSignals:
    """Idle time of the first device."""

    total_us: float | None = None
    """None without a device."""
    by_cause_us: Mapping[Cause, float] = field(default_factory=dict)
    """Empty without a device; a cause that cannot be known is missing."""
    launched_early_us: float = 0.0
    """Part of cause `launch` in which the work had been launched, its call had returned: the host was not late."""
    long_pauses_us: float = 0.0
    """Part of cause `host` in gaps with at least `LONG_PAUSE_US` of it."""
    lone: Mapping[ReasonName, LoneGaps] = field(default_factory=dict)
    """Of reasons of which a few gaps have most."""
    gap_count: int = 0
    reserve: str = ""
    """Why the device may not have been idle; "" where nothing says so."""

    def of_window(self, share: float) -> str:
        """How long it was idle, as a sentence begins, with that reserve."""
        return f"The device is idle for {percent(share)} of the window{self.in_brackets}"

    @property
    def in_brackets(self) -> str:
        """The reserve behind a word; "" without any."""
        return f" ({self.reserve})" if self.reserve else ""


@dataclass(frozen=True, slots=True)
class CopySignals:
    """Copies from the host to the first device."""

    count: int
    """Copies that start in the window."""
    pageable: int
    """Those from pageable memory, by their name."""
    pinned: int
    """Those from pinned memory, by their name."""
    launched: int
    """Those whose runtime call is in the trace."""
    blocking: int
    """Of `launched`, those that the host waited for."""
    copy_us: float
    """Union of the copies on the device."""
    overlapped_us: float | None
    """Part of `copy_us` with a kernel on the device; None when no kernel was recorded."""
    gigabytes_per_s: float | None
    """Speed while copying; None when the sizes are not known."""
    one_off: tuple[int, float] | None = None
    """Of several steps the one that alone has nearly all idle time of copies, and how much: no habit."""


@dataclass(frozen=True, slots=True)
class SyncSignals:
    """Synchronising calls that start in the window."""

    calls: int
    """How many."""
    waited_us: float
    """How long the host was blocked in them."""
    drained_us: float
    """Idle time of the first device that follows from them."""
    inside: tuple[tuple[str, int], ...]
    """The operators that they are called in, with the number of calls, the most frequent first."""
