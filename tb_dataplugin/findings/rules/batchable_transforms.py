"""Many small transforms run once per sample, where once per batch would do."""

from __future__ import annotations

from tb_dataplugin.analyses.stages import StageRow
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, TINY_CALL_US, TINY_TOGETHER
from tb_dataplugin.units import duration, percent, plural

CODE = """def collate(samples):
    images, labels = torch.utils.data.default_collate(samples)
    return scale(convert_color(images)), labels  # once for the whole batch

DataLoader(..., collate_fn=annotate.collate(collate))"""


def check(signals: Signals) -> Finding | None:
    if not signals.is_input_bound(INPUT_BOUND) or not signals.felt_us:
        return None
    tiny = [row for row in signals.rows if _is_tiny(row)]
    felt = signals.felt_of_rows(tiny)
    share = felt / signals.felt_us
    if share < TINY_TOGETHER:
        return None
    tiny.sort(key=lambda row: -row.self_ns)
    names = ", ".join(dict.fromkeys(row.stage.label for row in tiny))
    gain = signals.per_step(signals.felt_without(tiny)) if signals.mode != "replay" else None
    return Finding(
        rule="batchable_transforms",
        severity=severity(signals, gain, otherwise_us=felt),
        title=f"Small transforms, once per sample, have {percent(share)} of the wait: {names}",
        advice="Apply those that do the same to every sample to the whole batch, in collate or on the device: what a "
        "call costs before it computes is then paid once per batch.",
        stage=tiny[0].stage.name,
        evidence=tuple(
            f"{row.stage.label}: {plural(row.count, 'call')} of {duration(row.self_ns / row.count / 1e3)}"
            for row in tiny
        ),
        gain_us_per_step=gain,
        code=CODE,
        confidence="possible",
        confidence_reason="a trace does not tell whether a transform treats all samples alike, nor how much of its "
        "time is the call itself",
    )


def _is_tiny(row: StageRow) -> bool:
    """A transform without inner stages of its own time, by its name not random."""
    return (
        row.stage.kind == "transform"
        and any(above.kind == "sample" for above in row.path[:-1])
        and "random" not in row.stage.label.lower()
        and row.self_ns / row.count <= TINY_CALL_US * 1e3
    )
