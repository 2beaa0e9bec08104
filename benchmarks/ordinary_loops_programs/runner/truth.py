"""What a run's own clocks say.

Truth in ms per step: the data wait of the training thread by the loop's clocks, where it meets the planted code's
intervals in any process or thread, in the recorded steps. A program may declare the data wait as a whole, or the
planted time itself. With several workers a second truth (own_ms) counts only the worker whose turn it was. What the
planted calls took, all of them and whether waited for or not, is worked_ms.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

Interval = tuple[float, float]
Row = list[Any]
"""Of a batch: "train" or "val", its step, when the loop asked, got it and was done, whether it is its epoch's first,
and how long next() took, where that was clocked alone.
"""
WHAT, STEP, ASKED, GOT, DONE, FIRST, NEXT = range(7)
SETTLING = 20
"""Batches of the un-annotated run that are not looked at."""
SETTLED = 40
"""The same where 1,000 batches are made: queues have emptied and filled by then."""
PAUSE = 3.0
SAME_WINDOW = 0.02


def union(intervals: Iterable[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for a, b in sorted(intervals):
        if merged and a <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], b))
        else:
            merged.append((a, b))
    return merged


def overlap(xs: Iterable[Interval], ys: Sequence[Interval]) -> float:
    return sum(max(0.0, min(b, d) - max(a, c)) for a, b in xs for c, d in ys)


def plain_truth(folder: Path) -> dict[str, Any]:
    """The steady state of the un-annotated run."""
    rows = json.loads((folder / "run.json").read_text())["rows"][SETTLING:]
    waits = [r[GOT] - r[ASKED] for r in rows]
    t = rows[-1][DONE] - rows[0][ASKED]
    return {
        "batches": len(rows),
        "step_ms": 1e3 * t / len(rows),
        "share": sum(waits) / t,
        "wait_ms": 1e3 * sum(waits) / len(rows),
        "p95_ms": 1e3 * sorted(waits)[int(len(waits) * 0.95)],
    }


def steady_truth(folder: Path) -> dict[str, Any]:
    """The steady state of a long un-annotated run: without first batches and pauses, the first steps left out."""
    rows = json.loads((folder / "run.json").read_text())["rows"][SETTLED:]
    waits = [0.0 if r[FIRST] else r[GOT] - r[ASKED] if r[NEXT] is None else r[NEXT] for r in rows]
    own = [r[DONE] - (r[GOT] if r[FIRST] else r[ASKED] + wait) for r, wait in zip(rows, waits, strict=True)]
    return {
        "batches": len(rows),
        "seconds": rows[-1][DONE] - rows[0][ASKED],
        "share": share_of(sum(waits), without_pauses(own)),
    }


def without_pauses(own: Sequence[float]) -> list[float]:
    """What steps take beside the data wait; what makes one longer than three usual ones is a pause, and left out."""
    usual = sorted(own)[len(own) // 2]
    return [usual if time > PAUSE * usual else time for time in own]


def share_of(wait: float, own: Sequence[float]) -> float:
    """Data wait over itself and what the steps take beside it."""
    whole = wait + sum(own)
    return wait / whole if whole else 0.0


def window_truth(folder: Path, steps: Sequence[int], report_ms: float | None = None) -> dict[str, Any]:
    """The recorded steps of the annotated run: those that the program planned, else `steps`, the report's."""
    run = json.loads((folder / "run.json").read_text())
    a, b = run["window"] or (min(steps), max(steps) + 1)
    rows: list[Row] = run["rows"]
    broken = run["name"].startswith("broken")
    merged = bool(broken and report_ms and _count_broken_as_report(rows, a, b, report_ms))
    inside = [i for i, r in enumerate(rows) if a <= r[STEP] < b and r[WHAT] == "train"]
    t0 = rows[inside[0] - 1][DONE] if inside[0] else rows[0][ASKED]
    t1 = rows[inside[-1]][DONE]
    waits = [(max(t0, r[ASKED]), min(t1, r[GOT])) for r in rows if r[GOT] > t0 and r[ASKED] < t1]
    wait = sum(y - x for x, y in waits)
    declared = run["truth"]
    what, tag, n = declared.get("what", "wait"), declared.get("tag", "plant"), b - a
    clocked = _clocks(folder, tag)
    planted = union((max(t0, x), min(t1, y)) for x, y in clocked if y > t0 and x < t1)
    held = sum(y - x for x, y in planted)
    worked = sum(y - x for x, y in clocked if t0 <= x < t1)
    truth = {"all": wait, "time": held, "wait": overlap(waits, planted)}[what]
    own = _own_turn(rows, _clocks_by_worker(folder, tag), t0, t1) if what == "wait" else None
    return {
        "declared": declared,
        "steps_merged": merged,
        "clock_window_off": report_ms and 1e3 * (t1 - t0) / report_ms - 1,
        "own_ms": None if own is None else 1e3 * own / n,
        "steps": n,
        "window_ms": 1e3 * (t1 - t0),
        "share": wait / (t1 - t0),
        "ends_share": (0.0 if broken else _epoch_ends(rows, t0, t1)) / (t1 - t0),
        "wait_ms": 1e3 * wait / n,
        "truth_ms": 1e3 * truth / n,
        "planted_ms": 1e3 * held / n,
        "worked_ms": 1e3 * worked / n,
    }


