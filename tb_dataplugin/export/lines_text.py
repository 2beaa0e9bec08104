"""Lines of the text report about the lines of the code that take the time."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from tb_dataplugin.export.width import columns
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import percent
from tb_dataplugin.words import training_part

MOST_PARTS: Final = 5
MOST_LINES: Final = 3
LEAST_SHARE: Final = 0.02
"""Of a part: a line with less is not printed."""

LEAST_TIME: Final = 0.03
"""Of the time in all stages: a stage with less is not printed."""

LOCK: Final = "gil"


def line_lines(capture: pb.Capture) -> Iterator[str]:
    """The hottest lines of the stages with most time, then of the training thread; below, how they were sampled."""
    places = {stage.path[-1]: f" ({PurePath(stage.defined_at).name})" for stage in capture.stages if stage.defined_at}
    sampled = sum(part.time_us for part in capture.lines.stages)
    for part in (part for part in capture.lines.stages[:MOST_PARTS] if part.time_us >= LEAST_TIME * sampled):
        yield from _part(part, f"{part.name}{places.get(part.name, '')}")
    for part in capture.lines.training:
        if part.lines or part.name != LOCK:
            yield from _part(part, training_part(part.name, bool(capture.devices)))
    yield from _wrap(capture.lines.sentence, "  ")
    for sentence in capture.lines.unseen:
        yield from _wrap(sentence, "  ")


def _part(part: pb.PartLines, name: str) -> Iterator[str]:
    if not part.lines:
        yield from _wrap(f"{name}: {part.text}", "  ")
        return
    yield from _wrap(f"{name}, {part.left_out_text}" if part.left_out_text else name, "  ")
    for place in (place for place in part.hottest[:MOST_LINES] if place.share >= LEAST_SHARE):
        yield from _wrap(place.text, f"  {percent(place.share):>8}  ")


def _wrap(text: str, first: str) -> list[str]:
    return textwrap.wrap(text, columns(), initial_indent=first, subsequent_indent=" " * (len(first) + 2))
