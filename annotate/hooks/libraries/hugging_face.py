"""datasets: the function of ``set_transform``, and those of ``.map`` and ``.filter`` of a streamed dataset."""

from __future__ import annotations

from typing import Final

from annotate.hooks.libraries.library import Held, Library

LIBRARIES: Final = (
    Library(
        "datasets.formatting.formatting",
        held=(Held("datasets.formatting.formatting", "CustomFormatter", "transform"),),
    ),
    Library(
        "datasets.iterable_dataset",
        held=(Held("datasets.iterable_dataset", "MappedExamplesIterable", "function"),),
    ),
)
