"""Functions that datasets of Hugging Face keep in their own places: ``with_transform``, and ``map`` of a stream."""

from __future__ import annotations

from typing import Any, Final

from annotate.hooks.patching import Patches
from annotate.hooks.transforms import attribute, is_proxy, proxy_of, time_held_as

_MOST_STEPS: Final = 64
"""Of a stream: ``map``, ``filter``, ``shuffle`` one after the other."""


def time_functions(patches: Patches, ds: object) -> None:
    """Time the functions of a dataset of the library ``datasets``; others are left alone."""
    if not any(cls.__module__.partition(".")[0] == "datasets" for cls in type(ds).__mro__):
        return
    own = getattr(ds, "__dict__", {})
    if "_format_kwargs" in own:
        time_held_as(patches, ds, "_format_kwargs")
    step: Any = own.get("_ex_iterable")
    for _ in range(_MOST_STEPS):
        if step is None:
            return
        function = getattr(step, "__dict__", {}).get("function")
        if callable(function) and not is_proxy(function):
            patches.set_attribute(step, "function", proxy_of(patches, function))
        step = attribute(step, "ex_iterable")
