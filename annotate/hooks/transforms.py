"""Transforms: `compose`, and how a session finds and times every transform of a pipeline."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from annotate.hooks.kept import is_container, kept, kept_by, put, put_into, steps_in
from annotate.hooks.patching import Patches, Timing, own_method
from annotate.hooks.same_code import are_of_one_body
from annotate.hooks.stand_ins import READER_HOOK, TimedCallable, callable_label, marked_stage, timed_method
from annotate.recording import switch
from annotate.recording.definitions import define

Transform = Callable[..., Any]

_FUNCTIONS: Final = (FunctionType, BuiltinFunctionType, MethodType, partial)

_PLAIN: Final = (*_FUNCTIONS, type)
"""Callables that keep their class: timed by a proxy in the place that holds them."""

_HELD: Final = ("transforms", "transform", "target_transform")
"""Attributes under which torchvision, albumentations and their like keep other transforms."""

_HELD_BY_USERS: Final = (
    "preprocess", "preprocessing", "preprocessor", "augment", "augmentation", "augmentations", "augmenter", "augs",
    "tokenizer", "processor", "image_processor", "feature_extractor", "tfms", "tfm", "transform_fn",
)  # fmt: skip
"""More of them, in the instance itself or its class: a property of such a name may load a model."""

_MOST_CHILDREN: Final = 32
"""Of a module that is used as a transform: a network in a pipeline is timed as one."""

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
    if call is not None and hasattr(call[1], READER_HOOK):  # a tokenizer: timed for all instances
        return {}
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
    timings = _timings(transform)
    is_followed = patches.follow(transform, timings)
    time_held(patches, transform)
    _time_under_other_names(patches, transform)
    return is_followed or not timings or _is_torch_nn(type(transform))


def is_function(held: object) -> bool:
    """Not asked for its `__class__`, which may be code of the user's."""
    return issubclass(type(held), _FUNCTIONS)


def is_proxy(held: object) -> bool:
    return issubclass(type(held), TimedCallable)


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
    own = kept_by(holder)
    for name in _HELD:
        if name in own or not isinstance(
            attribute(holder, name), MethodType
        ):  # torchvision v2 has a method `transform`
            time_held_as(patches, holder, name)
    for name in _HELD_BY_USERS:
        if name in own:
            time_held_as(patches, holder, name)
    for module in _modules(holder):
        time_transform(patches, module)


def _time_under_other_names(patches: Patches, transform: object) -> None:
    """Time the transforms of known libraries that one of the user's own keeps under names of its own, and lists and
    dicts of the user's own: the steps of a pipeline.
    """
    if is_transform(transform) or "_modules" in getattr(transform, "__dict__", {}):
        return
    for name, value in kept_by(transform).items():
        if name in _HELD or name in _HELD_BY_USERS:
            continue
        if is_transform(value):
            time_attribute(patches, transform, name)
            patches.watch(transform, name, time_held_as)
        elif is_container(value):
            steps = steps_in(value)
            if holds_transforms(steps):
                time_held_as(patches, transform, name)
            elif holds_users_own(steps, transform):
                _time_users_steps(patches, transform, name)


def _time_users_steps(patches: Patches, transform: object, name: str) -> None:
    """Time what a list or dict of a user's transform has of the user's own, and the functions beside them."""
    if not holds_users_own(steps_in(kept(transform, name)), transform):  # it is another one by now
        return

    def stand_in(step: object) -> object:
        is_timed = is_function(step) or is_users_own(step, transform)
        return _standing_for(patches, step) if is_timed else step

    time_steps(patches, transform, name, stand_in)
    patches.watch(transform, name, _time_users_steps)


def is_users_own(value: object, holder: object) -> bool:
    """A callable object whose class is of the holder's own code, and is no module of torch."""
    if not callable(value) or isinstance(value, type) or is_proxy(value):
        return False
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.nn.Module):
        return False
    call = own_method(type(value), "__call__")
    return call is not None and are_of_one_body(call[0].__module__, type(holder).__module__)


