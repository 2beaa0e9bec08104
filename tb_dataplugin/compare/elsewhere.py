"""Advice for a DataLoader that is not the training loop's, where its settings show that it was followed, and what its
waits were then: no time of the comparison has these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.compare.followed import followed_in
from tb_dataplugin.compare.other_loaders import OtherWait
from tb_dataplugin.compare.other_settings import OtherSettings, key_of, paired
from tb_dataplugin.compare.promises import gain_words, typical_run
from tb_dataplugin.compare.sides import Run, Unit
from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import duration, listed, plural

FEW: Final = 4
"""Steps on a side, up to which the wait of each is said."""
FIRST: Final = ". Workers that live on start once: a window with the first pass over it has that"


def elsewhere(
    before: Sequence[Run], after: Sequence[Run], unit: Unit, others: Sequence[OtherWait]
) -> tuple[Evidence, ...]:
    """Of several findings that advise the same, the first."""
    pairs = {(pair.key, pair.place): pair for pair in paired(before, after)}
    typical = typical_run(before, unit)
    capture = typical.captures[-1]
    said: dict[tuple[str, tuple[str, ...]], str] = {}
    for number, finding in enumerate(capture.findings, 1):
        pair = pairs.get(_place_of(capture, finding)) if finding.HasField("of_loader") else None
        done = followed_in(finding.code, (pair.before, pair.after)) if pair else None
        if pair is None or done is None or not done.settings or (pair.who, done.settings) in said:
            continue
        gain = gain_words(capture, finding)
        text = f"before{f' ({typical.process})' if len(before) > 1 else ''}, finding {number} ({finding.title})"
        text += f"{f': saves {gain}' if gain else ''}; after, {pair.who} has {listed(done.settings)}, as it advises"
        first = FIRST if "persistent_workers=True" in done.settings else ""
        said[pair.who, done.settings] = f"{text}{_waits(pair, before, after, others)}{first}"
    return tuple(Evidence("promise", text) for text in said.values())


def _place_of(capture: pb.Capture, finding: pb.Finding) -> tuple[tuple[str, str], int]:
    """Of the finding's DataLoader among those of its class and dataset; -1 where it is none of them."""
    key = key_of(finding.of_loader)
    alike = [settings for settings in capture.loader.other_settings if key_of(settings) == key]
    return key, alike.index(finding.of_loader) if finding.of_loader in alike else -1


def _waits(pair: OtherSettings, before: Sequence[Run], after: Sequence[Run], others: Sequence[OtherWait]) -> str:
    """Waits are told apart by dataset: "" where several DataLoaders have it, and where a side has no waits."""
    dataset = pair.key[1]
    if pair.has_twin or not any(other.quantity.name == dataset for other in others):
        return ""
    sides = [list(_in_steps(runs, dataset)) for runs in (before, after)]
    if not all(sides):
        return ""
    each = [_side_words(waits, when) for waits, when in zip(sides, ("before", "after"), strict=True)]
    return f". Waits for it: {'; '.join(each)}"


def _side_words(waits: Sequence[float], when: str) -> str:
    if len(waits) > FEW:
        return f"{duration(sum(waits) / len(waits))} on average in {plural(len(waits), 'step')} {when}"
    return f"{listed([duration(wait) for wait in waits])} in {plural(len(waits), 'step')} {when}"


def _in_steps(runs: Sequence[Run], dataset: str) -> Iterator[float]:
    """The wait of each step that has it, in order."""
    for capture in (capture for run in runs for capture in run.captures):
        each: dict[int, float] = {}
        for other in capture.loader.apart.others:
            if other.dataset == dataset and not other.unannotated:
                for step, us in zip(other.steps, other.step_wait_us, strict=False):
                    each[step] = each.get(step, 0.0) + us
        yield from (each[step] for step in sorted(each))
