"""One stage has a large part of the data wait."""

from __future__ import annotations

from typing import Final

from annotate.trace_format import StageKind
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.signals import BlamedStage, Signals
from tb_dataplugin.findings.thresholds import HIGHLY_INPUT_BOUND, INPUT_BOUND, LEADING_STAGE
from tb_dataplugin.units import duration, percent, plural

ADVICE: Final[dict[StageKind, str]] = {
    "read": "Read fewer, larger files (packed records), keep them on a local disk, or cache what is read again.",
    "decode": "Decode less: a smaller image (PIL's `Image.draft` before loading), a faster decoder, or data decoded "
    "once and stored.",
    "transform": "Make it cheaper: apply it to a smaller input (crop first), replace it by array operations, do it "
    "once per batch after collate, or on the device.",
    "collate": "Let the samples be tensors of one shape, so that collate only stacks them.",
    "sample": "Time passes in the dataset's own `__getitem__`, outside all marked stages: mark its parts with "
    "annotate.stage to see which.",
    "user": "This is time inside a marker of your own: split it into finer markers to see which part is slow.",
}


def check(signals: Signals) -> Finding | None:
    leader = next((one for one in signals.blamed or () if one.stage is not None), None)
    if leader is None or leader.stage is None or leader.share < LEADING_STAGE:
        return None
    if not signals.is_input_bound(INPUT_BOUND):
        return None
    advice = ADVICE.get(leader.stage.kind)
    if advice is None:
        return None
    replayed = signals.mode == "replay"
    return Finding(
        rule="leading_stage",
        severity="high" if signals.is_input_bound(HIGHLY_INPUT_BOUND) and not replayed else "medium",
        title=f"{leader.name} takes {percent(leader.share)} of the "
        + ("loading time in the replay" if replayed else "data wait"),
        advice=advice,
        stage=leader.name,
        gain_us_per_step=None if replayed else signals.per_step(leader.exposed_us),
        evidence=_evidence(signals, leader),
    )


def _evidence(signals: Signals, leader: BlamedStage) -> tuple[str, ...]:
    rows = [row for row in signals.rows if row.stage == leader.stage]
    count, total = sum(row.count for row in rows), sum(row.self_ns for row in rows) / 1e3
    whole = "loading" if signals.mode == "replay" else "data wait"
    lines = [f"{duration(leader.blame_us)} of {duration(signals.wait_us)} of {whole}"]
    if count:
        lines.append(f"{plural(count, 'call')}, {duration(total / count)} each without nested stages")
    parents = sorted({row.path[-2].name for row in rows if len(row.path) > 1 and row.path[-2].kind == "transform"})
    if leader.stage is not None and leader.stage.kind == "decode" and parents:
        lines.append(f"it happens inside {', '.join(parents)}")
    return tuple(lines)
