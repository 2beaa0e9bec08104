"""Whether DataLoader workers of an iterable dataset each get a part of it, as far as its code shows. None of it is run.

Each worker has a copy of the dataset, and iterates all of it unless something divides it. What is looked at: the code
of the dataset's class, of what it calls of the user's, of what it holds, and of the loader's ``worker_init_fn``.
A dataset that draws at random without an end (a replay buffer) has nothing to divide: see `is_drawn`.
"""

from __future__ import annotations

import dis
import inspect
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice, pairwise
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any, Final, cast

from annotate.hooks.same_code import is_installed, is_users

_ASKING: Final = frozenset(("get_worker_info", "_worker_info", "split_by_worker"))
"""Names in code that asks which worker it runs in."""
_LIBRARIES: Final = ("datasets.iterable_dataset.", "webdataset.", "torchdata.", "litdata.", "streaming.base.")
"""Modules whose datasets divide themselves."""
_CHOOSING: Final = ("choice", "choices", "multinomial", "sample")
_NUMBERS: Final = ("integers", "normal", "rand", "randint", "randn", "random", "randrange", "uniform")
_DRAWING: Final = frozenset((*_CHOOSING, *_NUMBERS))
"""Functions that draw at random."""
_RANDOM: Final = frozenset((*_DRAWING, "default_rng"))
"""Names in code that may draw at random."""
_SHUFFLING: Final = frozenset(("permutation", "permuted", "randperm", "shuffle"))
"""Names in code that goes through a fixed set of items in another order, where these are drawn too."""
_MOST: Final = 1000
"""Objects and functions that are looked at; a dataset with more to it may be divided."""
_MOST_HELD: Final = 16
"""Of one list or dict."""


def is_divided(loader: Any) -> bool | None:
    """Whether something is seen that may give each DataLoader worker a part of the loader's iterable dataset; None:
    nothing, but an installed library makes it, whose code is not followed.
    """
    init = _unwrapped(getattr(loader, "worker_init_fn", None))
    if _has_dataset(init):
        return True
    for count, one in enumerate(_reached(loader.dataset, init)):
        if count >= _MOST:
            return True
        with suppress(Exception):  # an attribute of the user's may raise anything
            if _divides(one):
                return True
    return None if _is_of_library(loader.dataset) else False


def is_drawn(loader: Any) -> bool | None:
    """Whether the loader's iterable dataset seems to draw its items at random, without an end: it draws, and goes
    through nothing, neither in a loop nor by parts for the workers. Each worker then draws others. False: nothing in
    its code draws at random, or it goes through parts; None: it may do so.
    """
    names, draws = set[str](), False
    for count, one in enumerate(_reached(loader.dataset)):
        if count >= _MOST:
            return None
        if type(one) is FunctionType:
            for code in _nested(one.__code__):
                names.update(code.co_names)
                draws = draws or _draws(code)
    if "num_workers" in names and not names.isdisjoint(_ASKING):
        return False
    if names.isdisjoint(_RANDOM | _SHUFFLING):
        return None if _is_of_library(loader.dataset) else False
    return True if draws and names.isdisjoint(_SHUFFLING) and _has_no_end(type(loader.dataset)) else None


def _draws(code: CodeType) -> bool:
    """A function that draws is used; not only a module of that name, for something else in it."""
    each = list(dis.get_instructions(code))
    return any(
        (one.opname == "LOAD_GLOBAL" or _is_attribute(one)) and one.argval in _DRAWING and not _is_attribute(after)
        for one, after in pairwise(each)
    )


def _is_attribute(instruction: dis.Instruction) -> bool:
    return instruction.opname in ("LOAD_ATTR", "LOAD_METHOD")


def _has_no_end(cls: type) -> bool:
    """Its ``__iter__`` is a generator that nothing ends and that loops over nothing, or passes on one of its methods
    that is.
    """
    methods = {name: inspect.unwrap(held) for name in dir(cls) if type(held := _attribute(cls, name)) is FunctionType}
    own = methods.get("__iter__")
    if own is None:
        return False
    passed_on = [methods[name] for name in own.__code__.co_names if name in methods]
    is_passing = not _is_generator(own.__code__) or any(
        each.opname == "GET_YIELD_FROM_ITER" for each in dis.get_instructions(own.__code__)
    )
    return any(_is_endless(one.__code__) for one in (own, *(passed_on if is_passing else ())))


def _attribute(cls: type, name: str) -> object:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _is_generator(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_GENERATOR)


