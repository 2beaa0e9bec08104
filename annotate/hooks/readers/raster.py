"""tifffile and rasterio."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Hook, Reader, hooks_on

_ARRAYS: Final = ("TiffFile", "TiffPage", "TiffFrame", "TiffPageSeries")

READERS: Final = (
    Reader(
        "tifffile",
        (
            Hook("tifffile", "TiffFile.__init__", "read", "tifffile.TiffFile"),
            *hooks_on("tifffile", "decode", {"imread": "tifffile.imread"}),
            *hooks_on("tifffile", "decode", {f"{cls}.asarray": f"tifffile.{cls}.asarray" for cls in _ARRAYS}),
        ),
    ),
    Reader("rasterio", (Hook("rasterio", "open", "read", "rasterio.open"),)),
    Reader(
        "rasterio.io",
        hooks_on(
            "rasterio.io", "decode", {"DatasetReader.read": "rasterio.read", "DatasetReader.sample": "rasterio.sample"}
        ),
    ),
)
