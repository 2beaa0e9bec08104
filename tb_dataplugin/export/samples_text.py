"""Lines of the text report about single samples: the slowest ones, and those that were replayed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tb_dataplugin.analyses.call_kinds import SLOW
from tb_dataplugin.export.paragraphs import fit, more, noted, wrap
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.width import columns
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.items import items
from tb_dataplugin.report.replay_command import waited_for_building_us
from tb_dataplugin.units import UNKNOWN, duration, in_unit, percent, unit_for

MOST_HIDDEN: Final = 3
MOST: Final = 5
"""Slow samples; --format json has 20."""

WHERE: Final = (Column("DataLoader worker", 19, 2), Column("batch", 7, 1))
DURATION: Final = Column("duration", 10)
REPLAYED: Final = (
    Column("index", 12),
    Column("captured", 10),
    Column("cold", 10),
    Column("warm", 10),
    Column("loads", 7, 1),
)
INDENT: Final = " " * 16
"""Of what is said of a sample below its row."""
_WHAT: Final = (
    "MODULE:MAKE_LOADER is your DataLoader, or a function that returns it (train.py:make_loader). In a notebook:"
)


BEFORE: Final = "begun before the window"
FIRST: Final = "the first of its iterator, which may fill a buffer or open files"


def slow_sample_lines(capture: pb.Capture) -> Iterator[str]:
    """A table with its heading, for each loader; below each sample its files, below all of them the command that
    replays them. Of a loader that the loop hardly waits for, a few words on samples that are slow nevertheless.
    """
    indent = ""
    for loader in capture.sample_loaders:
        samples = [sample for sample in capture.slow_samples if sample.loader == loader.loader]
        of = f" of {loader.name}" if loader.name else ""
        if not samples:
            continue
        if samples[0].index < 0 or capture.replay_command:
            lines = list(_table(samples[:MOST], f"{indent}Slowest {items(loader.item)}{of}"))
        else:
            lines = list(_hidden(capture, loader, samples, f"{indent}Slow {items(loader.item)}{of}"))
        yield from lines
        indent = "  " if lines else indent
    if not capture.replay_command:
        return
    first, *others = [loader for loader in capture.sample_loaders if loader.replay_command]
    of_first = f" those of {first.name}" if others else " them"
    yield from wrap(f"To see whether they are slow in themselves, load{of_first} again, alone:", "  ")
    yield from _command(first.replay_command)
    yield from wrap(_WHAT, "  ")
    yield from wrap(first.replay_code, "    ", "      ")
    for other in others:
        yield from wrap(f"The same with {other.name} for MODULE:MAKE_LOADER loads its samples. In a notebook:", "  ")
        yield from wrap(other.replay_code, "    ", "      ")


def _hidden(capture: pb.Capture, loader: pb.SampleLoader, samples: Sequence[pb.SlowSample], head: str) -> Iterator[str]:
    """Those that take many times as long as the median one, and so long that waiting for them would be worth work."""
    least_us = max(SLOW * loader.p50_us, loader.p50_us + INPUT_BOUND * capture.steps.mean_us)
    slow = [sample for sample in samples if sample.duration_us - sample.collected_us >= least_us and not sample.first]
    built_us = waited_for_building_us(capture)
    if not slow or not loader.p50_us or built_us is None or capture.mode != "train":
        return
    yield from wrap(f"{head}   {_cost(built_us, capture)}; median {duration(loader.p50_us)}", "", "  ")
    for sample in slow[:MOST_HIDDEN]:
        worker = f"DataLoader worker {sample.worker}, epoch {sample.epoch}, batch {sample.batch}"
        where = f" ({worker})" if sample.worker >= 0 else ""
        yield from wrap(f"index {sample.index}: {duration(sample.duration_us)}{where}", "  ", "    ")
        yield from _below(sample)
    yield from more(len(slow) - MOST_HIDDEN, "as slow")


def _cost(built_us: float, capture: pb.Capture) -> str:
    caused = f"data wait of {percent(built_us / capture.window_us)} of the window" if built_us else "no data wait"
    return f"building batches caused {caused}"


def _table(samples: Sequence[pb.SlowSample], head: str) -> Iterator[str]:
    unit = unit_for(sample.duration_us for sample in samples)
    yield fit(f"{head} ({unit.name})", columns())
    has_index = any(sample.index >= 0 for sample in samples)
    where = WHERE if any(sample.worker >= 0 for sample in samples) else ()
    most = [f"{sample.stage} {in_unit(sample.stage_us, unit)}" for sample in samples]
    kept = with_room((Column("index" if has_index else "", 12), DURATION, *where), columns() - 4 - max(map(len, most)))
    yield fit(f"  {heads(kept)}  highest self time", columns())
    for sample, stage in zip(samples, most, strict=True):
        texts = {
            kept[0].head: str(sample.index) if sample.index >= 0 else UNKNOWN * has_index,
            DURATION.head: in_unit(sample.duration_us, unit),
            **dict(zip((column.head for column in WHERE), (str(sample.worker), str(sample.batch)), strict=True)),
        }
        yield from noted(f"  {cells(kept, texts)}  ", stage)
        yield from _below(sample)


def _below(sample: pb.SlowSample) -> Iterator[str]:
    yield from _files(sample.files)
    if sample.begun_before:
        yield from wrap(BEFORE, INDENT)
    if sample.first:
        yield from wrap(FIRST, INDENT)
    if sample.collected_us:
        yield from wrap(f"of it {duration(sample.collected_us)} Python's garbage collector", INDENT)
    if sample.reading_us:
        waited = f"{duration(sample.reading_us)} of waiting for a CPU in annotate's own code"
        yield from wrap(f"not counting {waited}", INDENT)


def _command(command: str) -> Iterator[str]:
    """On several lines that a shell takes as one: a path may be long."""
    first, *parts = re.split(r" (?=--logdir |--from )", command)
    lines = [f"    {first}", *(f"      {part}" for part in parts)]
    yield from (f"{line} \\" for line in lines[:-1])
    yield lines[-1]


def replayed_lines(capture: pb.Capture) -> Iterator[str]:
    """A table with its heading; below each sample what it says, and its files."""
    samples = capture.replayed_samples
    if not samples:
        return
    times = (time for sample in samples for time in (sample.warm_us, sample.cold_us, sample.captured_us))
    unit = unit_for(time for time in times if time)
    yield f"Replayed samples ({unit.name}; warm: files in the page cache, cold: files from storage)"
    kept = with_room(REPLAYED, columns() - 2)
    yield f"  {heads(kept)}"
    for sample in samples:
        texts = {
            "index": str(sample.index),
            "captured": in_unit(sample.captured_us, unit) if sample.HasField("captured_us") else UNKNOWN,
            "cold": in_unit(sample.cold_us, unit) if sample.HasField("cold_us") else UNKNOWN,
            "warm": in_unit(sample.warm_us, unit),
            "loads": str(sample.loads),
        }
        yield f"  {cells(kept, texts)}"
        yield from wrap(sample.text, INDENT)
        yield from _files(sample.files)


def _files(files: Iterable[str]) -> Iterator[str]:
    """One a line; of a path that is too long, its end."""
    for path in files:
        room = columns() - len(INDENT)
        yield INDENT + (path if len(path) <= room else f"...{path[3 - room :]}")
