"""The sampled stacks of captures for other viewers: speedscope's JSON, and collapsed stacks.

Each stage, and each part of the training thread's time, is a profile of its own in speedscope, and the outermost frame
in collapsed stacks. In speedscope the stacks of a profile are in time order, and each thread's profile has all stages.
Shares of lines are those of the report where its trees are whole (`AnalysisOptions.whole_stacks`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from annotate.trace_format import parse_span_name
from tb_dataplugin.analyses.line_trees import FOR_ANOTHER_LOADER
from tb_dataplugin.report import report_pb2 as pb

SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"

ROUNDED_US: Final = 1e-3
"""Each time of a report is a whole number of nanoseconds."""


Places = tuple[tuple[str, str, int], ...]
"""Function, file, line."""


class Stack(NamedTuple):
    """Places, outermost first, and the time in the innermost itself."""

    places: Places
    self_us: float


def parts_of(capture: pb.Capture) -> Iterator[tuple[str, pb.PartLines]]:
    """Each part that has samples, and its name."""
    named = [(part.name, part) for part in capture.lines.stages]
    named += [(f"training thread: {part.name}", part) for part in capture.lines.training]
    yield from ((name, part) for name, part in named if part.HasField("tree"))


def by_thread(capture: pb.Capture) -> Iterator[tuple[str, list[Stack]]]:
    """All that each thread did, in time order: in stages, and the training thread outside the data wait."""
    if capture.lines.training_thread.HasField("in_order"):
        yield "training thread", list(_stacks(capture.lines.training_thread.in_order))
    threads: dict[str, list[Stack]] = {}
    for places, self_us in _stacks(capture.lines.pipeline.in_order):
        above = places[0][0]
        is_thread = parse_span_name(above) is None and above != FOR_ANOTHER_LOADER
        threads.setdefault(f"stages of {above}" if is_thread else "stages", []).append(
            Stack(places[1:] if is_thread and len(places) > 1 else places, self_us)
        )
    yield from threads.items()


def _stacks(tree: pb.LineTree) -> Iterator[Stack]:
    above: list[tuple[str, str, int]] = []
    for function, file, line, depth, self_us in zip(
        tree.function, tree.file, tree.line, tree.depth, tree.self_us, strict=True
    ):
        del above[depth:]
        above.append((tree.names[function], tree.names[file], line))
        if self_us > 0:
            yield Stack(tuple(above), self_us)


def _of_part(part: pb.PartLines, tree: pb.LineTree, own: Places = ()) -> Iterator[Stack]:
    """All of its time: what no stack has is the part's own, and stands under `own`."""
    yield from _stacks(tree)
    rest_us = part.time_us - sum(tree.self_us)
    if rest_us > ROUNDED_US * (len(tree.depth) + 1):
        yield Stack(own, rest_us)


def as_collapsed(report: pb.Report) -> str:
    """A line per stack, ``part;function (file:line);... microseconds``: what flamegraph.pl and its like take."""
    lines = [
        f"{';'.join(map(_one_name, (name, *map(_labelled, stack.places))))} {round(stack.self_us)}"
        for capture in report.captures
        for name, part in parts_of(capture)
        for stack in _of_part(part, part.tree)
        if round(stack.self_us)
    ]
    return "\n".join(lines)


def _labelled(place: tuple[str, str, int]) -> str:
    function, file, line = place
    where = PurePath(file).name
    return f"{function} ({where}:{line})" if line or not where else f"{function} [{where}]"


def _one_name(text: str) -> str:
    """Without what separates: semicolons, and ends of lines."""
    return " ".join(text.replace(";", ",").split())


def as_speedscope(report: pb.Report) -> str:
    """Weights in microseconds, stacks in time order; frames are shared by all profiles."""
    return speedscope(
        (f"{capture.name}: {name}", stacks)
        for capture in report.captures
        for name, stacks in (
            *by_thread(capture),
            *((name, list(_of_part(part, part.in_order, ((part.name, "", 0),)))) for name, part in parts_of(capture)),
        )
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
