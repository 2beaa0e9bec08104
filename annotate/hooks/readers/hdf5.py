"""h5py. What a compressed or filtered dataset gives has been decoded; any other is only read."""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any, Final

from annotate.hooks.patching import Patches
from annotate.hooks.readers.reader import Reader, hooks_on
from annotate.hooks.readers.timing import read
from annotate.hooks.stand_ins import READER_HOOK, Method
from annotate.recording import switch

_METHODS: Final = ("__getitem__", "__array__", "read_direct")


def _install(patches: Patches) -> None:
    dataset = vars(sys.modules["h5py"]).get("Dataset")
    for name in _METHODS if isinstance(dataset, type) else ():
        method = getattr(dataset, name, None)
        if method is not None:
            label = "h5py.Dataset" if name.startswith("__") else f"h5py.Dataset.{name}"
            patches.set_attribute(dataset, name, _timed(method, label))


def _timed(method: Method, label: str) -> Method:
    raw, packed = switch.hand_out("read", label), switch.hand_out("decode", label)

    @wraps(method)
    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.RECORDING:
            return method(self, *args, **kwargs)
        if _is_packed(self):
            return read("decode", packed, method, (self, *args), kwargs)
        return read("read", raw, method, (self, *args), kwargs)

    setattr(timed, READER_HOOK, True)
    return timed


def _is_packed(dataset: Any) -> bool:
    """Whether HDF5 runs its chunks through filters (gzip, shuffle)."""
    try:
        return bool(dataset._dcpl.get_nfilters())
    except Exception:  # a dataset of a closed file: the user's call says so
        return False


READERS: Final = (
    Reader(
        "h5py",
        hooks_on(
            "h5py",
            "read",
            {"File.__init__": "h5py.File", "File.close": "h5py.File.close", "Group.__getitem__": "h5py.Group"},
        ),
        _install,
    ),
)
