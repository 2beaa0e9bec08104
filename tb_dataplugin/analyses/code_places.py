"""Which line of a stack is the one to change, and what it calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from tb_dataplugin.model.line_samples import Frame

_LIBRARY: Final = re.compile(r"^.*(?:/(?:site|dist)-packages/|/python3\.\d+/)")
_OURS_TOP: Final = "torch"
_LOADS: Final = re.compile(r"/torch/utils/data/")
"""What stands between the loop and a sample."""
MOST_PRIVATE: Final = 4
"""Frames in which a public name is looked for."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a function. `file` is as the interpreter named it."""

    function: str
    file: str
    line: int
    source: str = ""
    """Its text; "" where it was not recorded."""

    @property
    def short(self) -> str:
        """``train.py:41``; of an installed package ``torchvision/transforms/transforms.py:950``."""
        file = _LIBRARY.sub("", self.file) if _LIBRARY.match(self.file) else PurePosixPath(self.file).name
        return f"{file or '?'}:{self.line}" if self.line else file or "?"

    @property
    def package(self) -> str:
        """``torchvision``; "" of code that is not installed."""
        if not _LIBRARY.match(self.file):
            return ""
        return _LIBRARY.sub("", self.file).partition("/")[0].removesuffix(".py")


class Native(NamedTuple):
    """Compiled code. `library`: ``libjpeg``, or a source file, ``JpegDecode.c``; `symbol` "" where it has none."""

    library: str
    symbol: str


@dataclass(frozen=True, slots=True)
class Home:
    """The deepest frame of the user's own code in a stack, and the function of somebody else's that it calls there."""

    place: Place
    calls: str
    """``scipy.signal.convolve2d``, ``np.percentile``; "" where the line itself is being run, or what it calls is no
    Python code, or is private.
    """
    is_user: bool
    """False: no frame is the user's; the place is in the package whose code runs the stage."""
    native: Native | None = None
    """What runs below it in compiled code, where that was sampled."""


def inside_stage(frames: list[Frame]) -> list[Frame]:
    """The frames that belong to the innermost stage: those that the recorder's own frames called.

    A stage that is C code has none. It is at the line that called it: the frames outside of the recorder's. Native
    frames belong to either.
    """
    python = python_part(frames)
    return [*_inside_stage(python), *frames[len(python) :]]


def python_part(frames: list[Frame]) -> list[Frame]:
    """Without the native frames, which are the innermost."""
    end = len(frames)
    while end and frames[end - 1].origin == "native":
        end -= 1
    return frames[:end]


def _inside_stage(frames: list[Frame]) -> list[Frame]:
    end = len(frames)
    while end and frames[end - 1].origin == "recorder":
        end -= 1
    if end < len(frames):
        return _below_loop(frames[:end])
    start = next((at for at in range(end, 0, -1) if frames[at - 1].origin == "recorder"), 0)
    return frames[start:] if start else _below_loop(frames)


def _below_loop(frames: list[Frame]) -> list[Frame]:
    """From the innermost frame that loads on: the loop that iterates the DataLoader is outside of its stages."""
    return frames[next((at for at in reversed(range(len(frames))) if _LOADS.search(frames[at].file)), 0) :]


def below_stage(frames: list[Frame]) -> list[Frame]:
    """What a tree of functions has below the innermost stage: of a stage that is C code the line that called it."""
    python = python_part(frames)
    inside, native = _inside_stage(python), frames[len(python) :]
    if not inside or inside[-1] is python[-1]:
        return [*inside, *native]
    return [next((frame for frame in reversed(inside) if frame.origin == "user"), inside[-1]), *native]


def home_of(frames: list[Frame]) -> Home | None:
    """Of frames outermost first; None where there is no frame."""
    native, frames = native_of(frames), python_part(frames)
    own = [at for at, frame in enumerate(frames) if frame.origin == "user"]
    is_user = bool(own)
    if not own:
        package = next((name for frame in frames if (name := package_of(frame)) not in ("", _OURS_TOP)), "")
        own = [at for at, frame in enumerate(frames) if package and package_of(frame) == package]
    if not own:
        own = [at for at, frame in enumerate(frames) if frame.origin != "recorder"]
    if not own:
        return None
    at = own[-1]
    return Home(place_of(frames[at]), _called(frames[at], frames[at + 1 :]), is_user, native)


