"""NVIDIA DALI: a pipeline as one stage, and the loop's wait for its iterator. What runs inside is not Python."""

from __future__ import annotations

from functools import wraps
from typing import Any, Final

from annotate.hooks.libraries.library import Library, Timed
from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import Method
from annotate.hooks.wrappers import batch_of
from annotate.recording import switch


def _timed_outputs(patches: Patches, method: Method) -> Method:
    name = switch.hand_out("transform", "DALI.Pipeline")

    @wraps(method)
    def share_outputs(self: Any, *args: Any, **keywords: Any) -> Any:
        if not switch.RECORDING:
            return method(self, *args, **keywords)
        return switch.call(name, method, (self, *args), keywords)

    return share_outputs


def _timed_next(patches: Patches, method: Method) -> Method:
    @wraps(method)
    def __next__(self: Any) -> Any:  # noqa: N807
        return batch_of(type(self).__name__, method, self)

    return __next__


LIBRARY: Final = Library(
    "nvidia.dali.plugin.pytorch",
    timed=(
        Timed("nvidia.dali.pipeline", "Pipeline", "share_outputs", _timed_outputs),
        Timed("nvidia.dali.plugin.pytorch", "DALIGenericIterator", "__next__", _timed_next, from_the_start=True),
    ),
)
