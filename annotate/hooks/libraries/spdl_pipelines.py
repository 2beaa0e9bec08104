"""SPDL: the functions that its pipelines are built of, and the loop's wait for a pipeline."""

from __future__ import annotations

from functools import wraps
from typing import Any, Final

from annotate.hooks.libraries.library import Library, Timed, timed
from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import Method
from annotate.hooks.wrappers import batch_of


def _timed_pipe(patches: Patches, pipe: Method) -> Method:
    @wraps(pipe)
    def timed_pipe(self: Any, op: Any, *args: Any, **keywords: Any) -> Any:
        if keywords.get("executor") is None:  # an executor of processes would pickle it
            op = timed(patches, op)
        return pipe(self, op, *args, **keywords)

    return timed_pipe


def _timed_next(patches: Patches, method: Method) -> Method:
    @wraps(method)
    def __next__(self: Any) -> Any:  # noqa: N807
        return batch_of("Pipeline", method, self)

    return __next__


LIBRARY: Final = Library(
    "spdl.pipeline",
    timed=(
        Timed("spdl.pipeline", "PipelineBuilder", "pipe", _timed_pipe, from_the_start=True),
        Timed("spdl.pipeline._pipeline", "PipelineIterator", "__next__", _timed_next, from_the_start=True),
    ),
)
