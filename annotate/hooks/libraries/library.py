"""What one library's file in this folder says of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, NamedTuple

from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import Method, TimedCallable, callable_label
from annotate.hooks.transforms import time_transform, times_itself
from annotate.recording import switch
from annotate.trace_format import StageKind

Show = Callable[[Patches, Any, Any], Any]
"""Changes, the object that holds a value, the value -> what the library gets to see of it."""


def timed(patches: Patches, value: Any, kind: StageKind = "transform") -> Any:
    """A function of the user's with a span around each call; an object of a class is timed as any transform is."""
    if not callable(value) or type(value) is TimedCallable or iscoroutinefunction(value):
        return value
    if times_itself(patches, value) or times_itself(patches, _packed(value)) or time_transform(patches, value):
        return value
    return TimedCallable(value, switch.hand_out(kind, _label(value)))


def _label(function: Any) -> str:
    return callable_label(_packed(function) or function)


def _packed(function: Any) -> Any:
    """The user's function that a library has packed into a partial of its own, if it has."""
    if isinstance(function, partial) and function.args and callable(function.args[0]):
        return function.args[0]
    return None


def show_timed(patches: Patches, holder: Any, value: Any) -> Any:
    return timed(patches, value)


class Held(NamedTuple):
    """An attribute under which the objects of a library's class keep functions of the user's."""

    module: str
    owner: str
    attribute: str
    show: Show = show_timed
    from_the_start: bool = False
    """A pipeline reads this as it begins, and never again: under `tb-dataplugin run` it is hooked before that."""


class Timed(NamedTuple):
    """A method of a library's class that is a stage."""

    module: str
    owner: str
    method: str
    make: Callable[[Patches, Method], Method]
    """Makes the replacement."""
    from_the_start: bool = False
    """It makes a pipeline, or gives the loop its batches: under `tb-dataplugin run` it is hooked before the first."""


class Library(NamedTuple):
    """A library whose pipelines have stages of their own."""

    module: str
    """Hooked when this has been imported; no library is imported on behalf of the user."""
    held: tuple[Held, ...] = ()
    timed: tuple[Timed, ...] = ()

    @property
    def early(self) -> Library:
        """What of it has to be hooked before the first batch."""
        held = tuple(each for each in self.held if each.from_the_start)
        return self._replace(held=held, timed=tuple(each for each in self.timed if each.from_the_start))


class Shown:
    """Stands on a class for an attribute of its instances while a session is on.

    The instances keep their values, so that pickles and copies are as without us; what is read comes out timed.
    """

    def __init__(self, patches: Patches, attribute: str, show: Show) -> None:
        self._patches = patches
        self._attribute = attribute
        self._show = show

    def __get__(self, holder: Any, owner: type | None = None) -> Any:
        try:
            value = vars(holder)[self._attribute]
        except (KeyError, TypeError):  # not set; asked of the class
            raise AttributeError(self._attribute) from None
        return self._show(self._patches, holder, value)

    def __set__(self, holder: Any, value: Any) -> None:
        vars(holder)[self._attribute] = value.target if type(value) is TimedCallable else value

    def __delete__(self, holder: Any) -> None:
        try:
            del vars(holder)[self._attribute]
        except KeyError:
            raise AttributeError(self._attribute) from None


_NO_CLASS: Final = "{}.{} is not there: annotate does not know this version of {}."


def put_in(patches: Patches, library: Library) -> None:
    """Hook what is not hooked of a library that has been imported. What it has elsewhere is a note in the trace."""
    for held in library.held:
        if not patches.once(f"{held.module}.{held.owner}.{held.attribute}"):
            continue
        owner = _class(held.module, held.owner)
        if owner is None or held.attribute in vars(owner):
            patches.note(_NO_CLASS.format(held.owner, held.attribute, library.module))
        else:
            _show(patches, owner, held)
    for stage in library.timed:
        if not patches.once(f"{stage.module}.{stage.owner}.{stage.method}"):
            continue
        owner = _class(stage.module, stage.owner)
        method = None if owner is None else vars(owner).get(stage.method)
        if owner is None or not callable(method):
            patches.note(_NO_CLASS.format(stage.owner, stage.method, library.module))
        else:
            patches.set_attribute(owner, stage.method, stage.make(patches, method))


def _class(module: str, name: str) -> type | None:
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None  # a lazy module would import it
    return found if isinstance(found, type) else None


def _show(patches: Patches, owner: type, held: Held) -> None:
    shown = Shown(patches, held.attribute, held.show)
    setattr(owner, held.attribute, shown)

    def back() -> None:
        if vars(owner).get(held.attribute) is shown:
            delattr(owner, held.attribute)

    patches.on_undo(back)
