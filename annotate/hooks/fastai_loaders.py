"""fastai's DataLoader, which is not torch's: it gives torch's iterators an object that stands in for a loader.

What torch's iterators read (workers, ``worker_init_fn``, ``collate_fn``, the index sampler) is that stand-in's, so it
is what annotate follows; what users know (dataset, batch size, class) is the loader's. fastai is not imported here.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

MODULE: Final = "fastai.data.load"
_STAND_IN: Final = "_FakeLoader"
MAKERS: Final = "_loaders"
"""In `MODULE`: torch's iterator classes, which it calls with a stand-in."""
INDEX_SAMPLER: Final = "_index_sampler"


def module() -> ModuleType | None:
    """Where fastai has its DataLoader, if that has been imported and is as we know it."""
    found = sys.modules.get(MODULE)
    known = found is not None and all(hasattr(found, name) for name in ("DataLoader", _STAND_IN, MAKERS))
    return found if known else None


def is_stand_in(loader: object) -> bool:
    cls = type(loader)
    return cls.__name__ == _STAND_IN and cls.__module__ == MODULE


def followed(loader: object) -> object:
    """What is followed of a loader: of one of fastai's the stand-in, of all others itself."""
    found = module()
    if found is not None and isinstance(loader, found.DataLoader):
        return vars(loader).get("fake_l", loader)
    return loader


def known_as(loader: Any) -> Any:
    """The loader that users know, where torch's iterators were given a stand-in."""
    return loader.d if is_stand_in(loader) else loader
