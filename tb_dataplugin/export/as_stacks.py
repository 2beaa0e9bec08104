"""The sampled stacks of captures for other viewers: speedscope's JSON, and collapsed stacks.

Each stage, and each part of the training thread's time, is a profile of its own in speedscope, and the outermost frame
in collapsed stacks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from tb_dataplugin.report import report_pb2 as pb

SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"


class Stack(NamedTuple):
    """Places (function, file, line), outermost first, and the time in the innermost itself."""

    places: tuple[tuple[str, str, int], ...]
    self_us: float


def profiles(capture: pb.Capture) -> Iterator[tuple[str, list[Stack]]]:
    """Name and stacks of each part that has enough samples."""
    for part in capture.lines.stages:
        if part.HasField("tree"):
            yield part.name, list(_stacks(part.tree))
    for part in capture.lines.training:
        if part.HasField("tree"):
            yield f"training thread: {part.name}", list(_stacks(part.tree))


def _stacks(tree: pb.LineTree) -> Iterator[Stack]:
    above: list[tuple[str, str, int]] = []
    for function, file, line, depth, self_us in zip(
        tree.function, tree.file, tree.line, tree.depth, tree.self_us, strict=True
    ):
        del above[depth:]
        above.append((tree.names[function], tree.names[file], line))
        if self_us > 0:
            yield Stack(tuple(above), self_us)


def as_collapsed(report: pb.Report) -> str:
    """A line per stack, ``part;function (file:line);... microseconds``: what flamegraph.pl and its like take."""
    lines = [
        f"{';'.join(map(_one_name, (name, *map(_labelled, stack.places))))} {round(stack.self_us)}"
        for capture in report.captures
        for name, stacks in profiles(capture)
        for stack in stacks
        if round(stack.self_us)
    ]
    return "\n".join(lines)


def _labelled(place: tuple[str, str, int]) -> str:
    function, file, line = place
    return f"{function} ({PurePath(file).name}:{line})"


def _one_name(text: str) -> str:
    """Without what separates: semicolons, and ends of lines."""
    return " ".join(text.replace(";", ",").split())


def as_speedscope(report: pb.Report) -> str:
    """Weights in microseconds; frames are shared by all profiles."""
    return speedscope(
        (f"{capture.name}: {name}", stacks) for capture in report.captures for name, stacks in profiles(capture)
    )


def speedscope(named: Iterable[tuple[str, list[Stack]]]) -> str:
    """A profile for each name."""
    frames: dict[tuple[str, str, int], int] = {}
    written = [_profile(name, stacks, frames) for name, stacks in named]
    known = [{"name": function, "file": file, "line": line} for function, file, line in frames]
    return json.dumps(
        {"$schema": SCHEMA, "exporter": "tb-dataplugin", "shared": {"frames": known}, "profiles": written}
    )


def _profile(name: str, stacks: list[Stack], frames: dict[tuple[str, str, int], int]) -> dict[str, Any]:
    return {
        "type": "sampled",
        "name": name,
        "unit": "microseconds",
        "startValue": 0,
        "endValue": sum(stack.self_us for stack in stacks),
        "samples": [[frames.setdefault(place, len(frames)) for place in stack.places] for stack in stacks],
        "weights": [stack.self_us for stack in stacks],
    }
