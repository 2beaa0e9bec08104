"""Lines of the text report about single samples: the slowest ones, and those that were replayed."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import UNKNOWN, in_unit, unit_for

MOST: Final = 5
"""Slow samples; --format json has 20."""


_WHAT: Final = (
    "MODULE:MAKE_LOADER is your DataLoader, or a function that returns it (train.py:make_loader). In a notebook:"
)


FIRST: Final = "the first of its iterator, which may fill a buffer or open files"


def slow_sample_lines(capture: pb.Capture, width: int) -> Iterator[str]:
    """A table with its heading; below each sample its files, below all of them the command that replays them."""
    samples = capture.slow_samples[:MOST]
    if not samples or (samples[0].index >= 0 and not capture.replay_command):  # nobody waits for them
        return
    unit = unit_for(sample.duration_us for sample in samples)
    yield f"Slowest samples ({unit.name})"
    built = [sample.worker >= 0 for sample in samples]
    where = f"{'DataLoader worker':>19}{'batch':>7}" if any(built) else ""
    has_index = any(sample.index >= 0 for sample in samples)
    yield f"  {'index' if has_index else '':>12}{'duration':>10}{where}  highest self time"
    for sample in samples:
        index = str(sample.index) if sample.index >= 0 else UNKNOWN * has_index
        most = f"{sample.stage} {in_unit(sample.stage_us, unit)}"
        where = f"{sample.worker:>19}{sample.batch:>7}" if any(built) else ""
        yield f"  {index:>12}{in_unit(sample.duration_us, unit):>10}{where}  {most}"
        yield from _files(sample.files, " " * 16, width)
        if sample.first:
            yield f"{' ' * 16}{FIRST}"
    if capture.replay_command:
        yield "  To see whether they are slow in themselves, load them again, alone:"
        yield from _command(capture.replay_command)
        yield from textwrap.wrap(_WHAT, width, initial_indent="  ", subsequent_indent="  ")
        yield from textwrap.wrap(capture.replay_code, width, initial_indent="    ", subsequent_indent="      ")


def _command(command: str) -> Iterator[str]:
    """On several lines that a shell takes as one: a path may be long."""
    first, *parts = re.split(r" (?=--logdir |--from )", command)
    lines = [f"    {first}", *(f"      {part}" for part in parts)]
    yield from (f"{line} \\" for line in lines[:-1])
    yield lines[-1]


def replayed_lines(capture: pb.Capture, width: int) -> Iterator[str]:
    """A table with its heading; below each sample what it says, and its files."""
    samples = capture.replayed_samples
    if not samples:
        return
    times = (time for sample in samples for time in (sample.warm_us, sample.cold_us, sample.captured_us))
    unit = unit_for(time for time in times if time)
    yield f"Replayed samples ({unit.name}; warm: files in the page cache, cold: files from storage)"
    yield f"  {'index':>12}{'captured':>10}{'cold':>10}{'warm':>10}{'loads':>7}"
    for sample in samples:
        captured = in_unit(sample.captured_us, unit) if sample.HasField("captured_us") else UNKNOWN
        cold = in_unit(sample.cold_us, unit) if sample.HasField("cold_us") else UNKNOWN
        yield f"  {sample.index:>12}{captured:>10}{cold:>10}{in_unit(sample.warm_us, unit):>10}{sample.loads:>7}"
        yield from textwrap.wrap(sample.text, width, initial_indent=" " * 16, subsequent_indent=" " * 16)
        yield from _files(sample.files, " " * 16, width)


def _files(files: Iterable[str], indent: str, width: int) -> Iterator[str]:
    """One a line; of a path that is too long, its end."""
    for path in files:
        room = width - len(indent)
        yield indent + (path if len(path) <= room else f"...{path[3 - room :]}")
