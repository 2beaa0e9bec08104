"""`trace_handler`: what a profiler of the user's own calls when a trace is ready, with our file names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from annotate.capture import guest, standing
from annotate.capture.sentences import written
from annotate.options import absolute, is_first_rank
from annotate.recording import switch
from annotate.saying import in_short, say
from annotate.trace import writer
from annotate.whole_run import current as whole_run


class TraceHandler:
    """Exports every trace that it is called with into one folder; see `trace_handler`."""

    def __init__(self, logdir: Path) -> None:
        self.logdir: Final = logdir
        self.trace_files: Final[list[str]] = []
        """Paths of the files written so far, oldest first."""

    def __call__(self, prof: Any) -> None:
        file = str(writer.pack_trace(prof.export_chrome_trace, self.logdir))
        self.trace_files.append(file)
        whole_run.recorded(file, switch.work_began, switch.work_ended)
        if guest.is_there():  # who says it at the end
            guest.wrote(file)
        elif is_first_rank():
            say(written([file], self.logdir))

    def __repr__(self) -> str:
        return f"annotate.trace_handler({str(self.logdir)!r})"


def trace_handler(logdir: str | os.PathLike[str]) -> TraceHandler:
    """As ``torch.profiler.tensorboard_trace_handler``: one gzipped trace file per window in `logdir`, under our names.

        torch.profiler.profile(schedule=..., on_trace_ready=annotate.trace_handler("runs/exp1"))

    The file appears when it is complete, and a line on stderr says so; ``.trace_files`` of the handler has the paths.

    Args:
        logdir: folder of the run; created when it does not exist.

    Raises:
        TypeError: `logdir` is no path.
        ValueError: it is empty.
        OSError: (when called) it cannot be written.
    """
    if not isinstance(logdir, (str, os.PathLike)):
        raise TypeError(
            f"annotate.trace_handler takes the folder of the run, not {in_short(logdir)}. Pass it as "
            'on_trace_ready=annotate.trace_handler("runs/exp1")'
        )
    standing.stand()
    return TraceHandler(absolute(logdir))
