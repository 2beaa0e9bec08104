"""Puts the stages of a replay beside those of a run with DataLoader workers: the ratio is what contention costs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Final

from annotate.trace_format import SEPARATOR
from tb_dataplugin.reader.discovery import stamp_ns
from tb_dataplugin.report import report_pb2 as pb

_WAIT = "wait" + SEPARATOR

ALIKE: Final = 0.5
"""Part of their stages in common from which both are taken to load the same way: unlike programs have had a third."""

_OF_EACH_RUN: Final = frozenset({"wait", "transfer", "h2d", "sampler"})
"""Kinds of stages that depend on how a loader is run."""


def with_replay(capture: pb.Capture, others: Iterable[pb.Capture]) -> pb.Capture:
    """`capture`, with `replay_name`, and `replay_mean_us` and `replay_ratio` on its stages, when `others` hold a replay
    of its dataset.

    The nearest such replay counts. A capture without DataLoader workers is returned unchanged.
    """
    replays = [other for other in others if _is_replay_of(capture, other)]
    if capture.mode != "train" or not capture.workers or not replays:
        return capture
    replay = max(reversed(replays), key=lambda other: _nearness(capture.name, other.name))
    means = {_key(stage): stage.self_us / stage.count for stage in replay.stages if stage.count}
    paired = pb.Capture()
    paired.CopyFrom(capture)
    paired.replay_name = replay.name
    for stage in paired.stages:
        mean = means.get(_key(stage))
        if mean is not None and stage.count and stage.kind != "wait":
            stage.replay_mean_us = mean
            if mean > 0:
                stage.replay_ratio = stage.self_us / stage.count / mean
    return paired


def _nearness(own: str, other: str) -> tuple[int, bool, int]:
    """Folders in common, whether of one process, and how little time lies between: a program is often changed and
    recorded anew below one log directory.
    """
    paths = PurePosixPath(own), PurePosixPath(other)
    parts = zip(paths[0].parts, paths[1].parts, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))
    stamps = [stamp_ns(path.name) or 0 for path in paths]
    processes = [path.name.partition(".")[0] for path in paths]
    return shared, processes[0] == processes[1], -abs(stamps[0] - stamps[1])


def _is_replay_of(capture: pb.Capture, other: pb.Capture) -> bool:
    """Of a dataset that is called the same, stands in the same file, and has most stages in common: programs have
    datasets of one name. Not of samples that somebody named, as the slowest are: they are not like the run's.
    """
    dataset = capture.loader.dataset
    if other.mode != "replay" or other.replayed_samples or not dataset or other.loader.dataset != dataset:
        return False
    files = [_files_of_samples(one) for one in (capture, other)]
    own, replayed = _names(capture), _names(other)
    return all(files[1].get(name, file) == file for name, file in files[0].items()) and (
        len(own & replayed) >= ALIKE * len(own | replayed)
    )


def _files_of_samples(capture: pb.Capture) -> dict[str, str]:
    """By stage, the file of the class whose samples it makes, where that is known."""
    made = [stage for stage in capture.stages if stage.kind == "sample" and stage.defined_at]
    return {stage.path[-1]: stage.defined_at.rpartition(":")[0] for stage in made}


def _names(capture: pb.Capture) -> frozenset[str]:
    return frozenset(stage.path[-1] for stage in capture.stages if stage.kind not in _OF_EACH_RUN)


def _key(stage: pb.Stage) -> tuple[str, ...]:
    """The chain of stages without the enclosing wait of captures without workers."""
    return tuple(name for name in stage.path if not name.startswith(_WAIT))
