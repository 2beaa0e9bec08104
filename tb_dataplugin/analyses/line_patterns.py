"""What the lines inside stages are about, where their stacks or their text say it: work that a rule has advice on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from annotate.trace_format import THREAD_STATES, Stage
from tb_dataplugin.analyses.code_places import Home, home_of, inside_stage, plain, python_part
from tb_dataplugin.analyses.line_hits import OUTSIDE, Hits
from tb_dataplugin.analyses.line_rows import Estimate, LineRow, Mask, estimate, line_rows
from tb_dataplugin.analyses.line_waits import waits_there
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.model.line_samples import Frame

Pattern = Literal["import", "regex", "kernel", "load", "elements", "copies", "to_array", "to_image", "lock", "database"]
"""Per sample: importing; compiling a regex; building a kernel, window or grid; loading a file in a transform; Python
for each pixel or token. In collate: copying. From an image of PIL to numbers, and back. Waiting for a lock
that processes share; blocked in a call to a database that is not known to read only, which may be the same."""

FEWEST: Final = 30
"""Samples of a stage, below which nothing is said of its lines. Rules compare the low ends of intervals."""

_IMPORTS: Final = re.compile(r"^<frozen importlib")
_COMPILES: Final = re.compile(r"/(?:re/_(?:compiler|parser)|sre_(?:compile|parse))\.py$")
_RE: Final = re.compile(r"/re(?:/__init__)?\.py$")
_LOADS: Final = re.compile(r"/(?:json|yaml|pickle|torch/serialization|pandas/io/\w+)(?:/.*)?(?:\.py)?$")
_IMAGE: Final = re.compile(r"/(?:PIL/Image|torchvision/transforms/(?:v2/)?functional/?\w*)\.py$")

_KERNEL_NAMES: Final = frozenset(
    ("get_window", "gaussian", "gabor_kernel", "disk", "ball", "mel", "melscale_fbanks", "create_dct", "meshgrid")
)
_KERNEL_TEXT: Final = re.compile(
    r"\b(?:getGaussianKernel|getStructuringElement|getGaborKernel|get_window|meshgrid|gabor_kernel|melscale_fbanks"
    r"|filters\.mel|windows\.\w+|hann_window|hamming_window)\("
)
_PIXEL_TEXT: Final = re.compile(
    r"\.(?:getpixel|putpixel)\(|^\s*\w+\[\s*[a-z]\w{0,2}\s*,\s*[a-z]\w{0,2}\s*(?:,\s*\w+\s*)?\]\s*[-+*/|&]?=(?!=)"
)
"""One pixel that is asked for, or set by its two short indices."""
_READS_PIXEL: Final = re.compile(r"\b\w+\[\s*[a-z]\s*,\s*[a-z]\s*(?:,\s*\w+\s*)?\]")
"""One that is read, by the letters that loops count with: ``x[y0, x0]`` is as often a whole array of them."""
_ARRAY_TEXT: Final = re.compile(r"\.(?:astype|to|float|sum|mean)\(")
_TOKEN_TEXT: Final = re.compile(r"[\[(].*\bfor\s+\w+(?:\s*,\s*\w+)*\s+in\b")
_LARGER_TEXT: Final = re.compile(r"\b(?:np|numpy|cv2|torch|torchvision|F|TF|T|Image|librosa|open)\s*[.(]")
"""A comprehension, unless it calls what works on more than a token."""
_COPY_TEXT: Final = re.compile(r"\btorch\.tensor\(|\bnp\.(?:array|stack)\(|\.(?:clone|copy|tolist)\(\)|\bdeepcopy\(")

_LOCKS: Final = re.compile(r"/(?:multiprocessing/synchronize|filelock/\w+|portalocker/\w+|fasteners/\w+)\.py$")
_LOCK_TEXT: Final = re.compile(r"\b(?:flock|lockf)\(")
ACQUIRES: Final = re.compile(r"\.acquire\(")
"""Of a lock of multiprocessing, whose ``with`` alone has Python code of its own; or of threads."""

_DATABASES: Final = re.compile(r"/(?:sqlite3|diskcache|sqlitedict|sqlalchemy|peewee|lmdb)(?:/\w+)*\.py$")
_DATABASE_TEXT: Final = re.compile(
    r"\.(?:execute|executemany|executescript|commit|begin)\(|^with\b[^()]*\b(?:con|conn|connection|db)\b[^()]*:"
)
_ONLY_READS: Final = re.compile(r"[\"']\s*SELECT\b", re.IGNORECASE)
WRITES_ALONE: Final = re.compile(r"\bBEGIN\s+(?:IMMEDIATE|EXCLUSIVE)\b|\bbegin\([^)]*\bwrite\s*=\s*True", re.IGNORECASE)
"""A line that waits until no other process writes: of SQLite, LMDB."""
_BLOCKED: Final = THREAD_STATES.index("blocked")
_ON_CPU: Final[frozenset[Pattern]] = frozenset(("elements", "copies"))
"""Work of a CPU: no line that waits, and of others only what is not spent blocked."""

COLLECTS: Final = re.compile(r"\bgc\.collect\(")
"""The garbage collector, which is C code, called by the user's line."""

_TO_ARRAY: Final = frozenset(("tobytes", "__array_interface__", "pil_to_tensor", "to_tensor"))
_TO_IMAGE: Final = frozenset(("fromarray", "frombytes", "frombuffer", "to_pil_image"))


@dataclass(frozen=True, slots=True)
class PatternTime:
    """`part`: of the stage's time, or with `stage` None of the time in all stages. `row`: the hottest such line, with
    its own share of that; `lines`: how many such lines have a sample.
    """

    pattern: Pattern
    stage: Stage | None
    part: Estimate
    row: LineRow
    lines: int


