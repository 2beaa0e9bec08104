"""A transform throws away most of its input, after others have worked on all of it."""

from __future__ import annotations

from tb_dataplugin.analyses.stages import StageRow
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.sequence import Step, sequences
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import EARLIER_WORTH, INPUT_BOUND, SHRINKS
from tb_dataplugin.units import duration, percent

RULE = "shrink_first"
DECODING = "decoding"


def check(signals: Signals) -> Finding | Abstention | None:
    if not signals.is_input_bound(INPUT_BOUND) or not signals.blamed:
        return None
    steps = [step for sequence in sequences(signals.rows) for step in sequence]
    if len(steps) > 1 and all(step.ratio is None for step in steps):
        return Abstention(RULE, "the sizes of what transforms return were not recorded")
    found = [(step, saved) for step in steps if (saved := _saved(signals, step)) is not None]
    if not found:
        return None
    step, saved = max(found, key=lambda one: one[1])
    ratio = step.ratio or 1.0
    label = step.row.stage.label
    before = ", ".join(row.stage.label for row in step.before if row.stage.kind == "transform")
    gain = signals.per_step(saved) if signals.mode != "replay" else None
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=saved),
        title=f"{label} keeps {percent(ratio)} of the data, after {before or DECODING} worked on all of it",
        advice=_advice(label, before, percent(ratio), bounded=gain is not None),
        stage=step.row.stage.name,
        evidence=(
            f"{percent(ratio)} of the bytes come out of {step.row.stage.label}",
            *(f"{row.stage.label} before it: {duration(row.self_ns / 1e3)} in all" for row in step.before),
        ),
        gain_us_per_step=gain,
        confidence="likely",
        confidence_reason="it takes the time of the earlier transforms to grow with the size of their input, and that "
        "they give the same on a part",
    )


def _advice(label: str, before: str, kept: str, *, bounded: bool) -> str:
    if not before:
        return (
            f"Decode only what {label} keeps, {kept} of the data: use a decoder that crops or scales while it decodes; "
            "how much of the decoding that saves depends on the format."
        )
    return (
        f"Do {label} before {before}: what follows then works on {kept} of the bytes. "
        "A decoder that crops or scales while it decodes saves part of decoding too"
        f"{'; the bound counts that' if bounded else ''}."
    )


def _saved(signals: Signals, step: Step) -> float | None:
    """Of the felt wait, at most: decoding and transforms before it, as far as they work on what is thrown away."""
    if step.ratio is None or step.ratio > SHRINKS or step.row.stage.kind != "transform":
        return None
    rows = _with_inner(signals.rows, step.before)
    if not signals.felt_us or signals.felt_of_rows(rows) * (1 - step.ratio) < EARLIER_WORTH * signals.felt_us:
        return None
    return signals.felt_without(rows) * (1 - step.ratio)


def _with_inner(rows: tuple[StageRow, ...], before: tuple[StageRow, ...]) -> list[StageRow]:
    """Those stages and what they call, but for reading: a file is read whole, and a decoder can leave out parts."""
    paths = [row.path for row in before]
    return [row for row in rows if row.stage.kind != "read" and any(row.path[: len(path)] == path for path in paths)]
