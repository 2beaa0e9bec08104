"""One sentence on all ranks: who holds up the others, by how much, and why."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.ranks.summary import OwnerRow, RunOfRanks
from tb_dataplugin.ranks.table import COMPUTE, HOST, UNKNOWN_STAGE
from tb_dataplugin.units import duration, percent, ratio

LITTLE: Final = 0.02
"""Share of all rank time; less than that is lost in any run."""

CLEARLY_LONGER: Final = 1.2
"""From there on a stage's ratio to the other ranks is said."""

LOCKED: Final = 0.05
"""Share of the time, from which waiting for the GIL is named as the reason."""

IN_TRAINING_PROCESS: Final = "transfer"
"""Data wait that the training process may have caused itself, as the host's own time: others have its lock."""

_OTHERS: Final = {
    "starved": "the index of its batch was not drawn yet",
    "startup": "its DataLoader workers were starting",
    "transfer": "its batches were on their way from DataLoader workers",
    "other": "its DataLoader workers were between stages",
    "other_loader": "it waited for batches of a DataLoader that is not annotated",
    "unrecorded": "it waited for batches that left no record",
    "shutdown": "its DataLoader workers were ending",
}


def verdict_of(run: RunOfRanks) -> str:
    if len(run.rows) == 1:
        return f"Only rank {run.rows[0].rank} has a usable capture: who waits for whom is unknown; capture all ranks."
    if run.apart:
        return f"Time lost across ranks is unknown: {run.apart.sentence}."
    if not run.collectives:
        return "Time lost across ranks is unknown: no collective was seen on all ranks after one that all had left."
    if run.lost_share < LITTLE or not run.owners:
        return f"No rank holds up the others: {percent(run.lost_share)} of all rank time is lost in collectives."
    by_rank = _by_rank(run)
    leading = max(by_rank, key=lambda rank: sum(row.lost_us for row in by_rank[rank]))
    rows = by_rank[leading]
    if rows[0].pattern == "roaming":
        return _roaming(run)
    share = percent(sum(row.lost_us for row in rows) / run.whole_us)
    if rows[0].pattern == "unclear":
        return (
            f"{percent(run.lost_share)} of all rank time is lost waiting for other ranks, {share} waiting for rank "
            f"{leading}, because {_reason(run, rows[0])}{_where(run, rows[0])}; too few collectives, or too uneven, to "
            "say whether it is always that rank."
        )
    return (
        f"Rank {leading} holds up the others: {share} of all rank time is lost waiting for it, because "
        f"{_reason(run, rows[0])}{_where(run, rows[0])}."
    )


def _by_rank(run: RunOfRanks) -> dict[int, list[OwnerRow]]:
    found: dict[int, list[OwnerRow]] = {}
    for row in run.owners:
        found.setdefault(row.rank, []).append(row)
    return found


def _roaming(run: RunOfRanks) -> str:
    by_cause: dict[str, float] = {}
    for row in run.owners:
        by_cause[row.cause] = by_cause.get(row.cause, 0.0) + row.lost_us
    cause = max(by_cause, key=lambda name: by_cause[name])
    share, part = percent(run.lost_share), percent(by_cause[cause] / run.lost_us)
    return (
        f"The rank that comes last changes from step to step, and {share} of all rank time is lost waiting for it; "
        f"{part} of that is {_cause(cause)}: make it faster on all ranks, not on one.{_all_wait(run)}"
    )


def _all_wait(run: RunOfRanks) -> str:
    """What matters more where no rank is to blame."""
    pairs = [(row.data_wait_us, row.step_us) for row in run.rows]
    shares = [wait / step for wait, step in pairs if wait is not None and step]
    if len(shares) < len(pairs) or min(shares) <= run.lost_share:
        return ""
    least, most = percent(min(shares)), percent(max(shares))
    many = least if least == most else f"{least} to {most}"
    return f" More is to gain from their data: all ranks wait for it, for {many} of their steps."


def _cause(cause: str) -> str:
    named = {HOST: "outside of operators (Python code, the GIL, or no free CPU)", COMPUTE: "computing"}
    return named.get(cause, "data wait" if cause == UNKNOWN_STAGE else f"data wait for {cause}")


def _lock(run: RunOfRanks, rank: int) -> str:
    """Where the GIL is why, as the other ranks show."""
    own = next(row.lock_share for row in run.rows if row.rank == rank)
    others = [row.lock_share for row in run.rows if row.rank != rank and row.lock_share is not None]
    if own is None or not others or own < LOCKED or own < 2 * max(others):
        return ""
    return (
        f"its training thread waits for the GIL for {percent(own)} of its time (others: at most {percent(max(others))})"
    )


def _reason(run: RunOfRanks, row: OwnerRow) -> str:
    lock = _lock(run, row.rank) if row.cause == HOST or row.cause.startswith(IN_TRAINING_PROCESS) else ""
    if lock:
        return lock
    if row.cause == HOST:
        return "its training process spends longer outside of operators: Python code, the GIL, or no free CPU"
    if row.cause == COMPUTE:
        return "it computes longer between collectives"
    if row.cause == UNKNOWN_STAGE:
        return "it waits longer for its data"
    if row.cause in _OTHERS:
        return _OTHERS[row.cause]
    if row.times_others is not None and row.times_others >= CLEARLY_LONGER:
        return f"{row.cause} takes {ratio(row.times_others)[:-1]} times as long there"
    return f"it waits longer for {row.cause}"


def _where(run: RunOfRanks, row: OwnerRow) -> str:
    return f" (host {row.host})" if len({one.host for one in run.rows}) > 1 and row.host else ""


def clock_sentence(run: RunOfRanks) -> str:
    """What was done about clocks; "" where there is nothing to say."""
    moved = [clock for clock in run.clocks if clock.is_applied]
    if not moved:
        return ""
    farthest = max(moved, key=lambda clock: abs(clock.ahead_ns))
    direction = "ahead of" if farthest.ahead_ns > 0 else "behind"
    which = f"Clocks of {len(moved)} ranks were aligned" if len(moved) > 1 else "One clock was aligned"
    return (
        f"{which} by the ends of collectives: that of rank {farthest.rank} is {duration(abs(farthest.ahead_ns) / 1e3)} "
        f"{direction} rank {run.clocks[0].rank}'s (± {duration(farthest.error_ns / 1e3)})."
    )
