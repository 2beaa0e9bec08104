"""OpenCV."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Hook, Reader

READER: Final = Reader(
    "cv2", (Hook("cv2", "imread", "decode", "cv2.imread"), Hook("cv2", "imdecode", "decode", "cv2.imdecode"))
)
