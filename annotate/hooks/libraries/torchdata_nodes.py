"""torchdata.nodes: the functions of its mappers, the user's own nodes, and the loop's wait for a Loader.

Its own nodes have no span: most of them wait for threads, whose stages are what is to be named.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Final

from annotate.hooks.libraries.library import Held, Library, Timed
from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import Method
from annotate.hooks.wrappers import batch_of
from annotate.recording import switch

_OWN: Final = "torchdata."


def _timed_next(patches: Patches, method: Method) -> Method:
    @wraps(method)
    def __next__(self: Any) -> Any:  # noqa: N807
        cls = type(self)
        if cls.__name__ == "LoaderIterator":
            return batch_of("Loader", method, self)
        if not switch.RECORDING:
            return method(self)
        if cls.__module__.startswith(_OWN):
            return method(self)
        return switch.call(switch.hand_out("wrapper", cls.__name__), method, (self,), {})

    return __next__


LIBRARY: Final = Library(
    "torchdata.nodes.map",
    held=(
        Held("torchdata.nodes.map", "_InlineMapperIter", "map_fn", from_the_start=True),
        Held("torchdata.nodes.map", "_ParallelMapperIter", "map_fn", from_the_start=True),
    ),
    timed=(Timed("torchdata.nodes.base_node", "BaseNode", "__next__", _timed_next, from_the_start=True),),
)
