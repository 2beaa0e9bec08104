"""Traces go in, traces come out: what `prune` and `anonymise` have in common."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from tb_dataplugin.cli.inputs import add_links_argument, check_output, expand
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.errors import BadRequest, DataPipelineError, InternalError, Refused, UnreadableTrace
from tb_dataplugin.reader.discovery import TRACE_SUFFIXES, TraceFile, find_traces
from tb_dataplugin.reader.epochs import epochs_beside, leave_epochs
from tb_dataplugin.reader.kineto import DAMAGE, TraceParts, read_parts
from tb_dataplugin.remote import Place, Url, place
from tb_dataplugin.units import data_size
from tb_dataplugin.watchfile.reading import SUFFIX as WHOLE_RUN

SUFFIX: Final = TRACE_SUFFIXES[0]
_LEVEL: Final = 6
"""Of zlib: isal's best is four times as large here."""

_BOTH: Final = (*TRACE_SUFFIXES, WHOLE_RUN)
HARDLY_SMALLER: Final = 0.9
"""Of a trace's size."""

Rewrite = Callable[[TraceParts], Iterable[bytes]]


def add_rewriting_arguments(parser: argparse.ArgumentParser, required: bool) -> None:
    parser.add_argument("paths", nargs="+", type=place, metavar="LOGDIR|TRACE|URL", help="folders, or trace files")
    add_links_argument(parser)
    help_output = f"a file for one trace (*{SUFFIX}), else a folder"
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", required=required, help=help_output)


def check_apart(output: Path, inputs: Iterable[Place]) -> None:
    """Raises BadRequest where the folder `output`, or one below it, has originals among these files and folders. One
    file that is named with -o may lie anywhere.
    """
    if output.name.endswith(TRACE_SUFFIXES) and not output.is_dir():
        return
    to = output.resolve()
    for path in inputs:
        if isinstance(path, Url):
            continue
        folder = (path if path.is_dir() else path.parent).resolve()
        is_among = path.is_dir() and to.is_relative_to(folder) and next(find_traces(to, suffixes=_BOTH), None)
        if is_among or folder.is_relative_to(to):
            raise BadRequest(
                f"cannot write into {output}: it has traces of {path} too, and whoever gets the folder gets their "
                "names; give the copies a folder of their own, such as -o shared"
            )


def rewrite_all(
    arguments: argparse.Namespace, rewrite: Rewrite, named: Callable[[TraceFile], Path], as_large: str = ""
) -> int:
    """Writes each trace; a bad one costs a line and the exit status. `named`: a trace's file below the folder OUT.
    `as_large`: what is said of one that gets hardly smaller.
    """
    traces = list(expand(arguments.paths, arguments.follow_links))
    check_output(arguments.output, [trace.path for trace in traces])
    status = 0
    for trace in traces:
        try:
            target = _target(arguments, len(traces), named(trace))
            check_output(target, [one.path for one in traces])
            _rewrite(trace, target, rewrite, as_large)
        except (UnreadableTrace, InternalError) as error:
            complain(str(error))
            status = max(status, error.exit_status)
    return status


def _target(arguments: argparse.Namespace, count: int, named: Path) -> Path:
    output: Path | None = arguments.output
    is_file = output is not None and output.name.endswith(TRACE_SUFFIXES) and not output.is_dir()
    if is_file and count > 1:
        raise BadRequest(f"cannot write {count} traces into the one file {output}: name a folder")
    if output is None:
        return Path(named.name)
    return output if is_file else output / named


def _rewrite(trace: TraceFile, target: Path, rewrite: Rewrite, as_large: str) -> None:
    if trace.refused:
        raise Refused(trace.refused)
    try:
        parts = read_parts(trace.path, trace.id, trace.roots)
        blocks = rewrite(parts)
        size = write_new(blocks, target)
        leave_epochs(target, epochs_beside(trace.path, trace.roots))
    except (DataPipelineError, MemoryError, OSError):
        raise
    except Exception as error:
        raise InternalError(f"rewrite {trace.path}", error) from error
    before = trace.path.stat().st_size
    why = f"; {as_large}" if as_large and size >= HARDLY_SMALLER * before else ""
    if why and size >= before:
        why = f": the copy is {'larger' if size > before else 'as large'}, since {as_large}. Keep the trace itself"
    complain(f"wrote {target}: {data_size(size)} of {data_size(before)}{why}")
    if any(one.code in DAMAGE for one in parts.trace.diagnostics):
        complain(f"{trace.path} is damaged: {target} has only what could be read")


def write_new(blocks: Iterable[bytes], target: Path) -> int:
    """Whole or not at all, and never in place of a file. Returns its size. Raises BadRequest."""
    if os.path.lexists(target):
        raise BadRequest(f"cannot write {target}: it exists already; name another file with -o, or remove it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _new_file(target.parent) as part:
            with open(part, "wb") as raw:
                if target.suffix == ".gz":
                    with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=_LEVEL, mtime=0) as file:
                        file.writelines(blocks)
                else:
                    raw.writelines(blocks)
            size = part.stat().st_size
            os.link(part, target)  # fails where somebody else was faster
    except OSError as error:
        remedy = "name a file in a folder that can be written"
        raise BadRequest(f"cannot write {target}: {error.strerror or error}; {remedy}") from None
    return size


@contextlib.contextmanager
def _new_file(folder: Path) -> Iterator[Path]:
    descriptor, name = tempfile.mkstemp(prefix=".tb-dataplugin-", dir=folder)
    os.fchmod(descriptor, 0o644)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink()
