"""Writes the verdict on a trace file to standard output: ``python -I verdict_reader.py SECONDS FILE FOLDER ...``.

`verdict.ask` runs it as a script. It forks and goes on in the child, so that it is nobody's child whom the program
might wait for. The folders are those in which the program finds packages; those of this Python come first, behind the
one that has `annotate`.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path


def main(seconds: str, file: str, root: str, *packages: str) -> None:
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    signal.alarm(int(seconds))  # then nobody listens any more, and the program itself may be gone
    with suppress(OSError):  # where memory is short, the kernel ends this process and not the training
        Path("/proc/self/oom_score_adj").write_text("1000")
    sys.path[:] = [root, *sys.path, *packages]
    report = import_module("tb_dataplugin").read_report(Path(file))
    in_short = import_module("tb_dataplugin.report.rows").verdict_in_short
    sys.stdout.buffer.write(in_short(report[0]).encode("utf-8", "backslashreplace"))


if __name__ == "__main__":
    main(*sys.argv[1:])
