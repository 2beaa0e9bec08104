"""torchvision.io."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Hook, Reader

_DECODERS: Final = ("image", "jpeg", "png", "gif", "webp", "avif", "heic")


_VIDEO: Final = "torchvision.io.video"


def _reader(module: str) -> Reader:
    return Reader(
        module,
        (
            Hook(module, "read_file", "read", "torchvision.io.read_file"),
            Hook(module, "read_video", "decode", "torchvision.io.read_video"),
            Hook(module, "read_image", "decode", "torchvision.io.read_image"),
            *(Hook(module, f"decode_{f}", "decode", f"torchvision.io.decode_{f}") for f in _DECODERS),
        ),
    )


READERS: Final = (
    _reader("torchvision.io"),
    _reader("torchvision.io.image"),
    Reader(_VIDEO, (Hook(_VIDEO, "read_video", "decode", "torchvision.io.read_video"),)),
)
"""``read_image`` looks for its parts in the second."""
