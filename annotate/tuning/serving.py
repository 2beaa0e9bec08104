"""``python -m annotate tune-worker``: answers `tb-dataplugin tune`, a line of JSON for a line of JSON.

    {"do": "window", "seconds": 2}     how long steps took (`windows.timed_window`)
    {"do": "same", "seconds": 2, "count": 0}     the same samples each time (`windows.same_window`)
    {"do": "loaderless", "count": 50}     batches from memory (`windows.loaderless_window`)
    {"do": "record", "batches": 24, "logdir": "..."}     a capture: {"trace": path}

The first line is about the loader. An error is {"error": one line}. Ends with its input. What the user's code prints
goes to stderr.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

from annotate.hooks.loaders import is_iterable, undivided
from annotate.tuning.rebuilding import NotTunable, not_the_same, rebuilt, settings_of
from annotate.tuning.windows import Step, loaderless_window, recorded_window, same_window, timed_window

LONGEST: Final = 300
"""Characters of an error."""


def serve(find: Callable[[], Any], make: Callable[[Any], Any], step: Step, change: Mapping[str, Any]) -> int:
    """
    Args:
        find: the object that the user has named.
        make: the loader that it is, or returns.
        change: settings by name (`rebuilding.SETTINGS`).
    """
    asked, answers = _channels()
    try:
        source = find()
        loader = make(source)
        _answer(answers, _facts(source, loader, rebuilding := rebuilt(loader, change)))
    except Exception as error:
        _answer(answers, {"error": one_line(error)})
        return 2
    for line in asked:
        try:
            _answer(answers, _done(json.loads(line), rebuilding, step))
        except Exception as error:
            _answer(answers, {"error": one_line(error)})
    return 0


def _channels() -> tuple[TextIO, TextIO]:
    """Standard input and output, for us alone: the user's code finds an empty input, and prints to stderr."""
    asked, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return asked, answers


def _answer(answers: TextIO, answer: Mapping[str, Any]) -> None:
    print(json.dumps(answer), file=answers, flush=True)


def _done(asked: Mapping[str, Any], loader: Any, step: Step) -> Mapping[str, Any]:
    if asked["do"] == "record":
        return {"trace": recorded_window(loader, step, int(asked["batches"]), asked["logdir"])}
    if asked["do"] == "same":
        return same_window(loader, step, float(asked["seconds"]), int(asked["count"]))
    if asked["do"] == "loaderless":
        return loaderless_window(loader, step, int(asked["count"]))
    return timed_window(loader, step, float(asked["seconds"]))


def _facts(source: Any, loader: Any, made: Any) -> dict[str, Any]:
    import torch
    from torch.utils.data import DataLoader

    try:
        file, line = inspect.getsourcefile(source) or "", inspect.getsourcelines(source)[1]
    except (OSError, TypeError):  # no function, or one without a file
        file, line = "", 0
    known = inspect.signature(DataLoader.__init__).parameters
    return {
        "settings": settings_of(loader),
        "made": settings_of(made),
        "batch_size": loader.batch_size,
        "torch": str(torch.__version__),
        "takes": sorted(known),
        "opencv": "cv2" in sys.modules,
        "file": file,
        "line": line,
        "note": not_the_same(loader),
        "iterable": is_iterable(loader),
        "undivided": undivided(loader),
    }


def one_line(error: BaseException) -> str:
    """``"ValueError: ..."``; of what torch reports from a DataLoader worker what stands behind its traceback."""
    lines = str(error).splitlines()
    if any(line.startswith("Original Traceback") for line in lines):
        last = max(number for number, line in enumerate(lines) if line.startswith(("Original", "  ")))
        return f"{' '.join(lines[last + 1 :])[:LONGEST]} (in a DataLoader worker)"
    text = " ".join(str(error).split())[:LONGEST]
    if isinstance(error, NotTunable):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
