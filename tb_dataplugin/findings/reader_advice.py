"""What to do about slow reads: by whether samples have files of their own or share large ones, and by the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Final, NamedTuple

from annotate.trace_format import Stage
from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import ALL_CACHED
from tb_dataplugin.findings.who_builds import once
from tb_dataplugin.units import count, significant

FEW_SAMPLES: Final = 3

ARCHIVES: Final = (".npz", ".zip", ".tar", ".tgz")
"""Ends of names of files that have members with names of their own."""

REOPENED: Final = 0.5
"""Calls per sample that open a file of many samples, from which it is opened again and again."""

READ_ADVICE: Final = (
    "Read fewer, larger files (packed records), keep them on a local disk, or cache what is read again."
)
CACHED: Final = (
    "What is read is in memory already (page cache), so faster storage would not help. Read less of it per sample "
    "(memory-mapped files, smaller records), or keep what a sample needs."
)
ONE_FILE: Final = (
    "The slow samples read the same file: open it {once}, not once per sample, keep it open, and "
    "read only what a sample needs."
)


STREAMED: Final = ("tarfile.next", "tarfile.read")
"""Labels of stages that read members one after the other, as they are stored."""

ADVICE_STREAMED: Final = (
    "What is read is in large files already: keep them on a local disk, store less for each sample, or cache what is "
    "read again."
)


class Container(NamedTuple):
    """A library whose files have many samples.

    opener: label of the stage that opens one
    again: what that costs each time
    keep: what to keep beside the open file
    kept: what to do where it is kept open; {each} is for each DataLoader worker
    code: how to
    """

    opener: str
    again: str
    keep: str
    kept: str
    code: str


def _kept_open(name: str, opened: str, *then: str) -> str:
    return "\n".join(
        (f"if self.{name} is None:  # in __getitem__; None in __init__", f"    self.{name} = {opened}", *then)
    )


CONTAINERS: Final = {
    "tarfile": Container(
        "tarfile.open",
        "each new TarFile reads the headers of all members to find one",
        ", with an index of its members",
        "A tar file has no index, so tarfile looks through its members for each name: keep a dict of them, or the "
        "place (offset_data) and size of each, to read it with one seek.",
        _kept_open(
            "tar",
            "tarfile.open(self.path)",
            "    self.members = {member.name: member for member in self.tar}",
            "data = self.tar.extractfile(self.members[name]).read()",
        ),
    ),
    "zipfile": Container(
        "zipfile.ZipFile",
        "each new ZipFile reads the list of all members",
        "",
        "Store the members uncompressed (ZIP_STORED) where they are compressed already, and read each in one piece.",
        _kept_open("zip", "zipfile.ZipFile(self.path)", "data = self.zip.read(name)"),
    ),
    "h5py": Container(
        "h5py.File",
        "each new File reads its structure again",
        ", with its datasets",
        "Read a sample in one piece, from chunks that hold whole samples (chunks=(1, ...)), and keep the h5py.Dataset "
        "rather than looking it up in its group each time.",
        _kept_open("data", 'h5py.File(self.path, "r")["images"]', "image = self.data[index]"),
    ),
    "sqlite3": Container(
        "sqlite3.connect",
        "each new connection reads the schema again",
        "",
        "Ask for a sample by an indexed key, and for a batch at once (__getitems__) rather than for each sample.",
        _kept_open(
            "con", "sqlite3.connect(self.path)", 'row = self.con.execute("... WHERE id = ?", (key,)).fetchone()'
        ),
    ),
    "lmdb": Container(
        "lmdb.open",
        "each new environment maps the file again",
        "",
        "Keep one read transaction{each} (env.begin(buffers=True)), and read a sample in one piece.",
        _kept_open("env", "lmdb.open(self.path, readonly=True, lock=False)"),
    ),
}
"""By the first word of a stage's label."""

