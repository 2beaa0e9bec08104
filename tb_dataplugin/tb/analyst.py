"""The process that analyses captures for TensorBoard, one after the other, and stores the reports in a cache.

A separate process keeps TensorBoard's interpreter lock free, returns its memory, and may die alone. Requests and
answers are lines on its standard streams. It ends at an empty line, and at the end of its input, which is also how it
learns that TensorBoard is gone, however that ended. Imports neither TensorBoard nor the routes.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from io import BufferedWriter
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from tb_dataplugin.cache import Store, user_store
from tb_dataplugin.compare import marks_of
from tb_dataplugin.errors import DataPipelineError, InternalError, traceback_text
from tb_dataplugin.options import DEFAULT_OPTIONS, AnalysisOptions, StepRange
from tb_dataplugin.pipeline import open_capture
from tb_dataplugin.reader.opening import Roots
from tb_dataplugin.report.rows import row_of
from tb_dataplugin.shown import shown

LEAVE_ABOVE_BYTES = 400 << 20
"""After a peak above this, the process ends and a new one takes over, which returns the memory to the system."""
NICE = 5
OOM_SCORE = "500"
"""When memory runs out, the system should kill this process, not TensorBoard or a training run."""


class Request(msgspec.Struct, frozen=True):
    """`path` as its bytes: it need not be text. `steps` as `StepRange` writes them, "" for all."""

    path: bytes
    name: str
    steps: str = ""


class Answer(msgspec.Struct, frozen=True):
    """`folder` and `key` say where a capture that is `ready` is kept; `changed`: the file changed while it was read.

    `row`: its CaptureRow, encoded. `marks`: what its program is known by, likewise. `passing`: the error is the
    machine's, not the file's, and may be over later.
    """

    state: Literal["ready", "error", "changed"]
    error: str = ""
    mode: str = ""
    folder: str = ""
    key: str = ""
    leaving: bool = False
    passing: bool = False
    row: bytes = b""
    marks: bytes = b""


def main(spare: str, roots: Sequence[str] = ()) -> None:
    """Serve until the input ends. Entries that the user's cache cannot keep go into the folder `spare`.

    `roots`: where captures must lie; none: anywhere.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a library prints is not an answer
    _be_modest()
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, lines.put, Path(spare)), daemon=True).start()
    usual = user_store()
    distrust = None if usual is None else usual.distrusted()
    if distrust is not None:
        print(f"tb-dataplugin: {shown(distrust)}", file=sys.stderr)
    stores = (*(() if usual is None or distrust is not None else (usual,)), Store(Path(spare)))
    folders = tuple(map(Path, roots))
    while line := lines.get().strip():
        answer = answer_to(msgspec.json.decode(line, type=Request), stores, folders)
        leaving = _peak_bytes() > LEAVE_ABOVE_BYTES
        _send(answers, msgspec.structs.replace(answer, leaving=leaving))
        if leaving:
            return


def answer_to(request: Request, stores: tuple[Store, ...], roots: Roots = ()) -> Answer:
    """What became of a request; never raises."""
    path = Path(os.fsdecode(request.path))
    try:
        kept = open_capture(path, request.name, _options(request), stores, roots)
    except DataPipelineError as error:
        return Answer("error", str(error))
    except MemoryError:
        why = "there is not enough memory; close other programs, or capture less"
        return Answer("error", shown(f"cannot analyse {path}: {why}"), passing=True)
    except Exception as error:
        print(shown(traceback_text(error), keep="\n"), end="", file=sys.stderr)
        return Answer("error", str(InternalError(f"analyse {path}", error)))
    if kept.changed:
        return Answer("changed")
    if kept.store is None:
        folders = " and ".join(str(store.folder) for store in stores)
        why = f"{folders} cannot be written; free disk space"
        return Answer("error", shown(f"cannot keep the report of {path}: {why}"))
    row = row_of(kept.capture).SerializeToString()
    marks = marks_of(kept.capture).SerializeToString()
    folder = str(kept.store.folder)
    return Answer("ready", mode=kept.capture.mode, folder=folder, key=kept.key, row=row, marks=marks)


def _options(request: Request) -> AnalysisOptions:
    return AnalysisOptions(steps=StepRange.parse(request.steps)) if request.steps else DEFAULT_OPTIONS


def _listen(requests: BinaryIO, put: Callable[[bytes], None], spare: Path) -> None:
    """Hands requests over as they come; at the end of the input the process ends, whatever it is doing."""
    for line in requests:
        put(line)
        if not line.strip():  # an orderly end: what was kept is still wanted
            return
    shutil.rmtree(spare, ignore_errors=True)
    os._exit(0)


def _send(answers: BufferedWriter, answer: Answer) -> None:
    answers.write(msgspec.json.encode(answer) + b"\n")
    answers.flush()


def _be_modest() -> None:
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICE)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)


def _peak_bytes() -> int:
    """Most memory that this process held at once; 0 where the system does not report it.

    Not by getrusage where it can be helped: on Linux its peak starts with that of the parent.
    """
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    return 0
