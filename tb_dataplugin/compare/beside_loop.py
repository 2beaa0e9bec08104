"""What a window has by chance beside the training loop as it goes on: another DataLoader's batches (an evaluation), and
starts of epochs. Stages that are called only there are neither new nor gone where the other side's windows lack that,
and have no times to compare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tb_dataplugin.analyses.line_trees import FOR_ANOTHER_LOADER
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb

AT_STARTS = "at an epoch's start"
NOT_COMPARED: Final = (
    "no call in the batches that are compared, the training loop's within an epoch: times are means over all calls"
)
"""Of a stage that both sides call only beside the loop."""


class Beside(NamedTuple):
    """Of one side: by dataset, as many other DataLoaders as a window has, and whether epochs start."""

    others: Counter[str]
    starts: bool

    def lacks(self, other: Beside) -> bool:
        """Anything of that."""
        return not other.others <= self.others or (other.starts and not self.starts)

    def and_of(self, other: Beside) -> Beside:
        """Of both sides."""
        return Beside(self.others | other.others, self.starts or other.starts)

    @property
    def text(self) -> str:
        kinds = [name for name, has in ((FOR_ANOTHER_LOADER, self.others), (AT_STARTS, self.starts)) if has]
        return f"only {' or '.join(kinds)}" if kinds else ""


def only_beside_loop(before: Sequence[Run], after: Sequence[Run]) -> Mapping[str, str]:
    """By stage ("<kind>::<label>") that one side calls only there, or both do, what for; without those that are new or
    gone beside the loop: the other side's windows have as much there, and lack them. Other settings of an evaluation's
    DataLoader (its batch size, its number of workers) make it no other one.
    """
    sides = [[capture for run in runs for capture in run.captures] for runs in (before, after)]
    apart = [dict(_apart_stages(side)) for side in sides]
    both = apart[0].keys() & apart[1].keys()
    found = {name: f"{apart[0][name].and_of(apart[1][name]).text}; {NOT_COMPARED}" for name in both}
    for place, when in enumerate(("before", "after")):
        others = sides[1 - place]
        known, has = {_name(stage) for capture in others for stage in capture.stages}, _beside(others, told=False)
        for name, where in apart[place].items():
            if name not in both and (name in known or has.lacks(where)):
                found[name] = f"{when}, {where.text}"
    return found


def _apart_stages(captures: Sequence[pb.Capture]) -> Iterator[tuple[str, Beside]]:
    """Stages without any call in the loop as it goes on, and what they may be called for instead."""
    rows: dict[str, list[tuple[pb.Capture, pb.Stage]]] = {}
    for capture in captures:
        for stage in capture.stages:
            rows.setdefault(_name(stage), []).append((capture, stage))
    for name, places in rows.items():
        if all(_is_apart(capture, stage) for capture, stage in places):
            where = _beside([capture for capture, _ in places], told=True)
            for_others = all(stage.for_others == stage.count for _, stage in places)
            yield name, where._replace(starts=where.starts and not for_others)


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
