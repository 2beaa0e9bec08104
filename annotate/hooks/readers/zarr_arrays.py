"""zarr, and numcodecs where it is called in a sample. zarr runs its codecs in threads of its own."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Reader, hooks_on, in_sample

_CODECS: Final = ("Blosc", "Zstd", "LZ4", "Zlib", "GZip", "BZ2", "LZMA")
_OPENING: Final = ("open", "open_array", "open_group")
_SELECTING: Final = ("get_basic_selection", "get_orthogonal_selection", "get_coordinate_selection")

READERS: Final = (
    Reader(
        "zarr",
        (
            *hooks_on("zarr", "read", {name: f"zarr.{name}" for name in _OPENING}),
            *hooks_on("zarr", "read", {"Group.__getitem__": "zarr.Group"}),
            *hooks_on("zarr", "decode", {"Array.__getitem__": "zarr.Array"}),
            *hooks_on("zarr", "decode", {f"Array.{name}": f"zarr.Array.{name}" for name in _SELECTING}),
        ),
    ),
    Reader(
        "numcodecs",
        hooks_on("numcodecs", "decode", {f"{c}.decode": f"numcodecs.{c}" for c in _CODECS}, when=in_sample),
    ),
)
