"""Whose code a stage is, by where it is defined, and how to look into it."""

from __future__ import annotations

from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.findings.signals import Signals

MARK: Final = ": mark its parts with annotate.stage to see which part is slow."
"""Ends the advice where no line of the code is known."""

MARK_OWN: Final = (
    ". The code is that of {package}, an installed package: mark what it calls of your own with annotate.stage, or "
    "capture more steps, so that lines can be named."
)


def package_of(signals: Signals, stage: str) -> str:
    """The installed package whose code a stage runs; "" where it is the user's, or that is not known."""
    file = signals.stage_places.get(stage, "").rpartition(":")[0]
    return Place("", file, 0).package if file else ""


def mark(signals: Signals, stage: Stage) -> str:
    """How to find the part of a stage that is slow, as a sentence ends."""
    package = package_of(signals, stage.name)
    return MARK_OWN.format(package=package) if package else MARK


def method_of(signals: Signals, stage: Stage) -> str:
    """The dataset's method that makes a sample. A dataset with indices may be asked for a list of them at once
    (``sampler=BatchSampler(...), batch_size=None``): no sample has one then.
    """
    if stage.label.endswith(".__getitems__"):
        return "__getitems__"
    loader = signals.loader
    if any(calls.has_index for calls in signals.stages if calls.stage == stage):
        return "__getitem__"
    if loader is None or (signals.has_several_loaders and loader.dataset != stage.label):
        return "__getitem__ or __iter__"
    return "__iter__" if loader.iterable else "__getitem__"
