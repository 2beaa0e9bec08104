"""Under `tb-dataplugin tune -- PROGRAM`: its DataLoaders get other settings as they are made, and its loop is timed.

The folder that ANNOTATE_TUNE names has an order: the place (``file:line``) at which the loader is made that is tuned,
and what to change there. Without a place nothing is changed: each loader that is iterated leaves a line of what it is.
Loaded in every Python process of the program, before torch: standard library only.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FOLDER = "ANNOTATE_TUNE"
ORDER = "tune.json"
OF_WORKERS = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout")
"""What a DataLoader without workers refuses."""


def put_in(cls: type) -> None:
    """Into DataLoader. Does nothing where who asked is gone."""
    try:
        with open(os.path.join(os.environ[FOLDER], ORDER)) as file:
            order = json.load(file)
    except (OSError, KeyError, ValueError):
        return
    _change_arguments(cls, order)
    _follow_iteration(cls, order)


def with_changes(arguments: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of a DataLoader, with the changes made."""
    new = {**arguments, **changes}
    if changes and not new.get("num_workers"):
        return {name: value for name, value in new.items() if name not in OF_WORKERS}
    return new


def place_of(loader: object, frame: Any) -> str:
    """``file:line`` of the call that makes it: an ``__init__`` of its own class is passed over."""
    while frame.f_back is not None and frame.f_code.co_name == "__init__" and _first_local(frame) is loader:
        frame = frame.f_back
    return f"{os.path.abspath(frame.f_code.co_filename)}:{frame.f_lineno}"


def _first_local(frame: Any) -> object:
    names = frame.f_code.co_varnames
    return frame.f_locals.get(names[0]) if names else None


def _change_arguments(cls: Any, order: Mapping[str, Any]) -> None:
    from contextlib import suppress
    from functools import wraps
    from inspect import signature

    original, known = cls.__init__, signature(cls.__init__)

    @wraps(original)
    def __init__(self: Any, *args: Any, **keywords: Any) -> None:  # noqa: N807
        place = place_of(self, sys._getframe(1))
        if order["changes"] and place == order["place"]:
            with suppress(TypeError):  # torch says what is wrong
                given = dict(known.bind(self, *args, **keywords).arguments)
                given.pop("self")
                args, keywords = (), with_changes(given, order["changes"])
        original(self, *args, **keywords)
        self.__dict__["_annotate_place"] = place

    cls.__init__ = __init__


def _follow_iteration(cls: Any, order: Mapping[str, Any]) -> None:
    from functools import wraps
    from time import perf_counter

    original, pid = cls.__iter__, os.getpid()

    @wraps(original)
    def __iter__(self: Any) -> Any:  # noqa: N807
        began = perf_counter()
        iterator = original(self)
        place = self.__dict__.get("_annotate_place", "")
        if os.getpid() == pid and place and order["place"] in ("", place):
            try:
                from annotate.launch import tuned

                tuned.iterated(self, iterator, began, order)
            except Exception as error:
                print(f"annotate does not time this program: {type(error).__name__}: {error}", file=sys.stderr)
        return iterator

    cls.__iter__ = __iter__