_CODE: Final = {
    "numpy.fromfile": "array = np.memmap(path, dtype=dtype, mode='r')  # {once}; slices read only what is used",
    "numpy": "array = np.load(path, mmap_mode='r')  # {once}; slices read only what is used",
    "file": _kept_open("file", 'open(self.path, "rb")', "self.file.seek(offset)", "data = self.file.read(size)"),
}
"""Where samples share a file: by a stage's label, or its first word."""


def are_packed(signals: Signals, stage: Stage) -> bool:
    """Whether the samples are in files of many: by the library that reads, or by the files of the slow samples."""
    return _container(stage) is not None or _shares_files(signals)


def read_advice(signals: Signals, stage: Stage) -> str:
    container = _container(stage)
    if container is not None:
        if _openings(signals, container) >= REOPENED:
            return _keep_open(signals, container)
        if stage.label not in STREAMED:
            return container.kept.format(each=" per DataLoader worker" if signals.num_workers else "")
    elif _shares_files(signals):
        return ONE_FILE.format(once=once(signals))
    cached = signals.costs.cached if signals.costs else None
    if cached is not None and cached >= ALL_CACHED:
        return CACHED
    return READ_ADVICE if container is None else ADVICE_STREAMED


def read_code(signals: Signals, stage: Stage) -> str:
    container = _container(stage)
    if container is not None:
        is_wanted = _openings(signals, container) >= REOPENED or (container.keep and stage.label not in STREAMED)
        return container.code if is_wanted else ""
    code = _CODE.get(stage.label) or _CODE.get(_library(stage), "")
    return code.format(once=once(signals)) if _shares_files(signals) else ""


def _keep_open(signals: Signals, container: Container) -> str:
    often = significant(_openings(signals, container))
    return (
        f"{container.opener} is called {often} times per sample, and {container.again}: open a file "
        f"{once(signals)}, when it is first used, and keep it open{container.keep}."
    )


def same_file(signals: Signals, stage: Stage) -> tuple[Evidence, ...]:
    """That every slow sample opens one file: it could be read once."""
    opened = [files for _, files in _opened(signals)]
    if stage.kind not in ("read", "decode") or len(opened) < FEW_SAMPLES:
        return ()
    shared = set.intersection(*opened)
    if not shared:
        return ()
    names = ", ".join(sorted(PurePath(path).name for path in shared))
    text = f"each of the {count(len(opened))} slowest samples whose files are known opens {names}"
    return (Evidence("same_file", text, stage=stage.name),)


def samples_built(signals: Signals) -> int:
    return sum(row.count for row in signals.stages if is_sample(row.stage))


def is_sample(stage: Stage) -> bool:
    return stage.kind == "sample" and not stage.label.endswith(".__getitems__")


def _container(stage: Stage) -> Container | None:
    return CONTAINERS.get(_library(stage))


def _library(stage: Stage) -> str:
    return stage.label.partition(".")[0]


def _openings(signals: Signals, container: Container) -> float:
    """Per sample."""
    samples = samples_built(signals)
    calls = sum(row.count for row in signals.stages if row.stage.label == container.opener)
    return calls / samples if samples else 0.0


def _shares_files(signals: Signals) -> bool:
    """No slow sample has a file that no other one opens."""
    by_sample = dict(_opened(signals))
    users = Counter(file for files in by_sample.values() for file in files)
    return len(by_sample) >= FEW_SAMPLES and min(users.values(), default=0) > 1


def _opened(signals: Signals) -> Iterator[tuple[int, set[str]]]:
    """Files of each slow sample of which they are known, by its index; -1 and down: it has none."""
    for number, sample in enumerate(signals.slow_samples):
        if sample.files:
            yield sample.index if sample.index >= 0 else -1 - number, _files(sample.files)


def _files(names: Sequence[str]) -> set[str]:
    """Without members of an archive that is among them: each archive may have one of that name."""
    if not any(PurePath(name).suffix in ARCHIVES for name in names):
        return set(names)
    return {name for name in names if PurePath(name).is_absolute() or PurePath(name).suffix in ARCHIVES}
