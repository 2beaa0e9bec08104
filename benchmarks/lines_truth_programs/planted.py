"""Transforms with planted hot lines: each line that ends in ``# HOT`` or ``# WARM`` is timed by clocks around it.

A transform has `parts`: functions that are called one after the other, each timed. The hot one takes most.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
import tempfile
import threading
import time
import types
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

Part = Callable[[], object]

_TEXT: Final = "ab" * 40_000
_BYTES: Final = bytes(range(256)) * 3000
_NUMBERS: Final = [(number * 7919) % 100_003 for number in range(30_000)]
_PICTURE: Final = np.random.default_rng(0).random((160, 160))


def spin(milliseconds: float) -> None:
    """CPU time of pure Python, in one line of its own."""
    end = time.perf_counter() + milliseconds / 1e3
    while time.perf_counter() < end: sum(range(40))  # fmt: skip  # noqa: E701


class Timed:
    """Calls its parts and gives how long each took, then how long the whole call took, in seconds."""

    def parts(self) -> tuple[Part, ...]:
        """The hot one, then the others."""
        raise NotImplementedError

    def __call__(self, sample: object) -> Any:
        begin = time.perf_counter()
        times = []
        for part in self.parts():
            start = time.perf_counter()
            part()
            times.append(time.perf_counter() - start)
        return [*times, time.perf_counter() - begin]


def warm() -> None:
    end = time.perf_counter() + 0.003
    while time.perf_counter() < end: sum(range(40))  # WARM  # fmt: skip  # noqa: E701


class PurePython(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        end = time.perf_counter() + 0.006
        while time.perf_counter() < end: sum(range(40))  # HOT  # fmt: skip  # noqa: E701


class LongC(Timed):
    """One call of C that holds the lock for its whole length."""

    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        sorted(_NUMBERS * 2)  # HOT


class Regex(Timed):
    """C that holds the lock, as a method of a compiled pattern."""

    pattern = re.compile("(a|b)*c")

    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        re.search("[ab]{1,60}c", _TEXT[:24000])  # HOT


class ReleasingC(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        zlib.compress(_BYTES, 6)  # HOT


class Hashing(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        hashlib.sha512(_BYTES * 4).digest()  # HOT


class Sleeping(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        time.sleep(0.007)  # HOT


class FileRead(Timed):
    def __init__(self) -> None:
        self.path = Path(tempfile.gettempdir()) / "lines_truth.bin"
        if not self.path.exists():
            self.path.write_bytes(_BYTES * 72)

    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        file = os.open(self.path, os.O_RDONLY)  # no reader that annotate knows: that would be a stage of its own
        os.pread(file, 48 << 20, 0)  # HOT
        os.close(file)


class Locking(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        lock = threading.Lock()
        with lock:
            lock.acquire(timeout=0.006)  # HOT


class Recursion(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (lambda: self.down(40), warm)

    def down(self, depth: int) -> None:
        if depth:
            return self.down(depth - 1)
        end = time.perf_counter() + 0.006
        while time.perf_counter() < end: sum(range(40))  # HOT  # fmt: skip  # noqa: E701
        return None


def loud(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def called(*args: Any) -> None:
        function(*args)

    return called


class Decorated(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    @loud
    def hot(self) -> None:
        end = time.perf_counter() + 0.006
        while time.perf_counter() < end: sum(range(40))  # HOT  # fmt: skip  # noqa: E701


SORT: Final = lambda: sorted(_NUMBERS * 2)  # HOT Lambda  # noqa: E731


class Lambda(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (SORT, warm)


class Generator(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (lambda: list(self.values()), warm)

    def values(self) -> Iterator[int]:
        for number in range(6):
            yield sum(range(60_000)) + number  # HOT


class Private(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (self.__hot, warm)

    def __hot(self) -> None:
        end = time.perf_counter() + 0.006
        while time.perf_counter() < end: sum(range(40))  # HOT  # fmt: skip  # noqa: E701


class Comprehension(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        [number * number % 7 for number in range(90_000)]  # HOT


def made_inside() -> type[Timed]:
    class Local(Timed):
        def parts(self) -> tuple[Part, ...]:
            return (self.hot, warm)

        def hot(self) -> None:
            end = time.perf_counter() + 0.006
            while time.perf_counter() < end: sum(range(40))  # HOT Local  # fmt: skip  # noqa: E701

    return Local


class Convolved(Timed):
    """A C extension below Python code of its package."""

    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        from scipy.signal import convolve2d

        convolve2d(_PICTURE, _PICTURE[:11, :11])  # HOT


class NumpySort(Timed):
    """A C extension called at once."""

    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        np.tile(_PICTURE, 8).ravel().argsort()  # HOT


class TorchWork(Timed):
    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        torch.ones(600, 600) @ torch.ones(600, 600)  # HOT


class Padded(Timed):
    """Library code in Python."""

    def parts(self) -> tuple[Part, ...]:
        return (self.hot, warm)

    def hot(self) -> None:
        for _ in range(250): np.pad(_PICTURE, 3, mode="reflect")  # HOT  # fmt: skip  # noqa: E701


class TwoLines(Timed):
    """60 to 40, in one function."""

    def parts(self) -> tuple[Part, ...]:
        return (lambda: self.both(0.006, 0.0), lambda: self.both(0.0, 0.004))

    def both(self, first: float, second: float) -> None:
        end = time.perf_counter() + first
        while time.perf_counter() < end: sum(range(40))  # HOT  # fmt: skip  # noqa: E701
        end = time.perf_counter() + second
        while time.perf_counter() < end: sum(range(40))  # WARM  # fmt: skip  # noqa: E701


INSTALLED: Final = """
import time


def hot():
    end = time.perf_counter() + 0.006
    while time.perf_counter() < end: sum(range(40))  # HOT


def warm():
    end = time.perf_counter() + 0.003
    while time.perf_counter() < end: sum(range(40))


class Packaged:
    def __call__(self, sample):
        times, begin = [], time.perf_counter()
        for part in (hot, warm):
            start = time.perf_counter()
            part()
            times.append(time.perf_counter() - start)
        return [*times, time.perf_counter() - begin]
"""


def installed() -> types.ModuleType:
    """A package in a folder named site-packages."""
    folder = Path(tempfile.gettempdir()) / "lines_truth" / "site-packages"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hotpackage.py").write_text(INSTALLED)
    sys.path.insert(0, str(folder))
    import hotpackage  # type: ignore[import-not-found]

    sys.path.remove(str(folder))
    found: types.ModuleType = hotpackage
    return found


class Installed(Timed):
    def __init__(self) -> None:
        self.code = installed()

    def parts(self) -> tuple[Part, ...]:
        return (self.code.hot, self.code.warm)


CELL: Final = INSTALLED.strip()
CELL_FILE: Final = str(Path(tempfile.gettempdir()) / "ipykernel_4242" / "1234567.py")


class Packaged(Timed):
    """A transform of which no code is the user's: the package has all of it."""

    def __new__(cls) -> Any:
        return installed().Packaged()


class Cell(Timed):
    """Code of a notebook: no file has it."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        exec(compile(CELL, CELL_FILE, "exec"), self.names)

    def parts(self) -> tuple[Part, ...]:
        return (self.names["hot"], self.names["warm"])
