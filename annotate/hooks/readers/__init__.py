"""Read and decode hooks on well-known libraries: one small file each, and the table of them.

They are in only while a capture is on, and quiet unless it records. A library is hooked when it has been imported by
the time the capture, or its window, begins. Functions are replaced in their modules, and where ``from cv2 import
imread`` has copied them into the module of a dataset, transform or collate function that is timed; methods are
replaced on their class, so handles that were opened before are seen too. `docs/readers.md` has the table, and what
cannot be seen.

To add a reader: a file with a `READER` beside these, and a line in `READERS`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

from annotate.hooks import patching
from annotate.hooks.patching import Patches
from annotate.hooks.readers import (
    arrow,
    databases,
    dicom,
    files,
    hdf5,
    numpy_arrays,
    opencv,
    pandas_tables,
    pil,
    raster,
    registered,
    remote,
    serialised,
    sound,
    tokenizing,
    torch_files,
    torchvision_io,
    video,
    volumes,
    zarr_arrays,
    zipped,
)
from annotate.hooks.readers.reader import Hook, Reader
from annotate.hooks.readers.timing import TimedFunction, replacement_of
from annotate.hooks.stand_ins import READER_HOOK
from annotate.recording import switch
from annotate.saying import guard

READERS: Final[tuple[Reader, ...]] = (
    *hdf5.READERS,
    *sound.READERS,
    *video.READERS,
    *arrow.READERS,
    *zarr_arrays.READERS,
    *torch_files.READERS,
    *tokenizing.READERS,
    *pandas_tables.READERS,
    *serialised.READERS,
    *volumes.READERS,
    *dicom.READERS,
    *raster.READERS,
    numpy_arrays.READER,
    *databases.READERS,
    *zipped.READERS,
    *remote.READERS,
    *opencv.READERS,
    *torchvision_io.READERS,
    pil.READER,
    *files.READERS,
)

HOOKS: Final[tuple[Hook, ...]] = tuple(hook for reader in READERS for hook in reader.hooks)


def install(patches: Patches) -> None:
    """Put in every hook whose library is there. Called again it adds what is there by then."""
    with guard("annotate does not time a registered reader"):
        for hook in registered.hooks():
            _install(patches, hook)  # before ours: the user's label counts
    for reader in READERS:
        if reader.module not in sys.modules or _is_being_imported(reader.module) or not patches.once(reader.module):
            continue
        with guard(f"annotate does not time all of {reader.module}"):
            for hook in reader.hooks:
                _install(patches, hook)
            if reader.install is not None:
                reader.install(patches)


def _is_being_imported(module: str) -> bool:
    """Another thread is at it: what is missing now will be there when we are asked again."""
    return bool(getattr(getattr(sys.modules.get(module), "__spec__", None), "_initializing", False))


def _install(patches: Patches, hook: Hook) -> None:
    owner = hook.owner
    found = _found(owner, hook.name)
    if (
        owner is None
        or found is None
        or hasattr(found, READER_HOOK)
        or not patches.once(f"{hook.module}.{hook.function}")
    ):
        return
    name = switch.hand_out(hook.kind, hook.label)
    if isinstance(owner, ModuleType):
        if callable(found):
            patches.set_global(owner, hook.name, TimedFunction(found, hook, name))
        return
    replacement = replacement_of(found, hook, name)
    if replacement is not None:
        patches.set_attribute(owner, hook.name, replacement)


def _found(owner: ModuleType | type | None, name: str) -> Any:
    """Imports nothing: a module is not asked for what it hands out lazily."""
    if owner is None or name in vars(owner):
        return None if owner is None else vars(owner)[name]
    return getattr(owner, name, None) if isinstance(owner, type) else None


def _install_registered() -> None:
    if patching.in_force is not None:
        install(patching.in_force)


registered.on_registered = _install_registered
