"""Several folders in one page: what each has is named by its folder, which sets programs apart."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tb_dataplugin.cli.inputs import is_folder
from tb_dataplugin.remote import Place, Url


@dataclass(frozen=True, slots=True)
class Folders:
    """Those that were given, absolute."""

    paths: tuple[Path, ...]

    @classmethod
    def of(cls, given: Iterable[Place]) -> Folders:
        local = [path for path in given if not isinstance(path, Url) and is_folder(path)]
        return cls(tuple(dict.fromkeys(path.absolute() for path in local)))

    def named(self, name: str, at: Path) -> str:
        """The run, or capture, of that name `at` a file or folder; below its folder's name where several were given."""
        place = at.absolute()
        own = max((folder for folder in self.paths if place.is_relative_to(folder)), key=_depth, default=None)
        if own is None or len(self.paths) < 2:
            return name
        parts = own.relative_to(os.path.commonpath(self.paths)).parts
        return "/".join((*parts, *([name] if name not in ("", ".") else []))) or "."

    def numbers_in_each(self, files: Sequence[Path]) -> list[list[int]]:
        """Which of the files each folder has, at any depth; nothing where a single folder was given."""
        if len(self.paths) < 2:
            return []
        places = [file.absolute() for file in files]
        return [[number for number, place in enumerate(places) if place.is_relative_to(own)] for own in self.paths]


def _depth(folder: Path) -> int:
    return len(folder.parts)