def _count_broken_as_report(rows: list[Row], a: int, b: int, report_ms: float) -> bool:
    """Where the report counts a step that `break` ended and the next epoch's first as one: numbers the steps so."""
    if abs(_length_ms(rows, a, b) / report_ms - 1) <= SAME_WINDOW:
        return False
    ended = 0
    for k, r in enumerate(rows):
        ended += bool(k and r[FIRST])
        r[STEP] = k - ended
    return abs(_length_ms(rows, a, b) / report_ms - 1) <= SAME_WINDOW


def _length_ms(rows: list[Row], a: int, b: int) -> float:
    i = min(k for k, r in enumerate(rows) if r[STEP] >= a)
    j = max(k for k, r in enumerate(rows) if r[STEP] < b)
    return float(1e3 * (rows[j][DONE] - rows[i - 1][DONE]))


def _epoch_ends(rows: list[Row], t0: float, t1: float) -> float:
    """The next() that raise StopIteration, workers shut down in them: inside the loader, though no batch comes."""
    return sum(max(0.0, float(min(t1, y[ASKED]) - max(t0, x[DONE]))) for x, y in pairwise(rows) if y[FIRST])


def _own_turn(rows: list[Row], by: dict[int, list[Interval]], t0: float, t1: float) -> float | None:
    """The planted data wait of the worker whose turn it was alone; None with one worker or none."""
    if len(by) <= 1:
        return None
    of = {worker: union(intervals) for worker, intervals in by.items()}
    own, k = 0.0, -1
    for r in rows:
        k = 0 if r[FIRST] else k + 1
        if r[GOT] > t0 and r[ASKED] < t1:
            own += overlap([(max(t0, r[ASKED]), min(t1, r[GOT]))], of.get(k % len(of), []))
    return own


def _clocks_by_worker(folder: Path, tag: str) -> dict[int, list[Interval]]:
    """Intervals of each DataLoader worker, by its number; a later epoch's new workers come to the same number."""
    by: dict[int, list[Interval]] = {}
    for rows in _files(folder):
        worker = next((int(r[3]) for r in rows if r[0] == "worker"), None)
        if worker is not None:
            by.setdefault(worker, []).extend((float(a), float(b)) for t, a, b, _ in rows if t == tag)
    return by


def _clocks(folder: Path, tag: str) -> list[Interval]:
    return [(float(a), float(b)) for rows in _files(folder) for t, a, b, _ in rows if t == tag]


def _files(folder: Path) -> list[list[list[str]]]:
    return [[line.split() for line in path.read_text().splitlines()] for path in folder.glob("clock.*.txt")]