def find_patterns(
    hits: Hits, tree: StageTree, frames_of: Callable[[int], list[Frame]], *, has_device: bool
) -> tuple[PatternTime, ...]:
    """Those that take most first."""
    last = [path[-1] for path in tree.paths]
    in_stage = np.array([stage.kind != "wait" for stage in last], dtype=np.bool_)
    hits = hits.where((hits.node != OUTSIDE) & (in_stage[hits.node] if len(last) else False))
    found: list[PatternTime] = []
    for stage in dict.fromkeys(last):
        nodes = [number for number, each in enumerate(last) if each == stage]
        part = hits.where(np.isin(hits.node, nodes))
        if stage.kind != "wait" and len(part) >= FEWEST:
            found.extend(_Part(part, frames_of, stage, has_device).patterns())
    if len(hits) >= FEWEST:
        found.extend(_Part(hits, frames_of, None, has_device).patterns())
    return tuple(sorted(found, key=lambda each: -each.part.share))


class _Part:
    """The samples of one stage; without a stage, of all."""

    def __init__(
        self, hits: Hits, frames_of: Callable[[int], list[Frame]], stage: Stage | None, has_device: bool
    ) -> None:
        stacks, self.place = np.unique(hits.stack, return_inverse=True)
        self.hits, self.stage, self.has_device = hits, stage, has_device
        self.stacks = [inside_stage(frames_of(stack)) for stack in stacks.tolist()]
        self.homes = [home_of(frames) for frames in self.stacks]

    def patterns(self) -> Iterator[PatternTime]:
        each = [_pattern_of(self.stage, frames, home) for frames, home in zip(self.stacks, self.homes, strict=True)]
        for pattern in sorted({name for name in each if name is not None}):
            found = self._time(pattern, [name == pattern for name in each])
            if found is not None:
                yield found

    def _time(self, pattern: Pattern, is_of: Sequence[bool]) -> PatternTime | None:
        """None: all of its lines wait."""
        mine: Mask = np.array(is_of, dtype=np.bool_)[self.place]
        homes: list[Home | None] = [home if own else None for home, own in zip(self.homes, is_of, strict=True)]
        place = self.place
        if pattern == "database":  # which also works there
            mine = mine & (self.hits.state == _BLOCKED)
        elif pattern in _ON_CPU:
            rows = line_rows(self.hits, homes, place, has_device=self.has_device)
            waiting = {row.place for row in rows if waits_there(row.place.source, row.blocked)}
            homes = [None if home is None or home.place in waiting else home for home in homes]
            mine = np.array([home is not None for home in homes])[place] & (self.hits.state != _BLOCKED)
            homes, place = [*homes, None], np.where(mine, place, len(homes))
            if not mine.any():
                return None
        rows = line_rows(self.hits, homes, place, has_device=self.has_device)
        part = estimate(self.hits.weight_ns, self.hits.weight_ns * mine)
        return PatternTime(pattern, self.stage, part, rows[0], sum(row.samples > 0 for row in rows))


def _pattern_of(stage: Stage | None, frames: list[Frame], home: Home | None) -> Pattern | None:
    """What one stack is about; None: nothing that there is advice on, or no line of the user's has it."""
    if home is None:
        return None
    if stage is None:
        return _conversion(frames)
    if not home.is_user:
        return None
    below = _below(frames)
    if _LOCKS.search(below[0].file) if below else _locks(home.place.source):
        return "lock"
    if _asks_database(below, home.place.source):
        return "database"
    if stage.kind == "collate":
        is_copy = not below and _COPY_TEXT.search(home.place.source)
        return "copies" if is_copy else None
    if stage.kind not in ("sample", "transform", "user"):
        return None
    return _constant(stage, below, home.place.source) or _elements(below, home.place.source)


def _locks(source: str) -> bool:
    return any(text.search(source) for text in (_LOCK_TEXT, ACQUIRES, WRITES_ALONE))


def _asks_database(below: list[Frame], source: str) -> bool:
    if below:
        return any(_DATABASES.search(frame.file) for frame in below)
    return bool(_DATABASE_TEXT.search(source) and not _ONLY_READS.search(source))


def _below(frames: list[Frame]) -> list[Frame]:
    """What the innermost line of the user's calls."""
    frames = python_part(frames)
    at = next((at for at in range(len(frames), 0, -1) if frames[at - 1].origin == "user"), 0)
    return frames[at:]


def _constant(stage: Stage, below: list[Frame], source: str) -> Pattern | None:
    """Work whose result is the same for each sample."""
    names = {plain(frame.function).rpartition(".")[2] for frame in below}
    if any(_IMPORTS.search(frame.file) for frame in below):
        return "import"
    if any(_COMPILES.search(frame.file) for frame in below) or ("_compile" in names and _RE.search(below[0].file)):
        return "regex"
    if names & _KERNEL_NAMES or (not below and _KERNEL_TEXT.search(source)):
        return "kernel"
    if stage.kind == "transform" and "load" in names and any(_LOADS.search(frame.file) for frame in below):
        return "load"
    return None


def _elements(below: list[Frame], source: str) -> Pattern | None:
    if below:
        return None
    is_small = not _LARGER_TEXT.search(source)
    is_token = _TOKEN_TEXT.search(source) and is_small
    is_read = _READS_PIXEL.search(source) and is_small and not _ARRAY_TEXT.search(source)
    return "elements" if is_token or is_read or _PIXEL_TEXT.search(source) else None


def _conversion(frames: list[Frame]) -> Pattern | None:
    for frame in frames:
        name = plain(frame.function).rpartition(".")[2]
        if name in _TO_ARRAY | _TO_IMAGE and _IMAGE.search(frame.file):
            return "to_array" if name in _TO_ARRAY else "to_image"
    return None
