"""Functions that datasets of Hugging Face keep in their own places: ``with_transform``, and ``map`` of a stream."""

from __future__ import annotations

from typing import Any, Final

from annotate.hooks.patching import Patches
from annotate.hooks.transforms import attribute, home_of, is_proxy, proxy_of, time_held_as, times_itself

_MOST_STEPS: Final = 64
"""Of a stream: ``map``, ``filter``, ``shuffle`` one after the other."""


def _is_its_own(module: object) -> bool:
    """Whether a class or function is of the library itself: ``filter`` puts one around the user's."""
    return isinstance(module, str) and module.partition(".")[0] == "datasets"


def time_functions(patches: Patches, ds: object) -> None:
    """Time the functions of a dataset of the library ``datasets``; others are left alone."""
    if not any(_is_its_own(cls.__module__) for cls in type(ds).__mro__):
        return
    own = getattr(ds, "__dict__", {})
    if "_format_kwargs" in own:
        time_held_as(patches, ds, "_format_kwargs")
    step: Any = own.get("_ex_iterable")
    for _ in range(_MOST_STEPS):
        if step is None:
            return
        function = getattr(step, "__dict__", {}).get("function")
        is_users = callable(function) and not is_proxy(function) and not _is_its_own(home_of(function))
        if callable(function) and is_users and not times_itself(patches, function):
            patches.set_value(vars(step), "function", proxy_of(patches, function))
        step = attribute(step, "ex_iterable")
