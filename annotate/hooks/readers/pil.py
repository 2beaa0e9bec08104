"""PIL: ``Image.open``, and the lazy ``load()`` wherever it fires."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, Final

from annotate.hooks.patching import Patches
from annotate.hooks.readers.reader import Reader
from annotate.hooks.stand_ins import Method, TimedGlobal
from annotate.recording import switch
from annotate.recording.file_names import saw
from annotate.saying import guard


def _install_pil(patches: Patches) -> None:
    """Time PIL's lazy ``load()``, wherever it fires, and ``Image.open``.

    Some formats (WebP) decode in a ``load`` of their own. Their plugins are imported by the first `Image.open` that
    needs them, so the class of every opened image is looked at.
    """
    image: Any = sys.modules["PIL.Image"]
    image_file = import_module("PIL.ImageFile")  # PIL imports it when it opens the first file, maybe in the window
    name = switch.hand_out("decode", "PIL.Image")
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
        if switch.RECORDING or switch.unrecorded is not None:
            saw(args[0] if args else kwargs.get("fp"))
        image = super().__call__(*args, **kwargs)
        if switch.RECORDING:
            self._opened(type(image))
        return image


def _timed_load(load: Method, name: str) -> Method:
    @wraps(load)
    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not switch.RECORDING or _is_decoded(self):
            return load(self, *args, **kwargs)
        return switch.call(name, _load, (load, self, *args), kwargs)[1]

    return timed


def _load(load: Method, image: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """What `load` returned, with the image for its size: a pixel accessor has none."""
    return image, load(image, *args, **kwargs)


def _is_decoded(image: Any) -> bool:
    """PIL empties `tile` when it has decoded; formats with their own `load` fill it late, but have no pixels yet."""
    with guard("annotate does not time the decoding of an image"):
        return not getattr(image, "tile", None) and getattr(image, "_im", True) is not None
    return True


READER: Final = Reader("PIL.Image", install=_install_pil)
