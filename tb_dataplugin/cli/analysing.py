"""From what was found to captures: one after the other, in processes, or where a cluster's workers are."""

from __future__ import annotations

import argparse
import contextlib
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from tb_dataplugin.cache import Store, user_store
from tb_dataplugin.cli.inputs import check_output, found, stores_for
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import (
    BadRequest,
    DataPipelineError,
    InternalError,
    NoSuchSteps,
    UnreadableTrace,
)
from tb_dataplugin.many import MOST_JOBS, Cluster, Engine, Processes, engine_on, map_traces, parse_cluster
from tb_dataplugin.options import DEFAULT_OPTIONS, AnalysisOptions
from tb_dataplugin.pipeline import KeptCapture, open_found
from tb_dataplugin.rank_files import Row, row_of
from tb_dataplugin.ranks import RankTable
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.remote import Mirror, Source, fetched, user_mirror
from tb_dataplugin.report.report_pb2 import Capture

Result = TypeVar("Result")


class Outcome(NamedTuple):
    """What became of a trace: a capture, or a line that says why there is none, and the exit status."""

    kept: KeptCapture | None
    complaint: str = ""
    status: int = 0


class Opened(NamedTuple):
    """What became of all traces; `complaints` were printed, `status` is the exit status."""

    captures: list[KeptCapture]
    complaints: list[str]
    status: int


@dataclass(frozen=True, slots=True)
class Order:
    """How a trace is analysed, wherever that is.

    `stores` and `mirror`: where reports are kept and remote traces are fetched to; None: the user's, where the work is
    done. `with_rank`: also what is joined with other ranks.
    """

    options: AnalysisOptions = DEFAULT_OPTIONS
    stores: tuple[Store, ...] | None = ()
    mirror: Mirror | None = None
    with_rank: bool = False


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    help_jobs = "how many traces are analysed at once, each in a process (default: 1)"
    parser.add_argument("--jobs", type=_jobs, default=1, metavar="N", help=help_jobs)
    help_on = (
        "analyse each trace on a worker of a Dask or Ray cluster, dask://SCHEDULER[:PORT], ray://HEAD[:PORT]; dask or "
        "ray alone starts one here, with --jobs workers (pip install 'tb-dataplugin[dask]' or 'tb-dataplugin[ray]')"
    )
    parser.add_argument("--on", type=_cluster, metavar="dask[://HOST]|ray[://HOST]", help=help_on)


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes; write 1 to {MOST_JOBS}")
    return int(text)


def _cluster(text: str) -> Cluster:
    try:
        return parse_cluster(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


@contextlib.contextmanager
def engine_of(arguments: argparse.Namespace) -> Iterator[Engine | None]:
    """None: one trace after the other, in this process. Raises BadRequest."""
    jobs = getattr(arguments, "jobs", 1)
    cluster: Cluster | None = getattr(arguments, "on", None)
    if cluster is None:
        yield Processes(jobs) if jobs > 1 else None
        return
    if jobs > 1 and not cluster.is_own:
        raise BadRequest(f"--jobs is for processes of this machine; {cluster} has the workers that it has")
    with engine_on(cluster, jobs if jobs > 1 else None) as engine:
        yield engine


def open_paths(
    arguments: argparse.Namespace, options: AnalysisOptions = DEFAULT_OPTIONS, with_rank: bool = False
) -> Opened:
    """The captures that `add_path_arguments` names; nothing is written in place of one of them.

    `with_rank`: where several are analysed at once, each with what is joined with other ranks.
    """
    with engine_of(arguments) as engine:
        sources = found(arguments.paths, arguments.follow_links)
        if engine is None or engine.is_here:
            order = Order(options, stores_for(arguments), user_mirror(), with_rank and engine is not None)
        else:
            order = Order(options, () if arguments.no_cache else None, None, with_rank)
        opened = open_all(sources, order, engine)
    check_output(arguments.output, [one.path for one in opened.captures])
    return opened


def open_all(sources: Iterable[Source], order: Order, engine: Engine | None = None) -> Opened:
    """All captures that can be read; a bad one costs a line and the exit status, never the others."""
    work = partial(outcome_of, order=order, is_here=engine is None or engine.is_here)
    captures, complaints, status = [], [], 0
    for kept, complaint, failed in each(sources, work, engine, _without_capture):
        if kept is not None:
            captures.append(kept)
        else:
            complain(complaint)
            complaints.append(complaint)
        status = max(status, failed)
    return Opened(captures, complaints, status)


def each(
    sources: Iterable[Source],
    work: Callable[[Source], Result],
    engine: Engine | None,
    failed: Callable[[DataPipelineError], Result],
) -> Iterable[Result]:
    """`work` on each, in their order."""
    if engine is None:
        return map(work, sources)
    all_of_them = list(sources)
    return map_traces(all_of_them, work, engine, failed, partial(_show_progress, len(all_of_them)))


def outcome_of(source: Source, order: Order, is_here: bool = True) -> Outcome:
    try:
        trace = local(source, order.mirror, is_here)
        kept = open_found(trace, order.options, _own_stores() if order.stores is None else order.stores)
        return Outcome(_with_rank(kept, trace) if order.with_rank else kept)
    except (NoSuchSteps, UnreadableTrace, InternalError) as error:
        return _without_capture(error)


def row_at(source: Source, mirror: Mirror | None = None, is_here: bool = True) -> Row:
    """As `rank_files.row_of`, where the file may be on another machine."""
    try:
        return row_of(local(source, mirror, is_here), mirror)
    except UnreadableTrace as error:
        return error


def local(source: Source, mirror: Mirror | None, is_here: bool) -> TraceFile:
    """The trace as a file of this machine, which `is_here` says is where it was found. Raises UnreadableTrace."""
    trace = fetched(source, mirror)
    if not is_here and not trace.refused and not trace.path.exists():
        reason = f"{socket.gethostname()}, where it was to be read, has no such file"
        raise UnreadableTrace(trace.path, reason, "put it where all Dask workers see it under this path, or give a URL")
    return trace


def _own_stores() -> tuple[Store, ...]:
    store = user_store()
    return () if store is None or store.distrusted() is not None else (store,)


def _with_rank(kept: KeptCapture, trace: TraceFile) -> KeptCapture:
    """A trace whose report was kept is read once more, where it may be one of several ranks."""
    capture = kept.capture
    if kept.rank is not None or capture.mode == "replay" or not capture.HasField("rank"):
        return kept
    row = row_of(trace)
    return replace(kept, rank=row) if isinstance(row, RankTable | Unavailable) else kept


def _without_capture(error: DataPipelineError) -> Outcome:
    return Outcome(None, str(error), error.exit_status)


def _show_progress(count: int, done: int) -> None:
    """On a terminal, in one line that overwrites itself."""
    if sys.stderr.isatty():
        print(f"\r{done} of {count} traces", end="\n" if done == count else "", file=sys.stderr, flush=True)


def analyse_all(traces: Iterable[TraceFile], stores: Sequence[Store] = ()) -> tuple[list[Capture], int]:
    """The reports of `open_all`."""
    opened = open_all(traces, Order(stores=tuple(stores)))
    return [one.capture for one in opened.captures], opened.status
