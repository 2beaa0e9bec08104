"""numpy: ``numpy.load``, and the arrays of npz files."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from annotate.hooks.patching import Patches
from annotate.hooks.readers.reader import Hook, Reader
from annotate.hooks.stand_ins import timed_function
from annotate.recording import switch


def _install_npz(patches: Patches) -> None:
    """Time the arrays of an npz file: each is read and unzipped when it is asked for, not by ``numpy.load``."""
    npz: Any = getattr(import_module("numpy.lib.npyio"), "NpzFile", None)
    if npz is not None and "__getitem__" in vars(npz):
        name = switch.hand_out("decode", "numpy.NpzFile")
        patches.set_attribute(npz, "__getitem__", timed_function(npz.__getitem__, name))


READER: Final = Reader("numpy", (Hook("numpy", "load", "decode", "numpy.load"),), _install_npz)
