"""How much of the window the training thread waits for Python's lock, which others of the user's threads hold."""

from __future__ import annotations

from collections.abc import Mapping

from annotate.trace_format import OWN_THREAD
from tb_dataplugin.analyses.results import Results


def locked_share(results: Results) -> float:
    """Of the window, without threads of the recorder; 0 where too little was sampled."""
    limits = results.limits
    if limits is None or not results.window.duration_ns:
        return 0.0
    parts = [part for part in (limits.outside, limits.data_wait) if part is not None and part.gil_ns is not None]
    waited_ns = sum((part.gil_ns or 0) - part.in_workers_ns for part in parts)
    own = own_lock_ns(limits.holders_ns) / sum(limits.holders_ns.values()) if limits.holders_ns else 0.0
    return waited_ns * (1 - own) / results.window.duration_ns


def own_lock_ns(holders: Mapping[str, int]) -> int:
    """Time in which the training thread waited for a thread of annotate's: a cost of recording, not of the program."""
    return sum(time for name, time in holders.items() if name.startswith(OWN_THREAD))
