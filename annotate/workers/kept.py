"""Files of a window that was closed, put aside in the spool until its trace is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class Kept:
    """The files of one window, put aside until its trace is written: as `Spool`, for whoever reads them."""

    def __init__(self, paths: list[list[Path]], ends: dict[int, int]) -> None:
        self._paths = paths
        self._ends = ends

    def files(self) -> list[list[Path]]:
        there = [[path for path in paths if path.exists()] for paths in self._paths]
        return [paths for paths in there if paths]

    def ends(self) -> dict[int, int]:
        return self._ends

    def clear(self) -> None:
        for path in (path for paths in self._paths for path in paths):
            path.unlink(missing_ok=True)


def by_worker(paths: Iterable[Path]) -> list[list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in paths:
        found.setdefault(path.stem.partition("-")[2], []).append(path)
    return list(found.values())
