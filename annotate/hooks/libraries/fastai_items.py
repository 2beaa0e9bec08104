"""fastai: an item with its transforms, a batch being built, and each transform, of items and of batches."""

from __future__ import annotations

from functools import wraps
from typing import Any, Final

from annotate.hooks.fastai_loaders import MODULE
from annotate.hooks.libraries.library import Library, Timed
from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import Method, callable_label
from annotate.recording import switch


def _timed_item(patches: Patches, do_item: Method) -> Method:
    @wraps(do_item)
    def timed_item(self: Any, s: Any) -> Any:
        if not switch.RECORDING and (switch.poll is None or not switch.poll()):
            return do_item(self, s)
        thread = switch.thread.open
        if thread.sample:
            return do_item(self, s)
        name = thread.sample = switch.hand_out("sample", type(self.dataset).__name__)
        switch.sampling = True
        try:
            return switch.sample(name, s, do_item, self, s)
        finally:
            thread.sample = ""
            switch.sampling = False

    return timed_item


def _timed_batch(patches: Patches, do_batch: Method) -> Method:
    @wraps(do_batch)
    def timed_batch(self: Any, b: Any) -> Any:
        if not switch.RECORDING:
            return do_batch(self, b)
        own = vars(self).get("create_batch")
        label = "fa_collate" if own is None else callable_label(own)
        return switch.call(switch.hand_out("collate", label), do_batch, (self, b), {})

    return timed_batch


def _timed_transform(patches: Patches, call: Method) -> Method:
    @wraps(call)
    def timed_call(self: Any, *args: Any, **keywords: Any) -> Any:
        if not switch.RECORDING:
            return call(self, *args, **keywords)
        cls = type(self)
        label = self.name if cls.__name__ == "Transform" else cls.__name__
        return switch.call(switch.hand_out("transform", label), call, (self, *args), keywords)

    return timed_call


LIBRARY: Final = Library(
    MODULE,
    timed=(
        Timed(MODULE, "DataLoader", "do_item", _timed_item),
        Timed(MODULE, "DataLoader", "do_batch", _timed_batch),
        Timed("fasttransform.transform", "Transform", "__call__", _timed_transform),
    ),
)
