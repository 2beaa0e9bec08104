"""Transforms: `compose`, and how a session finds and times every transform of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableSequence
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from annotate.hooks.patching import Patches, Timing, own_method
from annotate.hooks.stand_ins import TimedCallable, callable_label, timed_method
from annotate.recording import switch

Transform = Callable[..., Any]

_PLAIN: Final = (FunctionType, BuiltinFunctionType, MethodType, partial, type)
"""Callables that keep their class: timed by a proxy in the place that holds them."""

_HELD: Final = ("transforms", "transform", "target_transform")
"""Attributes under which torchvision, albumentations and their like keep other transforms."""

_CALL: Final = {"__call__": Timing("transform", timed_method)}
_FORWARD: Final = {"forward": Timing("transform", timed_method)}

_LIBRARIES: Final = ("torchvision.transforms", "albumentations", __name__, "kornia.augmentation", "monai")


class Compose:
    """Calls transforms one after the other, each on the result of the one before.

    What `compose` makes of a list: picklable, with torchvision's ``.transforms`` and repr, and without torch.
    """

    def __init__(self, transforms: list[Transform]) -> None:
        self.transforms = transforms

    def __call__(self, sample: Any) -> Any:
        for transform in self.transforms:
            sample = transform(sample)
        return sample

    def __repr__(self) -> str:
        inner = "".join(f"\n    {transform}" for transform in self.transforms)
        return f"{type(self).__name__}({inner}\n)"


def is_transform(obj: object) -> bool:
    """True for an object that a known transform library made."""
    return callable(obj) and any(
        c.__module__ == library or c.__module__.startswith(library + ".")
        for c in type(obj).__mro__
        for library in _LIBRARIES
    )


def _timings(transform: object) -> Mapping[str, Timing]:
    """A module is timed in its own ``forward``: ``__call__`` is that of every module of the program.

    Nothing of torch.nn is replaced, because models are made of it: its containers have no span, their children do.
    """
    call = own_method(type(transform), "__call__")
    if call is None or not _is_torch_nn(call[0]):
        return _CALL
    forward = own_method(type(transform), "forward")
    return {} if forward is None or _is_torch_nn(forward[0]) else _FORWARD


def _is_torch_nn(cls: type) -> bool:
    return cls.__module__.startswith("torch.nn.")


def _needs_proxy(transform: object) -> bool:
    """Plain callables, and scripted or compiled modules, which have more to them than their class."""
    return isinstance(transform, _PLAIN) or any(
        c.__module__.startswith(("torch.jit", "torch._dynamo")) for c in type(transform).__mro__
    )


def time_transform(patches: Patches, transform: object) -> bool:
    """Time one transform object and all that it holds; False for a callable that needs a proxy instead."""
    if _needs_proxy(transform):
        return False
    if not patches.first_visit(transform):
        return True
    is_followed = patches.follow(transform, _timings(transform))
    time_held(patches, transform)
    return is_followed or _is_torch_nn(type(transform))


def attribute(holder: object, name: str) -> Any:
    """``holder.name``, or None: a property of somebody else's class may raise anything."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def home_of(function: object) -> object:
    """The name of the module that has a function, or the class of a callable object."""
    while isinstance(function, partial):
        function = function.func
    return attribute(function, "__module__")


def time_held(patches: Patches, holder: object) -> None:
    """Time the transforms that `holder` (a container or a dataset) keeps."""
    for name in _HELD:
        held = attribute(holder, name)
        if isinstance(held, MethodType):  # torchvision v2 calls a method of its own `transform`
            continue
        if isinstance(held, (list, tuple)):
            _time_sequence(patches, holder, name, held)
        elif isinstance(held, dict):
            _time_values(patches, held)
        elif callable(held):
            time_attribute(patches, holder, name)
        else:  # nn.ModuleList
            for module in _modules(held):
                time_transform(patches, module)
    for module in _modules(holder):
        time_transform(patches, module)


def time_attribute(patches: Patches, holder: object, name: str) -> None:
    """Time the transform ``holder.name``, by a proxy in its place when it is a plain callable."""
    held = getattr(holder, name)
    if type(held) is TimedCallable or time_transform(patches, held):
        return
    if name not in getattr(holder, "__dict__", {}) or not patches.set_attribute(holder, name, _proxy(held)):
        patches.note(f"{type(holder).__name__}.{name} could not be timed.")


def _proxy(target: Transform) -> TimedCallable:
    return TimedCallable(target, switch.hand_out("transform", callable_label(target)))


def _time_sequence(patches: Patches, holder: object, name: str, held: list[Any] | tuple[Any, ...]) -> None:
    need_proxy = [i for i, item in enumerate(held) if callable(item) and not _is_timed(patches, item)]
    if not need_proxy:
        return
    if isinstance(held, MutableSequence):
        for index in need_proxy:
            patches.set_item(held, index, _proxy(held[index]))
        return
    items = [_proxy(item) if index in need_proxy else item for index, item in enumerate(held)]
    if not patches.set_attribute(holder, name, tuple(items)):
        patches.note(f"The functions in {type(holder).__name__}.{name} could not be timed.")


def _time_values(patches: Patches, held: dict[Any, Any]) -> None:
    for item in held.values():
        if callable(item):
            time_transform(patches, item)


def _is_timed(patches: Patches, item: object) -> bool:
    return type(item) is TimedCallable or time_transform(patches, item)


def _modules(holder: object) -> Iterator[object]:
    """The children of an ``nn.Sequential`` or ``nn.ModuleList``; other modules keep theirs to themselves."""
    if any(c.__module__ == "torch.nn.modules.container" for c in type(holder).__mro__):
        children: dict[str, object] = getattr(holder, "_modules", {})
        yield from list(children.values())
