"""The command that loads a capture's slowest samples again, alone, and the same in Python."""

from __future__ import annotations

import shlex
from typing import Final

from tb_dataplugin.report import report_pb2 as pb

LOGDIR: Final = "runs/replay"


def add_replay_command(capture: pb.Capture) -> None:
    """Into a capture that has slow samples with an index. The loader's place in the code is the user's to fill in."""
    if capture.mode == "train" and any(sample.index >= 0 for sample in capture.slow_samples):
        count = len(capture.slow_samples)
        capture.replay_command = (
            f"python -m annotate replay MODULE:MAKE_LOADER --logdir {LOGDIR} --slowest {count} "
            f"--from {shlex.quote(capture.file)}"
        )
        indices = dict.fromkeys(sample.index for sample in capture.slow_samples if sample.index >= 0)
        capture.replay_code = f'annotate.replay(loader, "{LOGDIR}", indices={list(indices)})'
