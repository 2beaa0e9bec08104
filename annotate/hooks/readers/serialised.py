"""JSON and pickles, in a sample and from 4 KiB on: below that a span would cost more than it tells."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Hook, Reader, in_sample, of_some_size


def _reader(module: str) -> Reader:
    return Reader(
        module,
        (
            Hook(module, "load", "decode", f"{module}.load", in_sample),
            Hook(module, "loads", "decode", f"{module}.loads", of_some_size),
        ),
    )


READERS: Final = (
    *map(_reader, ("json", "pickle")),
    Reader("orjson", (Hook("orjson", "loads", "decode", "orjson.loads", of_some_size),)),
)
