"""The command that loads a capture's slowest samples again, alone, and the same in Python."""

from __future__ import annotations

import shlex
from typing import Final

from annotate.trace_format import parse_span_name
from tb_dataplugin.analyses.throughput import BUILDING
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.report import report_pb2 as pb

LOGDIR: Final = "runs/replay"


def add_replay_command(capture: pb.Capture) -> None:
    """Into a capture that has slow samples with an index, where building batches costs enough to be worth looking at
    them. The loader's place in the code is the user's to fill in.
    """
    if capture.mode == "train" and _is_worth_it(capture) and any(sample.index >= 0 for sample in capture.slow_samples):
        count = len(capture.slow_samples)
        capture.replay_command = (
            f"python -m annotate replay MODULE:MAKE_LOADER --logdir {LOGDIR} --slowest {count} "
            f"--from {shlex.quote(capture.file)}"
        )
        indices = dict.fromkeys(sample.index for sample in capture.slow_samples if sample.index >= 0)
        capture.replay_code = f'annotate.replay(loader, "{LOGDIR}", indices={list(indices)})'


def _is_worth_it(capture: pb.Capture) -> bool:
    """Where there is a data wait and what caused it is not known, it may be."""
    if not capture.loader.wait_by_stage_us:
        return capture.HasField("loader")
    stages = ((parse_span_name(name), time) for name, time in capture.loader.wait_by_stage_us.items())
    built = sum(time for stage, time in stages if stage is not None and stage.kind in BUILDING)
    return built >= INPUT_BOUND * capture.window_us
