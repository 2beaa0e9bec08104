"""Names to hashes: the same name gives the same hash while one `Hasher` lives, and no other one gives it."""

from __future__ import annotations

import re
import secrets
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from annotate.trace_format import FIRST_BATCH, ITER, RECORDERS_OWN, parse_span_name, span_name
from tb_dataplugin.sharing import vocabulary

_LETTERS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_BYTES: Final = 8

ENDINGS: Final = (FIRST_BATCH, ITER)
"""Of labels of waits: what tells them apart."""


class Hasher:
    """Its salt is random, and is written nowhere. A hash is of 16 small letters, as names of operators may be."""

    def __init__(self) -> None:
        self._salt = secrets.token_bytes(32)
        self.name = lru_cache(maxsize=None)(self._name)

    def of(self, text: str) -> str:
        """ "" for ""."""
        data = text.encode("utf-8", "surrogatepass")
        digest = blake2b(data, digest_size=_BYTES, key=self._salt).hexdigest().translate(_LETTERS)
        return digest if text else ""

    def _name(self, name: str) -> str:
        """Of an event."""
        stage = parse_span_name(name)
        if stage is not None:
            return span_name(stage.kind, self.label(stage.label))
        for pattern in vocabulary.PUBLIC_NAMES:
            match = pattern.fullmatch(name)
            if match is not None:
                return self._around(match)
        return self.of(name)

    def _around(self, match: re.Match[str]) -> str:
        """The name that a public pattern matches, its groups hashed."""
        name, at, pieces = match.string, 0, []
        words = vocabulary.COPY_WORDS.findall(name)
        if match.re.pattern.startswith(".*?") and words:
            return " ".join((self.of(name), *words))
        for begin, end in (match.span(group + 1) for group in range(match.re.groups)):
            if begin >= 0:
                pieces += [name[at:begin], self.of(name[begin:end])]
                at = end
        return "".join((*pieces, name[at:]))

    def label(self, label: str) -> str:
        """Of a stage; a class's name."""
        ending = next((ending for ending in ENDINGS if label.endswith(ending)), "")
        bare = label.removesuffix(ending)
        return (bare if bare in vocabulary.PUBLIC_LABELS else self.of(bare)) + ending

    def unless(self, public: re.Pattern[str], text: str) -> str:
        return text if public.fullmatch(text) else self.of(text)

    def device(self, name: str) -> str:
        words = re.split(r"[ -]", name)
        return name if all(map(vocabulary.DEVICE_WORD.fullmatch, words)) else self.of(name)

    def function(self, name: str) -> str:
        """Of a qualified name each part, so that methods of one class are still seen to be that.

        The recorder's own functions keep their names: time in them is no stage's.
        """
        parts = name.split(".")
        kept = (part if part in RECORDERS_OWN else self.unless(vocabulary.PUBLIC_FUNCTIONS, part) for part in parts)
        return ".".join(kept)

    def path(self, path: str) -> str:
        """Folder by folder, so that what lies in one folder still does. Known libraries are kept as they are."""
        before, slash, after = self._library(path)
        parts = [self.unless(vocabulary.PUBLIC_FOLDERS, part) for part in before.split("/")]
        return "/".join(parts) + slash + after

    def is_public(self, path: str) -> bool:
        return bool(self._library(path)[2])

    @staticmethod
    def _library(path: str) -> tuple[str, str, str]:
        parts = path.split("/")
        for place, part in enumerate(parts[:-1]):
            inside = parts[place + 1].removesuffix(".py")
            if vocabulary.LIBRARIES.fullmatch(part) and inside in vocabulary.PUBLIC_PACKAGES:
                return "/".join(parts[: place + 1]), "/", "/".join(parts[place + 1 :])
        return path, "", ""
