"""Timed stand-ins: replacements for methods, a proxy for plain callables, a wrapper for iterators.

The replacement of a method stands on the class that defines it (`patching.Patches.follow`); a plain callable has no
class to stand on, so a proxy takes its place in the container that holds it.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator, Mapping
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, cast

from annotate.recording import switch

Method = Callable[..., Any]

Followed = dict[int, str]
"""Identity of an instance that is followed -> marker name of its spans."""

Make = Callable[[Method, Followed], Method]
"""Makes the replacement of a method."""

ORIGINAL: Final = "_annotate_original"
"""Attribute of a replacement: the method that it replaces."""

STAGE: Final = "_annotate_stage"
"""Attribute of what `annotate.stage` made of a callable: itself. A wrapper that copies its attributes is no stage."""

READER_HOOK: Final = "_annotate_reader"
"""Attribute of a library's method that is replaced for all instances: its calls are spans already."""

set_class: Final[Callable[[object, type], None]] = object.__dict__["__class__"].__set__
"""``obj.__class__ = cls`` past any property of that name."""


class _Unregistered:
    """Stands before the real class in the method resolution order, so that its `__init_subclass__` is not called."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        pass


def _quiet(metaclass: type[type]) -> type[type]:
    def mro(cls: type) -> list[type]:
        first, *rest = metaclass.mro(cls)
        return [first, _Unregistered, *rest]

    return cast("type[type]", type(metaclass.__name__, (metaclass,), {"mro": mro}))


def _has_own_init_subclass(base: type) -> bool:
    return any("__init_subclass__" in vars(c) and c.__module__ not in ("builtins", "typing") for c in base.__mro__)


def timed_subclass(base: type, methods: Mapping[str, Method]) -> type:
    """A subclass of `base` with these methods, indistinguishable from it by name, `__class__` and pickles.

    Made past the metaclass's and the parents' hooks, because those may keep a registry of classes (albumentations).
    """

    def __reduce_ex__(self: object, protocol: int) -> Any:  # noqa: N807
        by_table = copyreg.dispatch_table.get(base)
        reduced = by_table(self) if by_table else super(timed, self).__reduce_ex__(protocol)  # type: ignore[arg-type]
        if not isinstance(reduced, tuple):
            return reduced
        function, args, *rest = reduced
        args = tuple(base if arg is timed else arg for arg in args)
        return (base if function is timed else function, args, *rest)

    namespace: dict[str, object] = {
        "__slots__": (),
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        "__class__": property(lambda self: base, set_class),
        "__reduce_ex__": __reduce_ex__,
        **methods,
    }
    metaclass = type(base)
    if _has_own_init_subclass(base):
        metaclass = _quiet(metaclass)
    timed: type = type.__new__(metaclass, base.__name__, (base,), namespace)
    return timed


def replacement(make: Make, method: Method, followed: Followed) -> Method:
    """What `make` makes of a method, marked as ours."""
    made = make(method, followed)
    setattr(made, ORIGINAL, method)
    return made


def original_of(method: Method) -> Method:
    """`method`, or what it replaces when it is a replacement of ours."""
    original: Method = getattr(method, ORIGINAL, method)
    return original


def timed_method(method: Method, followed: Followed) -> Method:
    """`method` inside a span whenever a window is being recorded and it is called on an instance that is followed."""
    if switch.timed is not None:  # the recorder's own form
        return switch.timed(method, followed)

    @wraps(method)
    def timed(self: object, /, *args: Any, **kwargs: Any) -> Any:
        name = followed.get(id(self)) if switch.RECORDING else None
        if name is not None:
            return switch.call(name, method, (self, *args), kwargs)
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            switch.left(followed.get(id(self)), error)
            raise

    return timed


def timed_function(function: Method, name: str) -> Method:
    """`function` inside a span whenever a window is being recorded."""

    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        if switch.RECORDING:
            return switch.call(name, function, args, kwargs)
        try:
            return function(*args, **kwargs)
        except Exception as error:
            switch.left(name, error)
            raise

    return timed


def marked_stage(function: Any) -> Any:
    """What the user's `annotate.stage` was put on, if `function` is that stage, bound or partial; else None."""
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "__func__", function) if isinstance(function, MethodType) else function
    if isinstance(function, FunctionType) and vars(function).get(STAGE) is function:
        return vars(function)["__wrapped__"]
    return None


