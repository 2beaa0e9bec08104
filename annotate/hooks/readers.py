"""Read and decode hooks on well-known libraries. They are in only while a session is on, and quiet unless it records.

A library is hooked when it has been imported by the time the session, or the window, begins: no library is imported on
behalf of the user. The hooks replace module attributes, so a copy made by ``from cv2 import imread`` is missed; write
``cv2.imread(...)``, or mark the call with `annotate.stage`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any, Final, NamedTuple

from annotate.hooks import files
from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import Method, TimedGlobal, timed_function
from annotate.recording import switch
from annotate.trace_format import StageKind


class Hook(NamedTuple):
    """A function of a module, and the span that a call of it is."""

    module: str
    function: str
    kind: StageKind
    label: str


_TORCHVISION_DECODERS: Final = ("image", "jpeg", "png", "gif", "webp", "avif", "heic")

HOOKS: Final[tuple[Hook, ...]] = (
    Hook("numpy", "load", "decode", "numpy.load"),
    Hook("cv2", "imread", "decode", "cv2.imread"),
    Hook("cv2", "imdecode", "decode", "cv2.imdecode"),
    *(
        hook
        for module in ("torchvision.io", "torchvision.io.image")  # read_image finds its parts in the second
        for hook in (
            Hook(module, "read_file", "read", "torchvision.io.read_file"),
            Hook(module, "read_image", "decode", "torchvision.io.read_image"),
            *(Hook(module, f"decode_{f}", "decode", f"torchvision.io.decode_{f}") for f in _TORCHVISION_DECODERS),
        )
    ),
)

_PIL_LABEL: Final = "PIL.Image"


def install(patches: Patches) -> None:
    """Put in every hook whose library is there, and the one on `open`. Called again it adds what is there by then."""
    for hook in HOOKS:
        module = sys.modules.get(hook.module)
        function = vars(module).get(hook.function) if module is not None else None
        if module is None or not callable(function) or not patches.once(f"{hook.module}.{hook.function}"):
            continue
        name = switch.hand_out(hook.kind, hook.label)
        patches.set_global(module, hook.function, TimedGlobal(function, name, hook.module, hook.function))
    if "numpy" in sys.modules and patches.once("numpy.NpzFile"):
        _install_npz(patches)
    image = sys.modules.get("PIL.Image")
    if image is not None and patches.once("PIL.Image"):
        # PIL itself imports this only when it opens the first file, which may be in the window.
        _install_pil(patches, image, import_module("PIL.ImageFile"))
    if patches.once("open"):
        files.install(patches)


def _install_npz(patches: Patches) -> None:
    """Time the arrays of an npz file: each is read and unzipped when it is asked for, not by ``numpy.load``."""
    npz: Any = getattr(import_module("numpy.lib.npyio"), "NpzFile", None)
    if npz is not None and "__getitem__" in vars(npz):
        name = switch.hand_out("decode", "numpy.NpzFile")
        patches.set_attribute(npz, "__getitem__", timed_function(npz.__getitem__, name))


def _install_pil(patches: Patches, image: ModuleType, image_file: ModuleType) -> None:
    """Time PIL's lazy ``load()``, wherever it fires, and ``Image.open``.

    Some formats (WebP) decode in a ``load`` of their own. Their plugins are imported by the first `Image.open` that
    needs them, so the class of every opened image is looked at.
    """
    name = switch.hand_out("decode", _PIL_LABEL)
    hooked: set[type] = set()

    def hook_load(cls: type) -> None:
        if cls not in hooked and "load" in vars(cls):
            hooked.add(cls)
            patches.set_attribute(cls, "load", _timed_load(vars(cls)["load"], name))

    hook_load(image_file.ImageFile)
    open_name = switch.hand_out("read", "PIL.Image.open")
    patches.set_global(image, "open", _TimedImageOpen(image.open, open_name, hook_load))


class _TimedImageOpen(TimedGlobal):
    """``PIL.Image.open``, which also shows every class of image that it opened to a hook."""

    __slots__ = ("_opened",)

    def __init__(self, target: Method, name: str, opened: Callable[[type], None]) -> None:
        super().__init__(target, name, "PIL.Image", "open")
        self._opened = opened

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        image = super().__call__(*args, **kwargs)
        if switch.RECORDING:
            self._opened(type(image))
        return image


def _timed_load(load: Method, name: str) -> Method:
    @wraps(load)
    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.RECORDING or _is_decoded(self):
            return load(self, *args, **kwargs)
        if switch.call is not None:
            return switch.call(name, _load, (load, self, *args), kwargs)[1]
        with switch.marker(name):
            return load(self, *args, **kwargs)

    return timed


def _load(load: Method, image: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """The image beside what `load` returned, for its size: a pixel accessor does not tell any."""
    return image, load(image, *args, **kwargs)


def _is_decoded(image: Any) -> bool:
    """PIL empties `tile` when it has decoded; formats with their own `load` fill it late, but have no pixels yet."""
    return not getattr(image, "tile", None) and getattr(image, "_im", True) is not None
