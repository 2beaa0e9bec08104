"""nibabel."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Hook, Reader, hooks_on

_PROXY: Final = "nibabel.arrayproxy"

READERS: Final = (
    Reader("nibabel", (Hook("nibabel", "load", "read", "nibabel.load"),)),
    Reader(
        _PROXY,
        hooks_on(
            _PROXY,
            "decode",
            {f"ArrayProxy.{name}": "nibabel.ArrayProxy" for name in ("__array__", "__getitem__", "get_unscaled")},
        ),
    ),
    Reader(
        "nibabel.dataobj_images",
        (Hook("nibabel.dataobj_images", "DataobjImage.get_fdata", "decode", "nibabel.get_fdata"),),
    ),
)
