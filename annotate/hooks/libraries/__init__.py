"""Libraries with pipelines of their own: how the stages in them are found. One small file each, and the table of them.

They are in only while a capture is on, or a worker is followed, and quiet unless something records. A library is
hooked when it has been imported by then. What a pipeline had read of its functions before that (a generator that is
running, a thread that was started) stays untimed.

To add a library: a file with a `LIBRARY` beside these, and a line in `LIBRARIES`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from annotate.hooks import patching, wrappers
from annotate.hooks.libraries import (
    dali,
    fastai_items,
    hugging_face,
    spdl_pipelines,
    torchdata_nodes,
    torchio_subjects,
    webdatasets,
)
from annotate.hooks.libraries.library import Library, put_in
from annotate.hooks.patching import Patches
from annotate.saying import guard

LIBRARIES: Final[tuple[Library, ...]] = (
    webdatasets.LIBRARY,
    *hugging_face.LIBRARIES,
    torchdata_nodes.LIBRARY,
    spdl_pipelines.LIBRARY,
    torchio_subjects.LIBRARY,
    dali.LIBRARY,
    fastai_items.LIBRARY,
)


def install(patches: Patches, *, from_the_start: bool = False) -> None:
    """Hook every library that is there. Called again it adds what is there by then.

    Args:
        from_the_start: only what has to be hooked before the first batch.
    """
    for library in LIBRARIES:
        if library.module in sys.modules:
            with guard(f"annotate does not see the stages of {library.module}"):
                put_in(patches, library.early if from_the_start else library)


def begin_early(on_batch: Callable[[], None]) -> None:
    """Hook before any session what has to be there at the start of a loop; the next session takes the hooks over.

    Args:
        on_batch: called when an iterator that is none of torch's has given its loop a batch. It must not raise.
    """
    if patching.early is None:
        patching.early = Patches()
    install(patching.early, from_the_start=True)
    wrappers.on_own_batch = on_batch


def end_early() -> None:
    """Tell nobody of batches, and take out what no session has taken over. Harmless when nothing is in."""
    wrappers.on_own_batch = None
    patching.adopted(Patches()).undo()
