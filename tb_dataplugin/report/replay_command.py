"""The command that loads a capture's slowest samples again, alone, and the same in Python."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from annotate.trace_format import parse_span_name
from tb_dataplugin.analyses.throughput import BUILDING
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.report import report_pb2 as pb

LOGDIR: Final = "runs/replay"


def add_replay_command(capture: pb.Capture) -> None:
    """Into a capture that has slow samples with an index, where building batches costs enough to be worth looking at
    them; for each loader by itself. The loader's place in the code is the user's to fill in.
    """
    if capture.mode != "train" or not _is_worth_it(capture):
        return
    for loader in capture.sample_loaders:
        samples = [sample.index for sample in capture.slow_samples if sample.loader == loader.loader]
        _add(loader, samples, capture.file, are_chosen=capture.HasField("selection"))
    first = next((loader for loader in capture.sample_loaders if loader.replay_command), pb.SampleLoader())
    capture.replay_command, capture.replay_code = first.replay_command, first.replay_code


def _add(loader: pb.SampleLoader, samples: Sequence[int], file: str, *, are_chosen: bool) -> None:
    """`are_chosen`: they are the slowest of some steps, which only their indices name."""
    indices = list(dict.fromkeys(index for index in samples if index >= 0))
    if not indices or loader.loader < 0:
        return
    which = f"--indices {','.join(map(str, indices))}" if are_chosen else f"--slowest {len(samples)}"
    loader.replay_command = (
        f"python -m annotate replay MODULE:MAKE_LOADER --logdir {LOGDIR} {which} --from {shlex.quote(file)}"
    )
    loader.replay_code = f'annotate.replay(loader, "{LOGDIR}", indices={indices})'


def _is_worth_it(capture: pb.Capture) -> bool:
    """Where there is a data wait and what caused it is not known, it may be."""
    built_us = waited_for_building_us(capture)
    return capture.HasField("loader") if built_us is None else built_us >= INPUT_BOUND * capture.window_us


def waited_for_building_us(capture: pb.Capture) -> float | None:
    """Data wait that building batches caused; None where that is not known."""
    if not capture.loader.wait_by_stage_us:
        return None
    stages = ((parse_span_name(name), time) for name, time in capture.loader.wait_by_stage_us.items())
    return sum(time for stage, time in stages if stage is not None and stage.kind in BUILDING)
