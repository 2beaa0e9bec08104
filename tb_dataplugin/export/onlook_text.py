"""What `attach` says of a program that it could only look at."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.analyses.line_rows import Estimate, LineRow
from tb_dataplugin.analyses.onlook import LEAST_SAMPLES, SeenPart, SeenProcess, SeenWorkers
from tb_dataplugin.export.width import columns
from tb_dataplugin.findings.line_texts import line_text
from tb_dataplugin.findings.worker_sentences import cannot_keep_up
from tb_dataplugin.units import percent, plural

MOST_LINES: Final = 5
LEAST_SHARE: Final = 0.02
"""Of a part: a line with less is not printed."""
BUSY: Final = 0.9
"""Of the time of DataLoader workers spent building batches, from which they have no time left."""
LITTLE: Final = 0.05
"""Of the time: a data wait below it is not what holds the training up."""


def onlook_lines(process: SeenProcess) -> Iterator[str]:
    """The data wait, the DataLoader workers, and the hottest lines of each."""
    yield from _wrap(_verdict(process), "")
    if process.workers:
        yield from _part(_workers_title(process.workers), process.workers.building)
    if process.waiting.share.share >= LITTLE and process.workers is None:
        yield from _part("Inside the data wait:", process.waiting)
    whose = _whose(process)
    rest = f"{whose[0].upper()}{whose[1:]} outside the data wait:" if process.iterates else "The main thread:"
    yield from _part(rest, process.rest)
    if process.main:
        yield from _part("The main thread:", process.main)


def _verdict(process: SeenProcess) -> str:
    if not process.iterates:
        return (
            f"Process {process.pid}: its main thread was in no DataLoader of torch. A loader of another kind, or a "
            "thread that fetches batches, may still hold it up: see its lines."
        )
    wait = process.waiting.share
    sentence = f"Process {process.pid}: {_whose(process)} waits for data for {_share(wait)} of the time"
    if wait.high < LITTLE:
        return f"{sentence}: data is not what holds it up."
    if process.workers is None:
        return f"{sentence}; it loads them itself, without DataLoader workers."
    if process.workers.building.share.share >= BUSY:
        return f"{sentence}, and its DataLoader workers have no time left: {cannot_keep_up('they', wait.share)}."
    return f"{sentence}."


def _whose(process: SeenProcess) -> str:
    return "the thread that iterates the DataLoader" if process.main else "the training thread"


def _workers_title(workers: SeenWorkers) -> str:
    idle = f", wait for an index for {_share(workers.without_index)}"
    if workers.processes == workers.at_once:
        whose = plural(workers.at_once, "DataLoader worker")
    else:  # they start anew in each epoch: a number of processes would read as num_workers
        whose = f"DataLoader workers, mostly {workers.at_once} at a time ({workers.processes} processes)"
    return f"{whose}: build batches for {_share(workers.building.share)}{idle}"


def _share(share: Estimate) -> str:
    return f"{percent(share.share)} ({percent(share.low)} to {percent(share.high)})"


def _part(title: str, part: SeenPart) -> Iterator[str]:
    rows = [row for row in part.rows if row.share >= LEAST_SHARE][:MOST_LINES]
    if rows:
        yield ""
        yield from _wrap(title, "")
        yield from _rows(rows)
    elif part.share.samples:
        yield ""
        few = f"{plural(part.share.samples, 'stack')}, too few to name lines: {LEAST_SAMPLES} are needed."
        yield from _wrap(f"{title.rstrip(':')}: {few} Look for longer (--seconds).", "")


def _rows(rows: Sequence[LineRow]) -> Iterator[str]:
    for row in rows:
        yield from _wrap(line_text(row), f"  {percent(row.share):>6}  ")


def _wrap(text: str, first: str) -> list[str]:
    return textwrap.wrap(text, columns(), initial_indent=first, subsequent_indent=" " * len(first))
