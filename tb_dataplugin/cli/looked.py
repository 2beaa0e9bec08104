"""What `attach` says where it could only read the stacks of a program."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tb_dataplugin.analyses.onlook import SeenPart, SeenProcess, onlook
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.drive.onlooker import Looked, refusal
from tb_dataplugin.errors import BadRequest, DataPipelineError, NothingToReport
from tb_dataplugin.export.as_stacks import Stack, speedscope
from tb_dataplugin.export.onlook_text import onlook_lines
from tb_dataplugin.export.width import WIDEST, as_wide_as
from tb_dataplugin.model.line_samples import Frame, LineSamples
from tb_dataplugin.reader.line_samples import Lines, read_line_samples
from tb_dataplugin.units import duration, percent


def say(looked: Looked, logdir: Path) -> None:
    """Print it, and write the stacks into `logdir`.

    Raises:
        BadRequest: no stack could be read, or the folder cannot be written.
        NothingToReport: nothing that was seen trains.
    """
    samples = _say(looked, logdir, "nothing was put into the program")
    print("Stages, samples and gains: start it by `tb-dataplugin run -- ...`.")
    for sentence in samples.unseen:
        print(sentence)


def say_beside(looked: Looked, logdir: Path) -> None:
    """Of a program that was recorded meanwhile, without stages."""
    print()
    try:
        _say(looked, logdir, "the recording has no stages")
    except DataPipelineError as error:  # the recording stands without
        print(f"Stacks: {error}")


def _say(looked: Looked, logdir: Path, remark: str) -> LineSamples:
    samples = _samples(looked)
    seen = onlook(samples, looked.parents, looked.pid)
    if not seen:
        raise NothingToReport(f"process {looked.pid}: neither its main thread nor one in a DataLoader was seen")
    with as_wide_as(shutil.get_terminal_size((WIDEST, 0)).columns):
        for process in seen:
            print("\n".join(onlook_lines(process)), end="\n\n")
    print(f"By stacks read from outside ({_cost(samples)}); {remark}.")
    print(f"As a flame graph, for speedscope: {_write(seen, logdir, looked.pid)}")
    return samples


def _samples(looked: Looked) -> LineSamples:
    """Raises: BadRequest."""
    try:
        lines = msgspec.json.decode(looked.text, type=Lines)
        samples = read_line_samples(lines, 0, DiagnosticsCollector())
        why = lines.why_not or next(iter(lines.unseen), "") or "none was seen"
    except msgspec.MsgspecError as error:
        samples, why = None, f"the samples are not valid: {error}"
    if samples is None or samples.why_not or not samples.threads:
        raise BadRequest(refusal(looked.pid, why))
    return samples


def _cost(samples: LineSamples) -> str:
    spans = [(int(thread.time_ns[0]), int(thread.time_ns[-1])) for thread in samples.threads]
    looked_us = (max(end for _, end in spans) - min(start for start, _ in spans)) / 1e3
    cpu_us = (samples.cost_ns or 0) / 1e3
    return f"{duration(looked_us)}, {percent(cpu_us / looked_us if looked_us else 0.0)} of one CPU"


def _write(seen: Sequence[SeenProcess], logdir: Path, pid: int) -> Path:
    """For speedscope, a profile for each part of each process."""
    named = [
        (f"process {process.pid}: {name}", [Stack(_places(frames), ns / 1e3) for frames, ns in part.stacks])
        for process in seen
        for name, part in _parts(process)
        if part.stacks
    ]
    path = logdir / f"{pid}.{time.time_ns()}.speedscope.json"
    try:
        logdir.mkdir(parents=True, exist_ok=True)
        path.write_text(speedscope(named))
    except OSError as error:
        raise BadRequest(f"cannot write to {logdir}: {error.strerror or error}; give another --logdir") from None
    return path


def _parts(process: SeenProcess) -> Iterator[tuple[str, SeenPart]]:
    yield "training thread", process.rest
    yield "data wait", process.waiting
    if process.workers:
        yield "DataLoader workers", process.workers.building
    if process.main:
        yield "main thread", process.main


def _places(frames: Sequence[Frame]) -> tuple[tuple[str, str, int], ...]:
    return tuple((frame.function, frame.file, frame.line) for frame in frames)
