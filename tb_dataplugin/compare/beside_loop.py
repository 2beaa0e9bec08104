"""What a window has by chance beside the training loop as it goes on: another DataLoader's batches (an evaluation), and
starts of epochs. Stages that are called only there are neither new nor gone where the other side's windows lack that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.words import FOR_ANOTHER_LOADER

AT_STARTS = "at an epoch's start"


class Beside(NamedTuple):
    """Of one side: by dataset, as many other DataLoaders as a window has, and whether epochs start."""

    others: Counter[str]
    starts: bool

    def lacks(self, other: Beside) -> bool:
        """Anything of that."""
        return not other.others <= self.others or (other.starts and not self.starts)

    @property
    def text(self) -> str:
        kinds = [name for name, has in ((FOR_ANOTHER_LOADER, self.others), (AT_STARTS, self.starts)) if has]
        return f"only {' or '.join(kinds)}" if kinds else ""


def only_beside_loop(before: Sequence[Run], after: Sequence[Run]) -> Mapping[str, str]:
    """By stage ("<kind>::<label>") that one side calls only there, what for; without those that are new or gone beside
    the loop: the other side's windows have as much there, and lack them. Other settings of an evaluation's DataLoader
    (its batch size, its number of workers) make it no other one.
    """
    sides = [[capture for run in runs for capture in run.captures] for runs in (before, after)]
    apart = [dict(_apart_stages(side)) for side in sides]
    found: dict[str, str] = {}
    for place, when in enumerate(("before", "after")):
        others = sides[1 - place]
        known, has = {_name(stage) for capture in others for stage in capture.stages}, _beside(others, told=False)
        for name, captures in apart[place].items():
            where = _beside(captures, told=True)
            if name not in apart[1 - place] and (name in known or has.lacks(where)):
                found[name] = f"{when}, {where.text}"
    return found


def _apart_stages(captures: Sequence[pb.Capture]) -> Iterator[tuple[str, list[pb.Capture]]]:
    """Stages without any call in the loop as it goes on, with the captures that have them."""
    rows: dict[str, list[tuple[pb.Capture, pb.Stage]]] = {}
    for capture in captures:
        for stage in capture.stages:
            rows.setdefault(_name(stage), []).append((capture, stage))
    for name, places in rows.items():
        if all(_is_apart(capture, stage) for capture, stage in places):
            yield name, [capture for capture, _ in places]


def _is_apart(capture: pb.Capture, stage: pb.Stage) -> bool:
    """Of such calls there are no blocks."""
    apart = capture.loader.apart
    return bool(apart.others or apart.epochs) and not stage.block_count


def _beside(captures: Sequence[pb.Capture], *, told: bool) -> Beside:
    """`told`: of the starts of epochs only those that are told apart."""
    others: Counter[str] = Counter()
    for capture in captures:
        others |= Counter(other.dataset for other in capture.loader.apart.others)
    starts = any(one.loader.apart.epochs or (one.loader.epochs and not told) for one in captures)
    return Beside(others, starts)


def _name(stage: pb.Stage) -> str:
    return f"{stage.kind}::{stage.label}"
