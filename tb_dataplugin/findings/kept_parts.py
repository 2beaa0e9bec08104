"""Transforms of which a capture gives a reason to believe that they keep a part of their input.

Fewer bytes alone give none: a spectrogram has fewer than its sound, and what works on sound cannot come after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.findings.decoder_advice import keeps_a_part
from tb_dataplugin.findings.sequence import Step, containers, sequences
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.whose_code import package_of


def keeps(signals: Signals, step: Step) -> bool:
    return keeps_a_part(step.calls.stage.label, called_in(signals, step.calls.stage))


KEEP_DTYPE: Final = frozenset(("torchvision", "albumentations"))
"""Packages whose crops and resizes return values of the type that they get."""


def is_certain(signals: Signals, step: Step) -> bool:
    """Its bytes are fewer because its values are, and not because they have a smaller type (float32 for float64)."""
    return step.of_pictures or package_of(signals, step.calls.stage.name) in KEEP_DTYPE


def why_unknown(steps: Sequence[Step]) -> str:
    """Why of no step it is known how much of its input it returns."""
    if any(step.calls.bytes for step in steps if step.calls.stage.kind == "transform"):
        return "How much data each transform gets is not known."
    return "The sizes of what transforms return were not recorded."


def called_in(signals: Signals, stage: Stage) -> str:
    """The hottest line of the stage and what it calls; "" where none is known."""
    line = signals.stage_lines.get(stage.name)
    return "" if line is None else f"{line.source} {line.calls} {line.text}"


def shrunk_after(signals: Signals, stage: Stage) -> Step | None:
    """The step that throws away most of what this transform works on, which could therefore come after it: with less
    to work on. None of one that mostly waits, which it would do as long with less.
    """
    if stage.kind != "transform" or any(path[-1] == stage for path in containers(signals.stages)):
        return None
    steps = [step for sequence in sequences(signals.stages) for step in sequence if step.shrinks]
    later = (step for step in steps if any(row.stage == stage for row in step.working_before))
    return next((step for step in later if keeps(signals, step) and is_certain(signals, step)), None)
