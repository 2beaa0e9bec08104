"""OpenCV."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Reader, hooks_on

_DECODE: Final = {
    name: f"cv2.{name}"
    for name in (
        "imread", "imreadmulti", "imdecode", "VideoCapture.read", "VideoCapture.grab", "VideoCapture.retrieve"
    )
}  # fmt: skip

READERS: Final = (
    Reader(
        "cv2",
        (
            *hooks_on("cv2", "decode", _DECODE),
            *hooks_on("cv2", "read", {"VideoCapture.__init__": "cv2.VideoCapture"}),
        ),
    ),
)