_EVERYBODYS: Final = re.compile(r"^(?:libc|libpthread|libm|ld-linux[\w-]*|linux-vdso|\[vdso\]|libstdc\+\+|libgcc_s)$")
"""Libraries whose functions say little: who called them is the one to name."""
_HASH: Final = re.compile(r"-[0-9a-f]{8}$")
_PARAMETERS: Final = re.compile(r"(?<=[\w>~])\(.*$")


def native_of(frames: list[Frame]) -> Native | None:
    """The innermost library that says something, and the innermost symbol that is known of it; None: no native frame
    was sampled.
    """
    native = [Native(library_name(frame.file), symbol(frame)) for frame in frames[len(python_part(frames)) :]]
    telling = [each for each in native if not _EVERYBODYS.match(each.library)] or native
    if not telling:
        return None
    library = telling[-1].library
    return next((each for each in reversed(telling) if each.library == library and each.symbol), telling[-1])


def library_name(file: str) -> str:
    """``libjpeg`` of ``pillow.libs/libjpeg-6dc8d115.so.62.4.0``; a source file keeps its name."""
    name = PurePosixPath(file).name
    head, is_library, _ = name.partition(".so")
    if not is_library:
        return name or "?"
    return _HASH.sub("", head.partition(".cpython-")[0].partition(".abi3")[0])


def symbol(frame: Frame) -> str:
    """Without parameters; "" where it is not known."""
    return "" if frame.function.startswith("(") else _PARAMETERS.sub("", frame.function)


def calling_place(frames: list[Frame], stage: list[Frame]) -> Place | None:
    """The line of the user's that a stage of library code is called from: within one sample or batch, not the loop.

    `frames`: the whole stack; `stage`: its part inside the stage.
    """
    for frame in reversed(frames[: len(frames) - len(stage)]):
        if _LOADS.search(frame.file):
            return None
        if frame.origin == "user":
            return place_of(frame)
    return None


def _called(line: Frame, below: list[Frame]) -> str:
    """What is called there: by the name that the line has for it, else the first that is not private: a module's
    ``forward``, not ``_call_impl``. Where all are private, a line whose text is known speaks for itself.
    """
    below = [frame for frame in below if frame.origin != "recorder"]
    for frame in below[:MOST_PRIVATE]:
        written = _as_written(line.source, _last_name(frame))
        if written:
            full = qualified(frame)
            return full if full.endswith(f".{written}") else written
    public = (frame for frame in below[:MOST_PRIVATE] if not _last_name(frame).startswith("_"))
    called = next(public, None if line.source or not below else below[0])
    return qualified(called) if called else ""


def _last_name(frame: Frame) -> str:
    return plain(frame.function).rpartition(".")[2]


def _as_written(source: str, name: str) -> str:
    """``np.percentile`` of the name ``percentile``, where the line calls it so; "" where it does not."""
    if not name.isidentifier():
        return ""
    found = re.search(rf"(?<![\w.])((?:[A-Za-z_]\w*\.)*{re.escape(name)})\s*\(", source)
    return found.group(1) if found else ""


def place_of(frame: Frame) -> Place:
    return Place(plain(frame.function), frame.file, frame.line, frame.source)


def plain(function: str) -> str:
    """A qualified name without what it is local to: ``main.<locals>.RandomMask.dilate`` is RandomMask.dilate.

    A lambda or comprehension is named by the function that it is written in.
    """
    parts = function.split(".<locals>.")
    named = [part for part in parts if not part.startswith("<")]
    return named[-1] if named else parts[-1]


def package_of(frame: Frame) -> str:
    """The installed package; "" where it is none, as in the standard library."""
    _, found, rest = frame.file.replace("\\", "/").rpartition("-packages/")
    return rest.split("/")[0].removesuffix(".py") if found else ""


def qualified(frame: Frame) -> str:
    """How a user would import a library's function: ``scipy.signal.convolve2d``, without private modules."""
    match = _LIBRARY.match(frame.file)
    if frame.origin != "library" or match is None:
        return plain(frame.function)
    modules = frame.file[match.end() :].removesuffix(".py").split("/")
    public = [name for name in modules if not name.startswith("_")]
    return ".".join((*public, plain(frame.function)))