def itself(value: Any) -> Any:
    """`value`; what a pickled proxy calls to become the callable that it stood for."""
    return value


class TimedCallable:
    """Stands for a plain callable (function, lambda, partial, class) in a container while a session is on.

    Pickles and copies as the callable itself; attributes, repr and comparison are the callable's.
    """

    __slots__ = ("_name", "target")

    def __init__(self, target: Method, name: str) -> None:
        self.target = target
        self._name = name

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # so that isinstance() answers as for the callable
        return type(self.target)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if switch.RECORDING:
            return switch.call(self._name, self.target, args, kwargs)
        try:
            return self.target(*args, **kwargs)
        except Exception as error:
            switch.left(self._name, error)
            raise

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # for inspect.signature
            return self.target
        return getattr(self.target, name)

    def __repr__(self) -> str:
        return repr(self.target)

    def __eq__(self, other: object) -> bool:
        return bool(self.target == (other.target if isinstance(other, TimedCallable) else other))

    def __hash__(self) -> int:
        return hash(self.target)

    def __reduce__(self) -> tuple[Method, tuple[Method]]:
        return itself, (self.target,)


def look_up(module: str, name: str) -> Any:
    """``module.name``; what a pickled hook calls to become the function that stands there."""
    return getattr(import_module(module), name)


class TimedGlobal(TimedCallable):
    """Stands for a function of a module while a session is on, and pickles as that function's name."""

    __slots__ = ("_where",)

    def __init__(self, target: Method, name: str, module: str, attribute: str) -> None:
        super().__init__(target, name)
        self._where = (module, attribute)

    def __reduce__(self) -> tuple[Method, tuple[str, str]]:  # type: ignore[override]
        return look_up, self._where


def callable_label(target: Method) -> str:
    """How a callable is named in a span: a function by its name, a partial by its function's, an object by its class's.

    A lambda goes by its file and line.

    >>> callable_label(partial(len))
    'len'
    """
    while isinstance(target, partial):
        target = target.func
    name = getattr(target, "__name__", None)
    code = getattr(target, "__code__", None)
    if name == "<lambda>" and isinstance(code, CodeType):
        return f"lambda {Path(code.co_filename).name}:{code.co_firstlineno}"
    return name if isinstance(name, str) else type(target).__name__


class Resumable:
    """A stand-in for what has a state_dict, with that in its class.

    From Python 3.12 on isinstance() of a protocol asks no `__getattr__`: torchdata's StatefulDataLoader would find its
    sampler without a state, and leave it out of its checkpoint.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self.__getattr__("state_dict")(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self.__getattr__("load_state_dict")(*args, **kwargs)


def is_resumable(target: object) -> bool:
    """Whether its class has what `Resumable` stands for. Runs no code of the user's."""
    known = {name for cls in type(target).__mro__ for name in vars(cls)}
    return {"state_dict", "load_state_dict"} <= known


class TimedIterator:
    """The iterator of an iterable dataset with each ``next()`` in a `sample` span.

    Everything else (``close``, ``send``, ``throw``, a state_dict) is the real iterator's.
    """

    __slots__ = ("_iterator", "_name")

    def __init__(self, iterator: Iterator[Any], name: str) -> None:
        self._iterator = iterator
        self._name = name

    def __iter__(self) -> TimedIterator:
        return self

    def __next__(self) -> Any:
        thread = switch.thread.open
        if not switch.RECORDING and (switch.poll is None or not switch.poll()):
            if switch.unrecorded is None:
                return next(self._iterator)
            return switch.unrecorded(self._name, None, next, self._iterator)
        if thread.sample:  # a dataset inside another one makes no second sample
            return next(self._iterator)
        thread.sample = self._name
        thread.items += 1
        switch.sampling = True
        try:
            return switch.sample(self._name, None, next, self._iterator)
        finally:
            thread.sample = ""
            switch.sampling = False

    def __getattr__(self, name: str) -> Any:
        if name in TimedIterator.__slots__:  # only while unpickling or copying: not there yet
            raise AttributeError(name)
        return getattr(self._iterator, name)


class ResumableIterator(TimedIterator, Resumable):
    """One with a state_dict."""

    __slots__ = ()


def timed_iterator(iterator: Iterator[Any], name: str) -> TimedIterator:
    """What stands for the iterator of an iterable dataset."""
    return (ResumableIterator if is_resumable(iterator) else TimedIterator)(iterator, name)
