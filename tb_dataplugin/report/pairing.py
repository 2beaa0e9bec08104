"""Puts the stages of a replay beside those of a run with DataLoader workers: the ratio is what contention costs."""

from __future__ import annotations

from collections.abc import Iterable

from annotate.trace_format import SEPARATOR
from tb_dataplugin.report import report_pb2 as pb

_WAIT = "wait" + SEPARATOR


def with_replay(capture: pb.Capture, others: Iterable[pb.Capture]) -> pb.Capture:
    """`capture`, with `replay_mean_us` and `replay_ratio` on its stages when `others` hold a replay of its dataset.

    The last such replay counts. A capture without DataLoader workers is returned unchanged.
    """
    dataset = capture.loader.dataset
    replays = [other for other in others if other.mode == "replay" and other.loader.dataset == dataset]
    if capture.mode != "train" or not capture.workers or not dataset or not replays:
        return capture
    means = {_key(stage): stage.self_us / stage.count for stage in replays[-1].stages if stage.count}
    paired = pb.Capture()
    paired.CopyFrom(capture)
    for stage in paired.stages:
        mean = means.get(_key(stage))
        if mean is not None and stage.count and stage.kind != "wait":
            stage.replay_mean_us = mean
            if mean > 0:
                stage.replay_ratio = stage.self_us / stage.count / mean
    return paired


def _key(stage: pb.Stage) -> tuple[str, ...]:
    """The chain of stages without the enclosing wait of captures without workers."""
    return tuple(name for name in stage.path if not name.startswith(_WAIT))
