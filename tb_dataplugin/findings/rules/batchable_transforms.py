"""Many small transforms run once per sample, where once per batch would do."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.evidence import time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.leading import leading_own, most_waited_for
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.findings.sequence import containers
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_finding import has_pictures
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import HEAVY_PART, TINY_CALL_US, TINY_TOGETHER
from tb_dataplugin.units import duration, percent, plural

SHOWN: Final = 3
"""Transforms that the code names."""


@rule(title="Small transforms that could run once per batch", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    if not signals.wait_cost_us or not signals.data_wait_us:
        return None
    held = containers(signals.stages)
    tiny = [calls for calls in signals.stages if _is_tiny(calls) and calls.path not in held]
    tiny.sort(key=lambda calls: -calls.self_us)
    cost = signals.cost_of(tiny)
    share = sum(calls.data_wait_us or 0.0 for calls in tiny) / signals.data_wait_us
    if share < TINY_TOGETHER or _has_own_finding(signals, tiny):
        return None
    names = ", ".join(dict.fromkeys(calls.stage.label for calls in tiny))
    saving = saved_without(signals, tiny)
    gain = signals.per_step(saving.us) if signals.mode != "replay" else None
    return Finding(
        severity=severity(signals, gain, otherwise_us=cost),
        title=f"Small transforms that run once per sample caused {percent(share)} of the {signals.own_wait}: {names}",
        advice="Apply those that treat every sample alike to the whole batch, in collate or on the device: the "
        "overhead of a call is then paid once per batch.",
        stage=most_waited_for(signals, tiny),
        evidence=(
            *(
                time(
                    "call_self_time",
                    calls.self_us / calls.count,
                    f"{calls.stage.label}: {plural(calls.count, 'call')} of {duration(calls.self_us / calls.count)}",
                    whole="call",
                    stage=calls.stage.name,
                )
                for calls in tiny
            ),
            *(saving.why if gain else ()),
        ),
        gain_us_per_step=gain,
        code=_code(signals, tiny),
        confidence="possible",
        confidence_reason="A trace does not show whether a transform treats all samples alike, nor how much of its "
        "time is the overhead of the call.",
    )


def _code(signals: Signals, tiny: list[StageCalls]) -> str:
    """With the transforms' own names. Only pictures are known to be arrays of one shape, once they are cropped."""
    names = list(dict.fromkeys(calls.stage.label for calls in tiny))
    if not has_pictures(signals) or not all(name.isidentifier() for name in names):
        return ""
    made = "".join(f"    images = {name}(...)(images)\n" for name in names[:SHOWN])
    return (
        "def collate(samples):\n"
        "    images, labels = torch.utils.data.default_collate(samples)\n"
        f"{made}"
        "    return images, labels  # those that treat every sample alike, once for the whole batch\n\n"
        "DataLoader(..., collate_fn=annotate.collate(collate))"
    )


def _has_own_finding(signals: Signals, tiny: list[StageCalls]) -> bool:
    """One transform alone whose own finding says the same (`leading_stage`, `further_stages`)."""
    (name, *others) = {calls.stage.name for calls in tiny}
    wait = signals.wait_for(name)
    return not others and wait is not None and (wait.share >= HEAVY_PART or wait == leading_own(signals))


def _is_tiny(calls: StageCalls) -> bool:
    """A transform with short calls, by its name not random."""
    return (
        calls.stage.kind == "transform"
        and any(above.kind == "sample" for above in calls.path[:-1])
        and "random" not in calls.stage.label.lower()
        and calls.self_us / calls.count <= TINY_CALL_US
    )
