"""Names of captures, as short as they stay different: for reading. Files keep theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

from tb_dataplugin.reader.discovery import STAMP


def brief_names(names: Iterable[str]) -> dict[str, str]:
    """Each name without the time that ends it, or as it stands where another would read the same."""
    short = {name: STAMP.sub("", name) for name in names}
    counts = Counter(short.values())
    return {name: name if counts[brief] > 1 else brief for name, brief in short.items()}


def with_folder(name: str, file: str) -> str:
    """A capture's name with its run: the folder that its file lies in, when the name does not say."""
    folder = PurePath(file).parent.name
    return name if "/" in name or not folder else f"{folder}/{name}"