def holds_transforms(steps: list[Any]) -> bool:
    """Whether all steps can be called, and one of them comes from a known library."""
    return all(map(callable, steps)) and any(map(is_transform, steps))


def holds_users_own(steps: list[Any], holder: object) -> bool:
    """Whether all steps can be called, and one of them is an object of the user's own."""
    return all(map(callable, steps)) and any(is_users_own(step, holder) for step in steps)


def time_held_as(patches: Patches, holder: object, name: str) -> None:
    """Time the transform, or the list or dict of transforms, that is ``holder.name``, and what replaces it later."""
    held = attribute(holder, name)
    if is_container(held):
        time_steps(patches, holder, name, partial(_standing_for, patches))
    elif callable(held):
        time_attribute(patches, holder, name)
    else:  # nn.ModuleList
        for module in _modules(held):
            time_transform(patches, module)
    patches.watch(holder, name, time_held_as)


def time_attribute(patches: Patches, holder: object, name: str) -> None:
    """Time the transform ``holder.name``, by a proxy in its place when it is a plain callable."""
    held = getattr(holder, name)
    if _is_timed(patches, held):
        return
    if kept(holder, name) is not held or not put(patches, holder, name, proxy_of(patches, held)):
        patches.note(f"{type(holder).__name__}.{name} could not be timed.")


def times_itself(patches: Patches, held: object) -> bool:
    """Whether the user has marked it with `annotate.stage`: one stage, whose own steps are timed inside of it."""
    marked = marked_stage(held)
    if marked is None:
        return False
    patches.add_home(home_of(marked))
    for inner in _referred_to(marked):
        time_transform(patches, inner)
    if not _needs_proxy(marked):
        time_held(patches, marked)
        _time_under_other_names(patches, marked)
    return True


def proxy_of(patches: Patches, target: Transform) -> object:
    """What stands for a plain callable; a library's reader has a stand-in already."""
    patches.add_home(home_of(target))
    for inner in _referred_to(target):
        time_transform(patches, inner)
    stand_in = patches.stand_in_of(target)
    if stand_in is not None:
        return stand_in
    name = switch.hand_out("transform", callable_label(target))
    define(switch.HANDED_OUT[name], target)
    return TimedCallable(target, name)


def _referred_to(function: object) -> Iterator[object]:
    """Transforms of known libraries that a function uses: bound by a partial, in its closure, or in its module."""
    while isinstance(function, partial):
        yield from filter(is_transform, (*function.args, *function.keywords.values()))
        function = function.func
    function = getattr(function, "__func__", function)
    if isinstance(function, FunctionType):
        yield from filter(is_transform, used_by(function))


def used_by(function: FunctionType) -> Iterator[object]:
    """What a function has in its closure, and what it may look up in its module."""
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not bound yet
            yield cell.cell_contents
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield function.__globals__[name]


def time_steps(patches: Patches, holder: object, name: str, stand_in: Callable[[Any], object]) -> None:
    """Have each step of the list, tuple or dict ``holder.name`` be its stand-in, also in those inside of it."""
    held = attribute(holder, name)
    if not is_container(held):
        return
    now = put_into(patches, held, stand_in)
    if now is not held and not put(patches, holder, name, now):
        patches.note(f"The functions in {type(holder).__name__}.{name} could not be timed.")


def _standing_for(patches: Patches, step: Any) -> object:
    return step if not callable(step) or _is_timed(patches, step) else proxy_of(patches, step)


def _is_timed(patches: Patches, item: object) -> bool:
    return is_proxy(item) or times_itself(patches, item) or time_transform(patches, item)


def _modules(holder: object) -> Iterator[object]:
    """The children of a module: what it is made of, or a step each of a container."""
    children: dict[str, object] = getattr(holder, "__dict__", {}).get("_modules", {})
    is_module = isinstance(children, dict) and any(map(_is_torch_nn, type(holder).__mro__))
    if is_module and (len(children) <= _MOST_CHILDREN or _is_torch_nn(type(holder))):
        yield from list(children.values())
