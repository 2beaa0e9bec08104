"""Whether sides are compared with the starts of their epochs, or within an epoch only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from tb_dataplugin.compare.sides import Run
from tb_dataplugin.findings.thresholds import SEVERAL_EPOCHS
from tb_dataplugin.report import report_pb2 as pb

MUCH: Final = 0.02
"""Share of a side's windows that starts of epochs have, from which the first sentence says that it is without them."""


def with_like_starts(before: Sequence[Run], after: Sequence[Run]) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """The same runs; nothing is told apart in them where epochs start again and again in every window of both sides
    (steps vary by that, which the interval has, and a side without DataLoader workers has its starts in the time of the
    loop in any case), or where starts that were too short to be told apart have much of the loop's time in some
    captures: those of the others count likewise.
    """
    captures = [capture for run in (*before, *after) for capture in run.captures]
    if all(capture.loader.epochs >= SEVERAL_EPOCHS for capture in captures) or _have_unlike_starts(captures):
        return tuple(map(_whole, before)), tuple(map(_whole, after))
    return tuple(before), tuple(after)


def _have_unlike_starts(captures: Sequence[pb.Capture]) -> bool:
    """Told apart in some, and in the time of the loop in others. Other DataLoaders that are told apart as well stay
    out: that is of more weight.
    """
    are_apart = any(capture.loader.apart.epochs for capture in captures)
    inside = [capture for capture in captures if capture.loader.epochs and not capture.loader.apart.epochs]
    longer = sum(map(_longer_than_others_us, inside))
    counts = longer > MUCH * sum(capture.window_us for capture in inside)
    return are_apart and counts and not any(capture.loader.apart.others for capture in captures)


def _longer_than_others_us(capture: pb.Capture) -> float:
    """By how much the first batches were waited for longer than others are."""
    loader, waits = capture.loader, [step.data_wait_us for step in capture.steps.items]
    usual = median(waits) if waits else 0.0
    return max(0.0, loader.first_batch_wait_us - max(1, loader.first_batch_count) * usual)


def _whole(run: Run) -> Run:
    return replace(run, captures=tuple(map(_whole_capture, run.captures)))


def _whole_capture(capture: pb.Capture) -> pb.Capture:
    if not capture.loader.HasField("apart"):
        return capture
    whole = pb.Capture()
    whole.CopyFrom(capture)
    whole.loader.ClearField("apart")
    for step in whole.steps.items:
        step.ClearField("apart_us")
        step.ClearField("between_us")
    return whole


def is_within_epoch(before: Sequence[Run], after: Sequence[Run]) -> bool:
    """Whether a considerable part of a side's windows is starts and ends of epochs that are left out."""
    return any(
        _left(side) > MUCH * sum(capture.window_us for run in side for capture in run.captures)
        for side in (before, after)
    )


def _left(side: Sequence[Run]) -> float:
    return sum(capture.loader.apart.starts_us for run in side for capture in run.captures)


def has_iter_on_one_side(before: Sequence[Run], after: Sequence[Run]) -> bool:
    """Whether starting DataLoader workers, in ``iter(loader)``, is data wait in some captures and training step in
    others, as in those of another version.
    """
    has = [
        {capture.loader.has_iter for run in side for capture in run.captures if _starts_workers(capture.loader)}
        for side in (before, after)
    ]
    return len(has[0] | has[1]) > 1


def _starts_workers(loader: pb.Loader) -> bool:
    return loader.num_workers > 0 and loader.HasField("first_batch_wait_us") and not loader.persistent_workers
