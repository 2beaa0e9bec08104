"""Spans of reading functions: of those that call each other, the outermost of a kind makes the span.

``pandas.read_parquet`` calls ``pyarrow.parquet.read_table``: both decode, the user wrote the first, and has one span.
A `read` inside of a `decode` stays: it says how much of that is the storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

from annotate.hooks.readers.reader import Hook, When, given_path
from annotate.hooks.stand_ins import READER_HOOK, Method, TimedGlobal
from annotate.recording import switch
from annotate.recording.file_names import saw
from annotate.trace_format import StageKind

R = TypeVar("R")


def read(kind: StageKind, name: str, function: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
    """``function(*args, **kwargs)`` in a span, while something records; plain inside of another call of its kind."""
    thread = switch.thread.open
    outer = thread.reading
    if outer == kind:
        return function(*args, **kwargs)
    thread.reading = kind
    try:
        return switch.call(name, function, args, kwargs)
    finally:
        thread.reading = outer


def is_worth(when: When, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """What `when` says; False for arguments that the function itself is about to refuse."""
    try:
        return when(*args, **kwargs)
    except Exception:
        return False


class TimedFunction(TimedGlobal):
    """Stands for a library's function in its module while a session is on."""

    __slots__ = ("_kind", "_path_at", "_when")

    def __init__(self, target: Method, hook: Hook, name: str) -> None:
        super().__init__(target, name, hook.module, hook.function)
        self._kind = hook.kind
        self._when = hook.when
        self._path_at = hook.path_at

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._path_at is not None and (switch.RECORDING or switch.unrecorded is not None):
            saw(given_path(self._path_at, args, kwargs))
        if not switch.RECORDING or (self._when is not None and not is_worth(self._when, args, kwargs)):
            try:
                return self.target(*args, **kwargs)
            except Exception as error:
                if not switch.RECORDING and (self._when is None or is_worth(self._when, args, kwargs)):
                    switch.left(self._name, error)
                raise
        return read(self._kind, self._name, self.target, args, kwargs)


def timed(function: Method, hook: Hook, name: str) -> Method:
    """What stands for a library's method on its class."""
    kind, when, path_at, of_part = hook.kind, hook.when, hook.path_at, hook.of_part

    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        is_asked = switch.RECORDING or switch.unrecorded is not None
        if is_asked and path_at is not None and (of_part is None or not is_worth(of_part, args, kwargs)):
            saw(given_path(path_at, args, kwargs))
        if not switch.RECORDING or (when is not None and not is_worth(when, args, kwargs)):
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if not switch.RECORDING and (when is None or is_worth(when, args, kwargs)):
                    switch.left(name, error)
                raise
        return read(kind, name, function, args, kwargs)

    setattr(timed, READER_HOOK, True)
    return timed


def timed_steps(function: Method, hook: Hook, name: str) -> Method:
    """What stands for a method that returns an iterator: each step of it is a span."""
    kind = hook.kind

    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        iterator = function(*args, **kwargs)
        return TimedSteps(iterator, kind, name) if switch.RECORDING else iterator

    setattr(timed, READER_HOOK, True)
    return timed


class TimedSteps:
    """An iterator of a library with each ``next()`` in a span. Everything else is the real iterator's."""

    __slots__ = ("_iterator", "_kind", "_name", "_next")

    def __init__(self, iterator: Iterator[Any], kind: StageKind, name: str) -> None:
        self._iterator = iterator
        self._next: Callable[[], Any] = iterator.__next__
        self._kind = kind
        self._name = name

    def __iter__(self) -> TimedSteps:
        return self

    def __next__(self) -> Any:
        if not switch.RECORDING:
            return self._next()
        return read(self._kind, self._name, self._next, (), {})

    def __getattr__(self, name: str) -> Any:
        if name in TimedSteps.__slots__:  # only while unpickling or copying: not there yet
            raise AttributeError(name)
        return getattr(self._iterator, name)


def replacement_of(found: object, hook: Hook, name: str) -> object | None:
    """What takes the place of a class's attribute: a method, a static or class method, or a property.

    None: it is nothing that can be called.
    """
    make = timed_steps if hook.steps else timed
    if isinstance(found, property):
        return None if found.fget is None else property(make(found.fget, hook, name), found.fset, found.fdel)
    if isinstance(found, (staticmethod, classmethod)):
        return type(found)(make(found.__func__, hook, name))
    return make(found, hook, name) if callable(found) else None
