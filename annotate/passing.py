"""Frames of ours that stand between the user's code, or a library's, and whoever called it: Python passes over them.

A warning with ``stacklevel=2`` is about the line of its caller. That would be a line of ours, and "once per place" one
place for all; so would be the line of a log record. Python passes over the frames of its own import system, which
`warnings` and `logging` know by two words in the name of their file, in every version from 3.3 on.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any, Final

PASSED_OVER: Final = " (as importlib._bootstrap)"
"""Ends the name of the file of these functions, and of those inside them."""

FUNCTIONS: Final[dict[str, tuple[str, ...]]] = {
    "hooks.collating": ("Collate.__call__",),
    "hooks.datasets": (
        "_timed_getitem",
        "_timed_getitems",
        "_timed_iter",
    ),
    "hooks.held": (
        "HeldFunction.__call__",
        "_timed_in_sample",
    ),
    "hooks.libraries.fastai_items": (
        "_timed_item",
        "_timed_batch",
        "_timed_transform",
    ),
    "hooks.readers.databases": (
        "_TimedConnect.__call__",
        "_through_a_cursor",
    ),
    "hooks.readers.files": (
        "_TimedOpen.__call__",
        "_opened",
        "_wrap",
    ),
    "hooks.readers.hdf5": ("_timed",),
    "hooks.readers.pil": (
        "_timed_load",
        "_load",
        "_TimedImageOpen.__call__",
    ),
    "hooks.readers.timing": (
        "read",
        "timed",
        "timed_steps",
        "TimedFunction.__call__",
        "TimedSteps.__next__",
    ),
    "hooks.readers.tokenizing": ("_timed_call",),
    "hooks.stages": ("_timed_generator",),
    "hooks.stand_ins": (
        "timed_method",
        "timed_function",
        "TimedCallable.__call__",
        "TimedIterator.__next__",
    ),
    "hooks.wrappers": (
        "timed_wait",
        "timed_next",
        "_timed_iter",
        "_timed_own_next",
        "TimedSteps.__next__",
    ),
    "recording.marked_spans": (
        "timed_in_marker",
        "_other_call",
        "call_in_marker",
        "sample_in_marker",
    ),
    "recording.other_threads": ("call",),
    "recording.span_recorder": (
        "timed",
        "_other_call",
        "call",
        "sample",
    ),
    "recording.sums": (
        "call",
        "sample",
    ),
    "recording.switch": (
        "_call",
        "_sample",
    ),
    "workers.batches": (
        "TaggingIterator.__next__",
        "SamplerProxy.__iter__",
    ),
    "workers.following": (
        "_followed",
        "_in_a_wait",
        "_iterate",
    ),
    "workers.worker_side": (
        "WorkerCollate.__call__",
        "WorkerInit.__call__",
    ),
}
"""All of them, by their module in this package."""


def pass_over() -> None:
    """Have Python pass over those whose module has been imported by now."""
    for module in list(FUNCTIONS):
        if f"{__package__}.{module}" in sys.modules and module not in _done:
            _done.add(module)
            for function in functions_of(module):
                function.__code__ = _renamed(function.__code__)


def functions_of(module: str) -> list[Any]:
    """Raises: AttributeError: one of them is gone."""
    found = []
    for path in FUNCTIONS[module]:
        function: Any = sys.modules[f"{__package__}.{module}"]
        for name in path.split("."):
            function = getattr(function, name)
        found.append(function)
    return found


_done: Final[set[str]] = set()


def _renamed(code: CodeType) -> CodeType:
    inner = tuple(_renamed(const) if isinstance(const, CodeType) else const for const in code.co_consts)
    return code.replace(co_filename=code.co_filename + PASSED_OVER, co_consts=inner)
