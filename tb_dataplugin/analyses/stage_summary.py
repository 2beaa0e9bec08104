"""The stages together, without the training thread's wait spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tb_dataplugin.analyses.stages import StageRow


@dataclass(frozen=True, slots=True)
class StageSummary:
    """`self_ns` sums the self time of all stages, `by_kind_ns` divides it. `highest` has the highest self time; None
    where only waiting was recorded. `samples` counts the `sample` spans, None without any. `caused_ns` is the data
    wait that the stages caused, None when it is not known.
    """

    self_ns: int
    by_kind_ns: Mapping[str, int]
    highest: StageRow | None
    samples: int | None
    caused_ns: int | None


def summarise_stages(rows: tuple[StageRow, ...]) -> StageSummary | None:
    """None without stages."""
    if not rows:
        return None
    work = [row for row in rows if row.stage.kind != "wait"]
    by_kind: dict[str, int] = {}
    for row in work:
        by_kind[row.stage.kind] = by_kind.get(row.stage.kind, 0) + row.self_ns
    caused = [row.data_wait_ns for row in work if row.data_wait_ns is not None]
    return StageSummary(
        self_ns=sum(by_kind.values()),
        by_kind_ns={kind: time for kind, time in sorted(by_kind.items(), key=lambda kind: -kind[1]) if time > 0},
        highest=max(work, key=lambda row: row.self_ns, default=None),
        samples=sum(row.count for row in work if row.stage.kind == "sample") or None,
        caused_ns=sum(caused) if caused else None,
    )
