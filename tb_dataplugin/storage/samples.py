"""Which files are probed: some of those that are named, drawn at random, within a number of bytes."""

from __future__ import annotations

import glob
import os
import random
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from tb_dataplugin.errors import BadRequest, NothingToReport

MOST_LISTED: Final = 200_000
"""Files that are looked at, wherever they lie."""

MOST_PROBED: Final = 4_000

_PATTERN: Final = "*?["


@dataclass(frozen=True, slots=True)
class Sample:
    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class Samples:
    """`chosen`, in random order, of `count` files with `size` bytes; of more than `MOST_LISTED` the first are known."""

    chosen: tuple[Sample, ...]
    count: int
    size: int

    @property
    def chosen_size(self) -> int:
        return sum(sample.size for sample in self.chosen)


def choose(paths: Iterable[str], most_bytes: int, seed: int = 0) -> Samples:
    """From files, folders (with all below them) and patterns such as ``"data/*.jpg"``.

    Raises BadRequest for a path that is not there, NothingToReport where no file has any bytes.
    """
    found = list(_within(MOST_LISTED, (sample for path in paths for sample in _files(path))))
    if not found:
        raise NothingToReport("none of the paths has a regular file with anything in it")
    mixed = found.copy()
    random.Random(seed).shuffle(mixed)
    chosen: list[Sample] = []
    taken = 0
    for sample in mixed[:MOST_PROBED]:
        if not chosen or taken + sample.size <= most_bytes:
            chosen.append(sample)
            taken += sample.size
    if taken > most_bytes:
        smallest = min(found, key=lambda sample: sample.size)
        if smallest.size > most_bytes:
            raise BadRequest(f"the smallest file, {smallest.path}, is larger than --mb allows; allow more")
        chosen = [smallest]
    return Samples(tuple(chosen), len(found), sum(sample.size for sample in found))


def every(paths: Iterable[str]) -> list[Path]:
    """All files of these, `MOST_LISTED` at most. Raises as `choose` does."""
    found = [sample.path for sample in _within(MOST_LISTED, (sample for path in paths for sample in _files(path)))]
    if not found:
        raise NothingToReport("none of the paths has a regular file with anything in it")
    return found


def has_a_file(folder: Path, endings: tuple[str, ...]) -> bool:
    """Whether one below it has such a name, among the first `MOST_LISTED`."""
    names = (name for _, _, names in os.walk(folder) for name in names)
    return any(name.endswith(endings) for name in islice(names, MOST_LISTED))


def _within(most: int, samples: Iterator[Sample]) -> Iterator[Sample]:
    for _, sample in zip(range(most), samples, strict=False):
        yield sample


def _files(path: str) -> Iterator[Sample]:
    """Regular files with anything in them; links are followed to files, and not to folders."""
    if not os.path.lexists(path) and any(sign in path for sign in _PATTERN):
        for match in sorted(glob.iglob(path, recursive=True)):  # noqa: PTH207  (of any root)
            yield from _files(match)
        return
    try:
        is_folder = stat.S_ISDIR(Path(path).stat().st_mode)
    except OSError as error:
        raise BadRequest(f"cannot read {path}: {error.strerror or error}; name files, folders or patterns") from None
    if not is_folder:
        yield from _sample(Path(path))
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            yield from _sample(Path(folder, name))


def _sample(path: Path) -> Iterator[Sample]:
    try:
        facts = path.stat()
    except OSError:
        return
    if stat.S_ISREG(facts.st_mode) and facts.st_size and os.access(path, os.R_OK):
        yield Sample(path, facts.st_size)
