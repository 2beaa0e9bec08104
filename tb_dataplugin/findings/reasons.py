"""Causes of idle time, put together where one remedy would help and said in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tb_dataplugin.analyses.idle_causes import Cause

Bound = Literal["read", "cpu", "transfer", "host", "device", "comm", "balanced", "unknown"]
ReasonName = Literal["data_wait", "h2d", "sync", "launch", "host", "comm", "queued", "unknown"]


@dataclass(frozen=True, slots=True)
class Reason:
    """`share` is of the window. `words` follows "because", `short` names it in a list."""

    name: ReasonName
    share: float
    bound: Bound
    words: str
    short: str


_TOLD: Final[dict[ReasonName, tuple[Bound, str, str]]] = {
    "data_wait": ("cpu", "it waits for data", "data wait"),
    "h2d": ("transfer", "the host is in copies to the device", "host-to-device copies"),
    "sync": ("host", "the host is blocked in synchronising calls", "synchronising calls"),
    "launch": ("host", "the host launches operators more slowly than the device finishes them", "launching"),
    "host": ("host", "the training thread is in Python outside all operators", "Python between operators"),
    "comm": ("comm", "the host is blocked in collectives", "collectives"),
    "queued": ("unknown", "work that was launched already did not start", "launched but not started"),
    "unknown": ("unknown", "of nothing that the trace shows", "not recorded"),
}


def rank(idle_by_cause_us: Mapping[Cause, float], queued_us: float, window_us: float) -> tuple[Reason, ...]:
    """Reasons with any time, the largest first. `launch` without the part in which the host was not late (`queued`)."""
    times: dict[ReasonName, float] = dict(idle_by_cause_us.items())
    if "launch" in times:
        times["launch"] -= queued_us
        times["queued"] = queued_us
    found = [Reason(name, time / window_us, *_TOLD[name]) for name, time in times.items() if time > 0 and window_us]
    return tuple(sorted(found, key=lambda reason: -reason.share))