def _is_endless(code: CodeType) -> bool:
    """A generator with a ``while True`` that neither ``break`` nor ``return`` leaves: the compiler has dropped the
    instruction that returns. One with a ``for`` or a ``next()`` may go through a fixed set of items each time.
    """
    leaving = ("RETURN_VALUE", "RETURN_CONST", "FOR_ITER")
    return (
        _is_generator(code)
        and "next" not in code.co_names
        and not any(each.opname in leaving for each in dis.get_instructions(code))
    )


def _reached(*first: object) -> Iterator[object]:
    """Functions, classes and what is held, each once; there may be endlessly many."""
    waiting, seen = deque(first), dict[int, object]()
    while waiting:
        one = waiting.popleft()
        if id(one) in seen or type(one) in (str, bytes, int, float, bool, NoneType):
            continue
        seen[id(one)] = one
        yield one
        with suppress(Exception):  # an attribute of the user's may raise anything
            waiting.extend(_within(one))


def _unwrapped(init: Any) -> Any:
    """Without what stands in for a ``worker_init_fn``."""
    while type(init).__module__.startswith("annotate.") or isinstance(init, partial):
        inner = next((getattr(init, name) for name in ("function", "then", "func") if hasattr(init, name)), init)
        if inner is init:
            break
        init = inner
    return init


def _has_dataset(init: Any) -> bool:
    """False for one that only sets seeds, or threads. What is no function may do anything."""
    code = getattr(init, "__code__", None)
    if isinstance(code, CodeType):
        return any("dataset" in each.co_names for each in _nested(code))
    return init is not None and not isinstance(init, BuiltinFunctionType)


def _divides(one: object) -> bool:
    if type(one) is FunctionType:
        return any(not _ASKING.isdisjoint(_names(code)) for code in _nested(one.__code__))
    return any(
        f"{cls.__module__}.".startswith(_LIBRARIES)
        or (cls.__module__.startswith("multiprocessing.") and "Queue" in cls.__name__)  # workers take turns at it
        or "apply_sharding" in vars(cls)
        for cls in type(one).__mro__
    )


def _names(code: CodeType) -> set[str]:
    return {*code.co_names, *(const for const in code.co_consts if isinstance(const, str))}


def _nested(code: CodeType) -> Iterator[CodeType]:
    """With generators, comprehensions and functions inside."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _nested(const)


def _within(one: object) -> Iterator[object]:
    """Asks for types alone: ``isinstance`` would ask a user's proxy for its class."""
    if type(one) is FunctionType:
        yield from _used_by(one)
    elif type(one) is MethodType:
        yield from (one.__func__, one.__self__)
    elif type(one) is partial:
        yield from (one.func, *one.args)
    elif type(one) is staticmethod or type(one) is classmethod:
        yield one.__func__
    elif type(one) is property:
        yield one.fget
    elif issubclass(type(one), type) and isinstance(one, type):
        for cls in one.__mro__:
            if is_users(cls.__module__) or _is_dataset(cls):
                yield from vars(cls).values()
    elif type(one) in (list, tuple):
        yield from islice(cast("list[object]", one), _MOST_HELD)
    elif type(one) is dict:
        yield from islice(one.values(), _MOST_HELD)
    elif any(is_users(cls.__module__) or _is_dataset(cls) for cls in type(one).__mro__):
        yield type(one)
        yield from list(object.__getattribute__(one, "__dict__").values())


def _used_by(function: FunctionType) -> Iterator[object]:
    """What it has in its closure, what it stands in for, and functions and classes of the user's that it names."""
    yield vars(function).get("__wrapped__")
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not bound yet
            yield cell.cell_contents
    names = {name for code in _nested(function.__code__) for name in code.co_names}
    used = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [one for one in used if isinstance(one, ModuleType) and is_users(one.__name__)]
    used += [vars(module)[name] for module in modules for name in names if name in vars(module)]
    yield from (one for one in used if isinstance(one, (FunctionType, type)) and is_users(one.__module__))


def _is_dataset(cls: type) -> bool:
    """One of torch's iterable datasets, or of a library's."""
    return any(base.__module__.startswith("torch.utils.data.") for base in cls.__mro__)


def _is_installed(cls: type) -> bool:
    root = cls.__module__.partition(".")[0]
    return root != "torch" and is_installed(root)


def _is_of_library(ds: object) -> bool:
    return any(map(_is_installed, type(ds).__mro__))
