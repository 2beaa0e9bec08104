"""Puts the stages of a replay beside those of a run with DataLoader workers: the ratio is what contention costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from annotate.trace_format import SEPARATOR
from tb_dataplugin.report import report_pb2 as pb

_WAIT = "wait" + SEPARATOR

ALIKE: Final = 0.5
"""Part of their stages in common from which both are taken to load the same way: unlike programs have had a third."""

_OF_EACH_RUN: Final = frozenset({"wait", "transfer", "h2d", "sampler"})
"""Kinds of stages that depend on how a loader is run."""


def with_replay(capture: pb.Capture, others: Iterable[pb.Capture]) -> pb.Capture:
    """`capture`, with `replay_name`, and `replay_mean_us` and `replay_ratio` on its stages, when `others` hold a replay
    of its dataset.

    The last such replay counts. A capture without DataLoader workers is returned unchanged.
    """
    replays = [other for other in others if _is_replay_of(capture, other)]
    if capture.mode != "train" or not capture.workers or not replays:
        return capture
    means = {_key(stage): stage.self_us / stage.count for stage in replays[-1].stages if stage.count}
    paired = pb.Capture()
    paired.CopyFrom(capture)
    paired.replay_name = replays[-1].name
    for stage in paired.stages:
        mean = means.get(_key(stage))
        if mean is not None and stage.count and stage.kind != "wait":
            stage.replay_mean_us = mean
            if mean > 0:
                stage.replay_ratio = stage.self_us / stage.count / mean
    return paired


def _is_replay_of(capture: pb.Capture, other: pb.Capture) -> bool:
    """Of a dataset that is called the same and has most stages in common: programs have datasets of one name."""
    dataset = capture.loader.dataset
    if other.mode != "replay" or not dataset or other.loader.dataset != dataset:
        return False
    own, replayed = _names(capture), _names(other)
    return len(own & replayed) >= ALIKE * len(own | replayed)


def _names(capture: pb.Capture) -> frozenset[str]:
    return frozenset(stage.path[-1] for stage in capture.stages if stage.kind not in _OF_EACH_RUN)


def _key(stage: pb.Stage) -> tuple[str, ...]:
    """The chain of stages without the enclosing wait of captures without workers."""
    return tuple(name for name in stage.path if not name.startswith(_WAIT))
