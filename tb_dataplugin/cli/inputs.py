"""From the paths on the command line to captures."""

from __future__ import annotations

import argparse
import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from tb_dataplugin.cache import Store, user_store
from tb_dataplugin.cli.terminal import complain, forget_output
from tb_dataplugin.drive.outcome import note_in
from tb_dataplugin.errors import BadRequest, NothingToReport, UnreadableTrace
from tb_dataplugin.options import DEFAULT_OPTIONS, AnalysisOptions, StepRange
from tb_dataplugin.rank_folders import newest_first
from tb_dataplugin.reader.discovery import READABLE_SUFFIXES, TraceFile, describe, find_traces
from tb_dataplugin.reader.modes import NOTHING_TRAINED, first_of_training
from tb_dataplugin.reader.opening import ENVIRONMENT
from tb_dataplugin.remote import Place, Source, Url, all_fetched, listed, place
from tb_dataplugin.watchfile.reading import SUFFIX


def add_path_arguments(parser: argparse.ArgumentParser, paths: str) -> None:
    """The traces that a command is about; `paths` is their help."""
    parser.add_argument("paths", nargs="+", type=place, metavar="LOGDIR|TRACE|URL", help=paths)


def add_output_arguments(parser: argparse.ArgumentParser, output: str) -> None:
    """How traces are opened, and where to write; `output` is the help of that."""
    add_cache_argument(parser)
    add_links_argument(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=output)


def add_cache_argument(parser: argparse.ArgumentParser) -> None:
    help_cache = "do not use the cache (TB_DATAPLUGIN_CACHE=FOLDER moves it, TB_DATAPLUGIN_CACHE=off disables it)"
    parser.add_argument("--no-cache", action="store_true", help=help_cache)


def add_steps_argument(parser: argparse.ArgumentParser) -> None:
    help_steps = "only these steps, by their numbers, both ends included: every number is then about them alone"
    parser.add_argument("--steps", metavar="A..B", help=help_steps)


def options_of(arguments: argparse.Namespace) -> AnalysisOptions:
    """Raises BadRequest for what is no range of steps."""
    if arguments.steps is None:
        return DEFAULT_OPTIONS
    try:
        return AnalysisOptions(steps=StepRange.parse(arguments.steps))
    except ValueError as error:
        raise BadRequest(f"--{error}") from None


def stores_for(arguments: argparse.Namespace) -> tuple[Store, ...]:
    """Where reports are kept: the user's cache, or nowhere."""
    store = None if arguments.no_cache else user_store()
    distrusted = None if store is None else store.distrusted()
    if distrusted is not None:
        complain(distrusted)
    return () if store is None or distrusted is not None else (store,)


def add_links_argument(parser: argparse.ArgumentParser) -> None:
    help_links = f"also follow symbolic links that lead out of a folder ({ENVIRONMENT}=1 does the same)"
    parser.add_argument("--follow-links", action="store_true", help=help_links)


def found(paths: Iterable[Place], follow_links: bool = False) -> Iterator[Source]:
    """Files as they are, folders as the traces below them by name; what is remote is listed only.

    Raises NothingToReport for a folder without any, BadRequest and UnreadableTrace for a URL.
    """
    for path in paths:
        yield from listed(path) if isinstance(path, Url) else _below(path, follow_links)


def expand(paths: Iterable[Place], follow_links: bool = False) -> Iterator[TraceFile]:
    """As `found`; what is remote is fetched, one at a time."""
    for path in paths:
        yield from all_fetched(path) if isinstance(path, Url) else _below(path, follow_links)


def _below(path: Path, follow_links: bool) -> Iterator[TraceFile]:
    if not is_folder(path):
        yield TraceFile(path, ".", path.name, 0, 0) if not path.exists() else describe(path, ".")
        return
    traces_below = sorted(find_traces(path, complain, () if follow_links else None), key=lambda trace: trace.id)
    if not traces_below:
        note = note_in(path)
        if note:
            raise NothingToReport(f"no traces below {path}: {note}")
        if next(find_traces(path, suffixes=(SUFFIX,)), None) is not None:
            raise NothingToReport(
                f"no traces below {path}, only a whole run (*{SUFFIX}): `tb-dataplugin report {path}` shows it; "
                "for a trace, capture with annotate.profile"
            )
        raise NothingToReport(
            f"no traces (*.pt.trace.json, *.pt.trace.json.gz) below {path}: "
            "capture one with annotate.profile, or name a trace file"
        )
    yield from traces_below


HELP_CAPTURE: Final = "a trace file, or a folder: its newest trace that is not a replay"


def newest_trace(path: Place, follow_links: bool) -> TraceFile:
    """A trace file, or the newest of training in a folder, which is said where there are others.

    Raises NothingToReport where all of several are replays, as they have no training steps.
    """
    traces = newest_first(expand([path], follow_links))
    if not is_folder(path) or len(traces) == 1:
        return traces[0]
    newest = first_of_training(traces)
    if newest is None:
        raise NothingToReport(f"{path} has {len(traces)} traces, all of them replays, {NOTHING_TRAINED}")
    passed_over = f" that is not a replay, {newest.id}" if newest != traces[0] else f", {newest.id}"
    complain(f"{path} has {len(traces)} traces; this is the newest by its name or its file{passed_over}")
    return newest


def is_folder(path: Place) -> bool:
    """Raises UnreadableTrace for a path that cannot be examined."""
    if isinstance(path, Url):
        return not path.name.endswith(READABLE_SUFFIXES)
    try:
        return path.is_dir()
    except OSError as error:
        raise UnreadableTrace(path, error.strerror or str(error), "check the path and its permissions") from None


def write_text(text: str, output: Path | None) -> None:
    """To the terminal, or into a file. Raises BadRequest when that cannot be written."""
    if output is None:
        try:
            print(text, flush=True)
        except BrokenPipeError:  # `| head` closed the pipe: fine, and the exit status is as without it
            forget_output()
        return
    try:
        with _open_output(output) as file:
            file.write((text + "\n").encode("utf-8", "backslashreplace"))
    except OSError as error:
        remedy = "name a file in a folder that can be written"
        raise BadRequest(f"cannot write {output}: {error.strerror or error}; {remedy}") from None


def _open_output(output: Path) -> BinaryIO:
    """Not through a link to a file: who may write in the folder could have any file of the user's overwritten.

    Devices and pipes (``/dev/stdout``) may be links.
    """
    binary = getattr(os, "O_BINARY", 0)
    if not output.is_symlink():
        create = os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        return os.fdopen(os.open(output, os.O_WRONLY | create | binary, 0o666), "wb")
    if output.exists():
        file = os.fdopen(os.open(output, os.O_WRONLY | binary), "wb")
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    raise BadRequest(f"cannot write {output}: it is a link to {os.path.realpath(output)}; name the file itself")


def check_output(output: Path | None, inputs: Iterable[Path]) -> None:
    """Raises BadRequest where the report would take the place of a trace that it is about."""
    for path in inputs if output is not None else ():
        with contextlib.suppress(OSError):
            if output is not None and output.samefile(path):
                raise BadRequest(f"cannot write {output}: it is one of the traces; name another file")
