"""pydicom."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Hook, Reader

READERS: Final = (
    Reader("pydicom", (Hook("pydicom", "dcmread", "decode", "pydicom.dcmread"),)),
    Reader(
        "pydicom.dataset",
        (Hook("pydicom.dataset", "Dataset.convert_pixel_data", "decode", "pydicom.pixel_array"),),
    ),
    Reader("pydicom.pixels", (Hook("pydicom.pixels", "pixel_array", "decode", "pydicom.pixels.pixel_array"),)),
)
