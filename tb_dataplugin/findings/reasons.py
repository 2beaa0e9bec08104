"""Causes of idle time, put together where one remedy would help and said in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tb_dataplugin.analyses.idle_causes import Cause

Bound = Literal["read", "cpu", "transfer", "sampler", "wrapper", "host", "device", "comm", "balanced", "unknown"]
ReasonName = Literal["data_wait", "h2d", "sync", "launch", "host", "comm", "queued", "unknown"]


@dataclass(frozen=True, slots=True)
class Reason:
    """`share` is of the window. `words` follow it in a sentence."""

    name: ReasonName
    share: float
    bound: Bound
    words: str


_WORDS: Final[dict[ReasonName, tuple[Bound, str]]] = {
    "data_wait": ("cpu", "because it waits for data"),
    "h2d": ("transfer", "because the host is copying to the device"),
    "sync": ("host", "because the host is blocked in synchronising calls"),
    "launch": ("host", "because the host launches operators more slowly than the device finishes them"),
    "host": ("host", "because the training thread is in Python outside all operators"),
    "comm": ("comm", "because the host is blocked in collectives"),
    "queued": ("unknown", "because work that was already launched had not started"),
    "unknown": ("unknown", "with no recorded cause"),
}


def rank(idle_by_cause_us: Mapping[Cause, float], launched_early_us: float, window_us: float) -> tuple[Reason, ...]:
    """Reasons with any time, the largest first. `launch` without the part in which the host was not late."""
    times: dict[ReasonName, float] = dict(idle_by_cause_us.items())
    if "launch" in times:
        times["launch"] -= launched_early_us
        times["queued"] = launched_early_us
    known = [Reason(name, time / window_us, *_WORDS[name]) for name, time in times.items() if time > 0 and window_us]
    return tuple(sorted(known, key=lambda reason: -reason.share))
