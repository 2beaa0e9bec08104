"""The program makes its DataLoader, and mostly the dataset, anew for each epoch: no step shows what that takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.analyses.remade import Remade
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Confidence, Finding, Severity
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.remade_facts import HELD, LOADERS_MADE, made_again
from tb_dataplugin.findings.rules import slow_first_batch
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HIGHLY_INPUT_BOUND, INPUT_BOUND
from tb_dataplugin.findings.worker_copies import KEPT
from tb_dataplugin.units import count, duration, percent

ONCE: Final = "Make the dataset and the DataLoader once, before the epochs"
WORKERS: Final = ", with persistent_workers=True: its DataLoader workers then keep what they load as they start"
SAMPLER: Final = " Where each epoch has other samples, let its sampler choose them."
NOT_RECORDED: Final = "What the program does between epochs was not recorded: annotate.watch records it."
ALSO: Final = "An evaluation or a checkpoint between epochs is in that time as well."


@rule(title="DataLoader made anew", about="epochs")
def check(signals: Signals) -> Finding | None:
    remade = signals.remade
    if remade is None or signals.loader is None or (_severity(remade) == "low" and _is_bounded(signals)):
        return None
    name, confidence, reason = name_of(signals.loader), _confidence(remade), ALSO if remade.times else NOT_RECORDED
    each = " for each epoch" if remade.one_each else ""
    so_far = "" if remade.whole_run else " so far"
    workers = WORKERS if signals.loader.num_workers else ""
    return Finding(
        severity=_severity(remade),
        title=f"{name[0].upper()}{name[1:]} is made anew{each}: {count(remade.made)} of them{so_far}",
        advice=f"{ONCE}{workers}.{SAMPLER}{KEPT if workers else ''}",
        evidence=tuple(_evidence(remade)),
        confidence=confidence,
        confidence_reason=reason if confidence == "likely" else f"{HELD} {reason}",
    )


def _is_bounded(signals: Signals) -> bool:
    """Whether the starts of its DataLoader workers, which such loaders have in each epoch, are a finding: that has a
    bound, and the same change.
    """
    found = slow_first_batch.check(signals)
    return isinstance(found, Finding) and any(fact.kind == LOADERS_MADE for fact in found.evidence)


def _confidence(remade: Remade) -> Confidence:
    return "likely" if remade.is_certain else "possible"


def _severity(remade: Remade) -> Severity:
    """By what lies between epochs, which is outside of the window."""
    share = remade.share or 0.0
    return "high" if share >= HIGHLY_INPUT_BOUND else "medium" if share >= INPUT_BOUND else "low"


def _evidence(remade: Remade) -> Iterator[Evidence]:
    yield from made_again(remade)
    if not remade.times:
        return
    mean = remade.total_us / remade.times
    several = "once" if remade.times == 1 else f"{count(remade.times)} times, at most {duration(remade.longest_us)}"
    share = "" if remade.share is None else f", {percent(remade.share)} of the time from epoch to epoch"
    yield time("between_epochs", mean, f"{duration(mean)} between two epochs ({several}){share}")
