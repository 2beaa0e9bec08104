"""Read and decode hooks on well-known libraries: one small file each, and the table of them.

They are in only while a capture is on, and quiet unless it records. A library is hooked when it has been imported by
the time the capture, or its window, begins. The hooks replace module attributes, so a copy made by ``from cv2 import
imread`` is missed; write ``cv2.imread(...)``, or mark the call with `annotate.stage`.

To add a reader: a file with a `READER` beside these, and a line in `READERS`.
"""

from __future__ import annotations

import sys
from typing import Final

from annotate.hooks.patching import Patches
from annotate.hooks.readers import files, numpy_arrays, opencv, pil, torchvision_io
from annotate.hooks.readers.reader import Hook, Reader
from annotate.hooks.stand_ins import TimedGlobal
from annotate.recording import switch

READERS: Final[tuple[Reader, ...]] = (
    numpy_arrays.READER,
    opencv.READER,
    *torchvision_io.READERS,
    pil.READER,
    files.READER,
)

HOOKS: Final[tuple[Hook, ...]] = tuple(hook for reader in READERS for hook in reader.hooks)


def install(patches: Patches) -> None:
    """Put in every hook whose library is there. Called again it adds what is there by then."""
    for reader in READERS:
        if reader.module not in sys.modules:
            continue
        for hook in reader.hooks:
            _install(patches, hook)
        if reader.install is not None and patches.once(reader.module):
            reader.install(patches)


def _install(patches: Patches, hook: Hook) -> None:
    module = sys.modules.get(hook.module)
    function = vars(module).get(hook.function) if module is not None else None
    if module is not None and callable(function) and patches.once(f"{hook.module}.{hook.function}"):
        name = switch.hand_out(hook.kind, hook.label)
        patches.set_global(module, hook.function, TimedGlobal(function, name, hook.module, hook.function))
