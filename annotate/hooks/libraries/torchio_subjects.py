"""torchio: the transform that its datasets keep to themselves."""

from __future__ import annotations

from typing import Final

from annotate.hooks.libraries.library import Held, Library

LIBRARY: Final = Library("torchio.data.dataset", held=(Held("torchio.data.dataset", "SubjectsDataset", "_transform"),))
