"""What is typed in place of a path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_URL: Final = re.compile(r"[A-Za-z][\w+.-]+://")
_PASSWORD: Final = re.compile(r"(?<=://)[^/@\s]*@")
_QUERY: Final = re.compile(r"(://[^\s?'\"]*)\?[^\s'\"]*")


@dataclass(frozen=True, slots=True)
class Url:
    """Where traces are, for fsspec. As text it is without the password that may stand in it, and without a query."""

    address: str

    def __str__(self) -> str:
        return _PASSWORD.sub("", self.address).partition("?")[0]

    @property
    def name(self) -> str:
        return str(self).rstrip("/").rpartition("/")[2]


Place = Path | Url


def place(text: str) -> Place:
    return Url(text) if _URL.match(text) else Path(text)


def without_secrets(text: str) -> str:
    """A sentence in which URLs may stand: without their passwords and queries."""
    return _QUERY.sub(r"\1", _PASSWORD.sub("", text))
