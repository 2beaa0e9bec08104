"""What findings before a change said that it would save, beside what it saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.compare.followed import Followed, followed
from tb_dataplugin.compare.quantity import Quantity
from tb_dataplugin.compare.sides import Run, Unit, time_per_unit
from tb_dataplugin.findings.at_starts import AT_STARTS
from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.findings.evidence import time as evidence_time
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import duration, listed

MOST: Final = 4
ALIKE: Final = 0.01
"""Relative difference of samples per step, up to which a step is the same before and after."""


def promises(
    before: Sequence[Run], after: Sequence[Run], unit: Unit, time: Quantity | None, stages: Sequence[Quantity]
) -> tuple[Evidence, ...]:
    """For findings about stages that now take less, or are gone, and for those about no stage: these are gone as well,
    or still there; none of them where steps take longer. Nothing where a step is not what it was, or where how long it
    takes is not known to have changed; nor of advice that settings show was not followed.
    """
    step, changed = _units_per_step(before, unit), _units_per_step(after, unit)
    if time is None or time.before_us is None or time.after_us is None or not step or not changed:
        return ()
    if not time.significant:
        return ()
    if abs(changed / step - 1) > ALIKE:
        return ()
    saved = (time.before_us - time.after_us) * step
    acted_on = {stage.name for stage in stages if stage.outcome in ("faster", "gone")}
    known = {stage.name for stage in stages}
    typical, left = typical_run(before, unit), _left(after, unit)
    whose = f"before ({typical.process})" if len(before) > 1 else "before"
    found = []
    for number, finding in _bounds(typical):
        said = f"{whose}, finding {number} ({finding.title or finding.stage}): saves "
        said += gain_words(typical.captures[-1], finding)
        is_faster = finding.stage in acted_on
        still_there = None if is_faster else left.get((finding.rule, finding.stage))
        done = followed(finding.code, before, after)
        if not is_faster and (finding.stage in known or saved <= 0):
            continue
        if still_there is not None:
            found.append(_fact(f"{said}; {_still_there(still_there)}", finding, saved))
        elif done.state != "no":
            found.append(_fact(f"{said}; {_brought(done, saved, is_faster)}", finding, saved))
    return tuple(found[:MOST])


def typical_run(runs: Sequence[Run], unit: Unit) -> Run:
    """Of several, the one whose time is in the middle: its findings are quoted."""
    by_time = sorted(runs, key=lambda run: time_per_unit(run, unit) or 0.0)
    return by_time[(len(by_time) - 1) // 2]


def _left(runs: Sequence[Run], unit: Unit) -> dict[tuple[str, str], str]:
    """By rule and stage, what findings of any of these runs still save; of several, as the typical one says."""
    typical = typical_run(runs, unit)
    ordered = (*(run for run in runs if run is not typical), typical)
    return {
        (finding.rule, finding.stage): gain_words(run.captures[-1], finding)
        for run in ordered
        for finding in run.captures[-1].findings
    }


def gain_words(capture: pb.Capture, finding: pb.Finding) -> str:
    """ "up to 8.15 ms per step", of what is compared: without the starts of epochs where these are left out; "" where
    the gain is not known.
    """
    if not finding.HasField("gain_us_per_step"):
        return ""
    at_starts_us = sum(fact.value for fact in finding.evidence if fact.kind == AT_STARTS)
    if not at_starts_us or not capture.loader.apart.starts_us:
        return f"up to {duration(finding.gain_us_per_step)} per step"
    return f"up to {duration(max(0.0, finding.gain_us_per_step - at_starts_us))} per step within an epoch"


def _units_per_step(runs: Sequence[Run], unit: Unit) -> float | None:
    """On average over a side; None where it is not known."""
    pairs = [(run.units(unit), run.units("step")) for run in runs]
    each = [units / steps for units, steps in pairs if units and steps]
    return sum(each) / len(each) if each and len(each) == len(pairs) else None


def _bounds(run: Run) -> Iterator[tuple[int, pb.Finding]]:
    """The first finding about each stage in its last capture that has a bound, and each about none, with its number in
    the report. None of another DataLoader, whose waits the time leaves out (`elsewhere`).
    """
    subjects = set()
    for number, finding in enumerate(run.captures[-1].findings, 1):
        subject = finding.stage or finding.rule
        if finding.HasField("gain_us_per_step") and not finding.HasField("of_loader") and subject not in subjects:
            subjects.add(subject)
            yield number, finding


def _still_there(gain: str) -> str:
    return f"after, it is still there{f', {gain}'.replace(' per step', '') if gain else ''}"


def _brought(done: Followed, saved: float, is_faster: bool) -> str:
    """`is_faster`: its stage takes less, or is gone, which a capture shows whatever was done for that."""
    now = f"steps now take {duration(abs(saved))} {'less' if saved >= 0 else 'more'}"
    if done.settings:
        return f"with {listed(done.settings)} and all else that changed, {now}"
    if is_faster:
        return f"with all that changed, {now}"
    return f"after, it is gone; whether its advice was followed is not recorded. With all that changed, {now}"


def _fact(text: str, finding: pb.Finding, saved: float) -> Evidence:
    return evidence_time("promise", saved, text, whole="step", stage=finding.stage)
