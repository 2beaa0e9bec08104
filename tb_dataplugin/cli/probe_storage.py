"""``tb-dataplugin probe-storage``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

from tb_dataplugin.cli.formats import add_format_argument
from tb_dataplugin.cli.inputs import add_links_argument, check_output, newest_trace, write_text
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.cli.tune import INTERRUPTED, in_place, progress
from tb_dataplugin.errors import BadRequest, NothingToReport
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.pipeline import open_found
from tb_dataplugin.reader.discovery import TRACE_SUFFIXES, find_traces
from tb_dataplugin.remote import place
from tb_dataplugin.report.items import knows_samples
from tb_dataplugin.storage.as_json import as_json
from tb_dataplugin.storage.as_text import as_text
from tb_dataplugin.storage.judging import judge, need_sentences
from tb_dataplugin.storage.probing import probe
from tb_dataplugin.storage.samples import choose, has_a_file
from tb_dataplugin.tune.guarding import free_now

MOST_MB: Final = 4096


class ProbeStorageCommand:
    """Measure what reading sample files costs here: whether packing, larger shards, more readers or a cache would help.

    PATH is a folder with samples (and all below it), a file, a pattern in quotes such as "data/*.jpg", or a capture
    whose slow samples name their files (of a folder with captures its newest). Some of the files are drawn, and read at
    random and in order, cold (after they were dropped from the page cache) and warm, by 1 to 32 readers at the same
    time: as they are, and packed into one archive, one memory-mapped array, and one database. Bytes are read, and
    nothing is decoded.

    Packed forms are written into a new folder beside the samples (--scratch: elsewhere), at most three times the bytes
    of --mb. It is removed at the end, and after Ctrl-C. Other programs on the same storage affect the results.
    """

    name: ClassVar[str] = "probe-storage"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("paths", nargs="+", metavar="PATH", help="folders, files, patterns in quotes, or captures")
        add("--mb", type=float, default=64.0, metavar="N", help="megabytes of samples that are probed (default: 64)")
        add("--seconds", type=float, default=45.0, metavar="S", help="for all reads together (default: 45)")
        add(
            "--scratch",
            type=Path,
            metavar="FOLDER",
            help="where packed forms go (default: beside the samples)",
        )
        help_need = "samples/s that the loop needs (default: what a capture's device could take)"
        add("--need", type=float, metavar="X", help=help_need)
        add_format_argument(parser, "json")
        add_links_argument(parser)
        add("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of the terminal")

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        _check(arguments)
        paths, need = _files_of(arguments.paths, arguments.follow_links)
        samples = choose(paths, int(arguments.mb * 1e6))
        check_output(arguments.output, [sample.path for sample in samples.chosen])
        with in_place():
            probed = probe(samples, arguments.scratch, arguments.seconds, progress)
        judgements = judge(probed, free_now().memory)
        needs = list(need_sentences(probed, need if arguments.need is None else arguments.need))
        if arguments.format == "json":
            text = as_json(probed, judgements, needs)
        else:
            text = as_text(probed, judgements, needs, style_for(sys.stdout) if arguments.output is None else PLAIN)
        write_text(text, arguments.output)
        return INTERRUPTED if probed.interrupted else 0


def _check(arguments: argparse.Namespace) -> None:
    """Raises BadRequest."""
    if not 0 < arguments.mb <= MOST_MB:
        raise BadRequest(f"--mb must be above 0 and at most {MOST_MB}, not {arguments.mb:g}")
    if not 0 < arguments.seconds <= 3600:
        raise BadRequest(f"--seconds must be above 0 and at most 3600, not {arguments.seconds:g}")
    if arguments.need is not None and not arguments.need > 0:
        raise BadRequest(f"--need must be above 0, not {arguments.need:g}")
    if arguments.scratch is not None and not arguments.scratch.is_dir():
        raise BadRequest(f"--scratch {arguments.scratch} is not a folder; name one that can be written")


def _files_of(paths: Sequence[str], follow_links: bool) -> tuple[list[str], float | None]:
    """Captures, and folders with some, replaced by the files that their slow samples were read from; and what the last
    of them needs.

    Raises NothingToReport for a capture that names no file which is still there.
    """
    found: list[str] = []
    need = None
    for path in paths:
        if not path.endswith(TRACE_SUFFIXES):
            if not _has_captures(Path(path), follow_links):
                found.append(path)
                continue
            complain(
                f"{path} has captures: the sample files that the newest one names are probed; to probe others, name "
                "them or a folder without captures"
            )
        capture = open_found(newest_trace(place(path), follow_links)).capture
        named = [file for sample in capture.slow_samples for file in sample.files if Path(file).is_file()]
        if not named:
            raise NothingToReport(f"{path} names no sample file that is still there; name the files or their folder")
        found += dict.fromkeys(named)
        if capture.throughput.HasField("device_per_s") and knows_samples(capture):
            need = capture.throughput.device_per_s
    return found, need


def _has_captures(path: Path, follow_links: bool) -> bool:
    """A glance at names first: a data set may have millions of files."""
    if not has_a_file(path, TRACE_SUFFIXES):
        return False
    return next(find_traces(path, complain, () if follow_links else None), None) is not None
